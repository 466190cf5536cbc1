"""Contexts that a task or an environment has refused, and what is too near to them."""

from collections.abc import Callable

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box
from selfpaced.spaces.constrained import feasible_rows

NEAR = 0.05  # share of each width within which nothing is chosen again
MOST = 5000  # refused contexts that are remembered; the oldest are forgotten first
SHOWN = 60  # refused contexts that a record keeps
AT_ONCE = 256  # refused contexts that others are compared with at once


class RefusedContexts:
    """Remembers refused contexts. Others within `NEAR` of each width are not allowed any more.

    Of categories, only the refused one itself counts as near.
    """

    space: Box | None
    """Which contexts exist; it must be known before contexts are refused."""
    contexts: Array
    """(k, d): the refused contexts, oldest first."""

    def __init__(self, space: Box | None) -> None:
        self.space = space
        self.contexts = np.zeros((0, 0 if space is None else space.dimension))

    def know_space(self, space: Box) -> None:
        """Say which contexts exist, if that was not known before."""
        self.space, self.contexts = space, self.contexts.reshape(-1, space.dimension)

    def __len__(self) -> int:
        return len(self.contexts)

    def __repr__(self) -> str:
        return f"RefusedContexts({len(self)})"

    def add(self, contexts: Array) -> None:
        """Remember refused `contexts` (k, d)."""
        self._known_space()
        both = np.concatenate([self.contexts, contexts]) if len(self) else contexts
        self.contexts = np.array(both[-MOST:], dtype=float)

    def _known_space(self) -> Box:
        if self.space is None:
            raise ValueError(
                "context_space must be given to a curriculum whose contexts are refused"
            )
        return self.space

    def allows(self, contexts: Array) -> BoolArray:
        """(n,): False for each of `contexts` (n, d) that is near a refused one."""
        near = np.zeros(len(contexts), dtype=bool)
        if len(self) == 0:
            return ~near
        space = self._known_space()
        reach = np.where(np.array(space.category_counts) > 0, 0.0, NEAR * space.width)
        for first in range(0, len(self), AT_ONCE):
            apart = np.abs(contexts[:, None] - self.contexts[first : first + AT_ONCE])
            inside = np.logical_and.reduce(apart <= reach, axis=2)
            near |= np.logical_or.reduce(inside, axis=1)
        return ~near

    def described(self) -> dict[str, list[list[float]]]:
        """Some of the refused contexts for a record, from which figures draw; {} if there are none.

        They are spread evenly over all of them, from the first to the last.
        """
        if len(self) == 0:
            return {}
        chosen = np.unique(np.linspace(0, len(self) - 1, SHOWN).astype(np.int64))
        return {"context_refused": self.contexts[chosen].round(6).tolist()}

    def rows_from(self, draw: Callable[[int], Array], n: int, rng: np.random.Generator) -> Array:
        """(n, d): rows of `draw`, a function of their number; those not allowed are drawn again.

        Rows that are never allowed are replaced by allowed contexts of the whole space.
        """
        if len(self) == 0:
            return draw(n)
        return feasible_rows(draw, n, self.allows, lambda k: self.allowed_uniform(k, rng))

    def allowed_uniform(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): allowed contexts of the whole space; a ValueError if there seem to be none."""
        space = self._known_space()
        drawn = space.uniform(2000, rng)
        allowed = drawn[self.allows(drawn)]
        if len(allowed) == 0:
            raise ValueError(
                f"contexts must be feasible somewhere; {len(self)} were refused, and nothing "
                f"in {space!r} is farther than {NEAR:.0%} of each width from all of them"
            )
        return allowed[rng.integers(len(allowed), size=n)]
