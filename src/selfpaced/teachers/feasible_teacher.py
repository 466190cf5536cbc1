"""Teachers in spaces that they do not know by themselves: with categories, or with constraints."""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.spaces.constrained import Constrained, feasible_rows
from selfpaced.spaces.space import checked_space
from selfpaced.types import State


def ordered_space(context_space: Any, who: str) -> Box:
    """`context_space`; raise a ValueError that names an alternative if it has categories."""
    space = checked_space(context_space)
    if not space.ordered:
        raise ValueError(
            f"{who} moves along each dimension, so context_space must not have categories; use "
            f"PLR() or SelfPacedMastery(); got {space!r}"
        )
    return space


def feasible_only(teacher: Any, space: Box) -> Any:
    """`teacher`, which asks for feasible contexts only if `space` is constrained."""
    return FeasibleTeacher(teacher, space) if isinstance(space, Constrained) else teacher


class FeasibleTeacher:
    """A teacher whose infeasible contexts are drawn again, and never leave it.

    A context that is infeasible again and again is replaced by a feasible one of the whole space.
    """

    def __init__(self, teacher: Any, space: Constrained) -> None:
        self._teacher, self._space = teacher, space

    def __repr__(self) -> str:
        return f"FeasibleTeacher({self._teacher!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._teacher, name)

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d) that can be played."""
        if n == 0:
            return self._teacher.ask(0, rng)
        return feasible_rows(
            lambda k: self._teacher.ask(k, rng),
            n,
            self._space.feasible,
            lambda k: self._space.uniform(k, rng),
        )

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes."""
        self._teacher.tell(contexts, rewards, successes)

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return self._teacher.state()

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._teacher.restore(state)
