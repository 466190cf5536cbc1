"""Contexts that wait for the next resets of one environment."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_vector
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian


class ContextQueue:
    """First come, first served. Without a teacher, resets get `context`, or a draw from it.

    That is so until something is queued, and while it is `resting`: when nobody trains, and an
    evaluation must not use up what waits. A queue that has run empty is an error otherwise, rather
    than a context nobody chose.
    """

    def __init__(self, bounds: Box, context: ArrayLike | Gaussian | None = None) -> None:
        self.bounds = bounds
        self.resting = False
        self.taught = False  # whether the current context was queued
        self._waiting: deque[Array] = deque()
        self._filled = False
        self.seed(None)
        self.untaught(bounds.centre if context is None else context)
        self.current = self._otherwise

    def untaught(self, context: ArrayLike | Gaussian) -> None:
        """Where to play when there is no teacher: at one context, or at draws from many."""
        self._drawn = context if isinstance(context, Gaussian) else None
        self._otherwise = self.checked(context.mean if isinstance(context, Gaussian) else context)

    def seed(self, seed: int | None) -> None:
        """Of the draws without a teacher; as Gymnasium's, unforeseeable until somebody seeds."""
        self._rng = np.random.default_rng(seed)

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
        if np.size(contexts):
            self.queue_contexts(contexts)

    def next(self, wanted: ArrayLike | None = None) -> Array:
        """The context of the next episode: `wanted`, the first that waits, or without a teacher."""
        if wanted is not None:
            self.current, self.taught = self.checked(wanted), False
        elif self._waiting and not self.resting:
            self.current, self.taught = self._waiting.popleft(), True
        elif self.resting or not self._filled:
            self.taught, self.current = False, self._otherwise
            if self._drawn is not None:
                self.current = self._drawn.sample(1, self._rng, self.bounds)[0]
        else:
            raise RuntimeError(
                "no context is waiting for this reset: queue_contexts must come before it. With "
                "Stable-Baselines3, pass the CurriculumCallback to learn(), and evaluate in an "
                "environment of its own"
            )
        return self.current

    def checked(self, context: ArrayLike) -> Array:
        """A copy of `context` (d,), or a ValueError."""
        found = check_vector("context", context, self.bounds.dimension)
        return self.bounds.check("context", found[None])[0].copy()

    def set_wrapper_attr(self, name: str, value: Any) -> None:
        """What Gymnasium's wrappers call setattr, for callers that have either."""
        setattr(self, name, value)
