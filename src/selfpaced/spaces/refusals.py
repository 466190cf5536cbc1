"""Contexts that a task or an environment has refused, and what is too near to them."""

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box

NEAR = 0.05  # share of each width within which nothing is chosen again
MOST = 5000  # refused contexts that are remembered; the oldest are forgotten first


class RefusedContexts:
    """Remembers refused contexts. Others within `NEAR` of each width are not allowed any more.

    Of categories, only the refused one itself counts as near.
    """

    def __init__(self, space: Box) -> None:
        self._space = space
        categories = np.array(space.category_counts)
        self._reach: Array = np.where(categories > 0, 0.0, NEAR * space.width)
        self.contexts = np.zeros((0, space.dimension))

    def __len__(self) -> int:
        return len(self.contexts)

    def __repr__(self) -> str:
        return f"RefusedContexts({len(self)})"

    def add(self, contexts: Array) -> None:
        """Remember refused `contexts` (k, d)."""
        self.contexts = np.concatenate([self.contexts, contexts])[-MOST:]

    def allows(self, contexts: Array) -> BoolArray:
        """(n,): False for each of `contexts` (n, d) that is near a refused one."""
        near = np.zeros(len(contexts), dtype=bool)
        for refused in self.contexts:
            near |= (np.abs(contexts - refused) <= self._reach).all(axis=1)
        return ~near

    def allowed_uniform(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): allowed contexts of the whole space; a ValueError if there seem to be none."""
        drawn = self._space.uniform(2000, rng)
        allowed = drawn[self.allows(drawn)]
        if len(allowed) == 0:
            raise ValueError(
                f"contexts must be feasible somewhere; {len(self)} were refused, and nothing "
                f"in {self._space!r} is farther than {NEAR:.0%} of each width from all of them"
            )
        return allowed[rng.integers(len(allowed), size=n)]
