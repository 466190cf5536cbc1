"""The contexts of an environment's next episodes, in a queue that a teacher fills."""

from collections import deque
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_vector, has_method
from selfpaced.maths.box import Box
from selfpaced.targets.target import Target, central_context, checked_target, samples_in


class ContextQueue:
    """Decides the context of every reset: the first one that waits, or the default context.

    Resets take the default context until something is queued for the first time, and while the
    queue is `paused` (outside of training, when an evaluation must not use up what waits). The
    default is one context, or a draw from a target. Otherwise a reset of an empty queue is an
    error, because the episode would have a context that no teacher chose.

    Vector environments reach these attributes and methods by name, as they do `ContextualEnv`'s.
    """

    bounds: Box
    """Which contexts exist."""
    paused: bool
    """True to leave the waiting contexts alone and to reset at the default context."""
    from_queue: bool
    """True if the current context was queued; False for the default, or one given to a reset."""
    current: Array
    """(d,): the context of the current episode."""
    defines_success: bool = True
    """Batched episodes always say whether they have succeeded."""

    def __init__(self, bounds: Box, context: ArrayLike | Target | None = None) -> None:
        self.bounds = bounds
        self.paused = False
        self.from_queue = False
        self._waiting: deque[Array] = deque()
        self._filled = False  # True once contexts have been queued
        self.seed(None)
        self.set_default_context(bounds.centre if context is None else context)
        self.current = self._default

    def __repr__(self) -> str:
        paused = ", paused" if self.paused else ""
        return f"ContextQueue({len(self._waiting)} waiting{paused})"

    def set_default_context(self, context: ArrayLike | Target) -> None:
        """Set the context of resets for which none is queued: one, or a target to draw from."""
        self._default_distribution: Any = context if has_method(context, "sample") else None
        if self._default_distribution is None:
            self._default = self.checked(cast(ArrayLike, context))
        else:
            target = checked_target(context, self.bounds)
            self._default = central_context(target, self.bounds)

    def seed(self, seed: int | None) -> None:
        """Seed the draws of default contexts; None makes them different in every process."""
        self._rng = np.random.default_rng(seed)

    def queue_contexts(self, contexts: ArrayLike) -> None:
        """Append contexts (k, d) to those that wait."""
        self._waiting.extend(self.bounds.check("contexts", contexts))
        self._filled = self._filled or bool(self._waiting)

    @property
    def waiting_contexts(self) -> Array:
        """(k, d): the contexts of the next resets, in order; setting it replaces them all."""
        return np.array(self._waiting).reshape(-1, self.bounds.dimension)

    @waiting_contexts.setter
    def waiting_contexts(self, contexts: ArrayLike) -> None:
        self._waiting.clear()
        if np.size(contexts):
            self.queue_contexts(contexts)

    def next(self, wanted: ArrayLike | None = None) -> Array:
        """The context (d,) of the next episode: `wanted`, the first that waits, or the default."""
        if wanted is not None:
            self.current, self.from_queue = self.checked(wanted), False
        elif self._waiting and not self.paused:
            self.current, self.from_queue = self._waiting.popleft(), True
        elif self.paused or not self._filled:
            self.current, self.from_queue = self._default, False
            if self._default_distribution is not None:
                target = self._default_distribution
                self.current = samples_in(target, 1, self._rng, self.bounds)[0]
        else:
            raise RuntimeError(
                "no context is waiting for this reset: queue_contexts must come before it. With "
                "Stable-Baselines3, pass the CurriculumCallback to learn(), and evaluate in an "
                "environment of its own"
            )
        return self.current

    def checked(self, context: ArrayLike) -> Array:
        """A copy of `context` (d,); raise a ValueError unless it lies within `bounds`."""
        vector = check_vector("context", context, self.bounds.dimension)
        return self.bounds.check("context", vector[None])[0].copy()

    def set_wrapper_attr(self, name: str, value: Any) -> None:
        """Set an attribute, under the name that Gymnasium's wrappers use for it.

        So a vector environment's `env_method` can set attributes of queues and of wrappers alike.
        """
        setattr(self, name, value)
