"""Episodes of a step-based task side by side: what environments of either kind are made of."""

from typing import NamedTuple, Protocol

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.maths.box import Box


class Moved(NamedTuple):
    """What a step of all rows led to, one entry each."""

    rewards: Array
    ended: BoolArray
    solved: BoolArray


class Rows(Protocol):
    """n episodes. Row i depends on nothing but row i."""

    context_space: Box

    def begin(self, rows: IntArray, contexts: Array) -> None:
        """New episodes of `rows` (k,) at `contexts` (k, d)."""
        ...

    def move(self, actions: Array) -> Moved:
        """One step of every row by actions (n, a) in [-1, 1]."""
        ...

    def observe(self) -> Array:
        """(n, o)."""
        ...
