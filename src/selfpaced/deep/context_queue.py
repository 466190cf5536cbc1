"""The contexts of an environment's next episodes, in a queue that a teacher fills."""

from collections import deque
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_vector, has_method
from selfpaced.maths.box import Box
from selfpaced.spaces.constrained import Infeasible
from selfpaced.spaces.refusals import RefusedContexts
from selfpaced.targets.target import Target, central_context, checked_target, samples_in

RETRIES = 100  # contexts that one reset may try, at most


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
    refused_contexts: Array
    """(k, d): the contexts that were refused in the last reset, in order."""
    defines_success: bool = True
    """Batched episodes always say whether they have succeeded."""

    def __init__(self, bounds: Box, context: ArrayLike | Target | None = None) -> None:
        self.bounds = bounds
        self.paused = False
        self.from_queue = False
        self._waiting: deque[Array] = deque()
        self._filled = False  # True once contexts have been queued
        self._chosen_by_caller = False  # True if the current context was given to its reset
        self._accepted: Array | None = None  # the last queued context that was played
        self._refused = RefusedContexts(bounds)  # all so far
        self.refused_contexts = np.zeros((0, bounds.dimension))
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
        self.refused_contexts = np.zeros((0, self.bounds.dimension))
        self._chosen_by_caller = wanted is not None
        if wanted is not None:
            self.current, self.from_queue = self.checked(wanted), False
        elif self._waiting and not self.paused:
            self.current, self.from_queue = self._waiting.popleft(), True
        elif self.paused or not self._filled:
            self.current, self.from_queue = self._default_context(), False
        else:
            raise RuntimeError(
                "no context is waiting for this reset: queue_contexts must come before it. With "
                "Stable-Baselines3, pass the CurriculumCallback to learn(), and evaluate in an "
                "environment of its own"
            )
        return self.current

    def _allows(self, context: Array) -> bool:
        """True unless `context` (d,) is near one that was refused here."""
        return len(self._refused) == 0 or bool(self._refused.allows(context[None])[0])

    @property
    def known_to_be_refused(self) -> bool:
        """True if the current context was queued before one near to it was refused here."""
        return self.from_queue and not self._allows(self.current)

    def _default_context(self) -> Array:
        """(d,): the default, or a draw from its target that is not near refused contexts."""
        target = self._default_distribution
        if target is None:
            return self._default
        for _ in range(RETRIES):
            drawn = samples_in(target, 1, self._rng, self.bounds)[0]
            if self._allows(drawn):
                return drawn
        raise Infeasible(
            f"context must be a target with contexts that the environment accepts; {RETRIES} draws "
            f"were all near contexts that it has refused; got {target!r}"
        )

    def instead_of_refused(self) -> Array:
        """The context (d,) at which a reset is tried again, after the current one was refused.

        In place of a queued context that is the one accepted last; if there is none, or it is near
        a refused one, a random one. In place of a default it is another draw from its target.
        Raise `Infeasible` if the caller of the reset chose the context or nothing else can be
        tried, and after `RETRIES` contexts that were all refused.
        """
        refused = self.current
        self.refused_contexts = np.concatenate([self.refused_contexts, refused[None]])
        self._refused.add(refused[None])
        tried = len(self.refused_contexts)
        fixed = not self.from_queue and self._default_distribution is None
        if self._chosen_by_caller or fixed or tried > RETRIES:
            raise Infeasible(
                "the environment must accept the context of a reset, or another in its place; it "
                f"has refused {tried}, the last at {refused.tolist()}"
            )
        if not self.from_queue:
            self.current = self._default_context()
        elif tried == 1 and self._accepted is not None and self._allows(self._accepted):
            self.current = self._accepted
        else:
            self.current = self._refused.allowed_uniform(1, self._rng)[0]
        return self.current

    def accept(self) -> None:
        """Take note that the environment has begun an episode at the current context."""
        if self.from_queue:
            self._accepted = self.current

    def checked(self, context: ArrayLike) -> Array:
        """A copy of `context` (d,); raise a ValueError unless it lies within `bounds`."""
        vector = check_vector("context", context, self.bounds.dimension)
        return self.bounds.check("context", vector[None])[0].copy()

    def set_wrapper_attr(self, name: str, value: Any) -> None:
        """Set an attribute, under the name that Gymnasium's wrappers use for it.

        So a vector environment's `env_method` can set attributes of queues and of wrappers alike.
        """
        setattr(self, name, value)
