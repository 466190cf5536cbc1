"""Contexts that wait for the next resets of one environment."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_vector
from selfpaced.maths.box import Box


class ContextQueue:
    """First come, first served. Until something is queued, every reset gets `context`.

    A queue that has once been filled and is empty is an error, rather than a context nobody chose.
    """

    def __init__(self, bounds: Box, context: ArrayLike | None = None) -> None:
        self.bounds = bounds
        self.current = self.checked(bounds.centre if context is None else context)
        self.taught = False  # whether the current context was queued
        self._waiting: deque[Array] = deque()
        self._filled = False

    def queue_contexts(self, contexts: ArrayLike) -> None:
        """Append contexts (k, d)."""
        self._waiting.extend(self.bounds.check("contexts", contexts))
        self._filled = self._filled or bool(self._waiting)

    @property
    def waiting_contexts(self) -> Array:
        """(k, d): what the next resets will get."""
        return np.array(self._waiting).reshape(-1, self.bounds.dimension)

    @waiting_contexts.setter
    def waiting_contexts(self, contexts: ArrayLike) -> None:
        self._waiting.clear()
        self.queue_contexts(np.reshape(contexts, (-1, self.bounds.dimension)))

    def next(self, wanted: ArrayLike | None = None) -> Array:
        """The context of the next episode: `wanted`, or the first that waits."""
        if wanted is not None:
            self.current, self.taught = self.checked(wanted), False
        elif self._waiting:
            self.current, self.taught = self._waiting.popleft(), True
        elif self._filled:
            raise RuntimeError(
                "no context is waiting for this reset; queue_contexts must come before it "
                "(with Stable-Baselines3, pass the CurriculumCallback to learn())"
            )
        return self.current

    def checked(self, context: ArrayLike) -> Array:
        """A copy of `context` (d,), or a ValueError."""
        found = check_vector("context", context, self.bounds.dimension)
        return self.bounds.check("context", found[None])[0].copy()

    def set_wrapper_attr(self, name: str, value: Any) -> None:
        """What Gymnasium's wrappers call setattr, for callers that have either."""
        setattr(self, name, value)
