"""The last episodes that a teacher was told of, and what it judges them by."""

from typing import Literal

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.types import State

Judged = Literal["success", "reward"]


def judged(by: Judged, rewards: Array, successes: Array, teacher: str) -> Array:
    """(n,): the numbers that count; a ValueError if an episode does not have them."""
    values = np.asarray(successes if by == "success" else rewards, dtype=float)
    unknown = ~np.isfinite(values)
    if unknown.any():
        raise ValueError(
            f"{'successes' if by == 'success' else 'rewards'} must be numbers for {teacher}, which "
            f"judges by {by}; got {values[unknown][0]} in {unknown.sum()} of {len(values)} rows"
        )
    return values


def check_judged_by(by: str) -> None:
    """A ValueError unless there is such a thing to judge by."""
    if by not in ("success", "reward"):
        raise ValueError(f"judged_by must be 'success' or 'reward'; got {by!r}")


class Recent:
    """At most `size` episodes, oldest first: contexts and what they were worth."""

    def __init__(self, size: int, dimension: int) -> None:
        self._size = size
        self.contexts = np.zeros((0, dimension))
        self.values = np.zeros(0)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, contexts: Array, values: Array) -> None:
        self.contexts = np.concatenate([self.contexts, contexts])[-self._size :]
        self.values = np.concatenate([self.values, values])[-self._size :]

    def state(self) -> State:
        return {"contexts": self.contexts, "values": self.values}

    def restore(self, state: State) -> None:
        self.contexts, self.values = np.array(state["contexts"]), np.array(state["values"])
