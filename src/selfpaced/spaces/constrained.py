"""Spaces in which some contexts cannot be played, such as a goal inside a wall."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.maths.box import Box
from selfpaced.spaces.columns import ColumnSpace

TRIES = 100  # draws of a row that is infeasible, before another row takes its place
LOOKED_AT = 2000  # contexts of which one at least must be feasible


class Infeasible(Exception):
    """Raised by a task, a simulator or an environment for a context that cannot be played.

    The episode does not count, and no context near it is chosen again.
    """


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Constrained(ColumnSpace):
    """A space without the contexts that cannot be played.

    >>> import numpy as np
    >>> from selfpaced import Box, Constrained
    >>> def outside_the_wall(contexts):
    ...     return np.abs(contexts[:, 0]) > 0.5
    >>> goals = Constrained(Box([-1], [1]), outside_the_wall)
    >>> bool((np.abs(goals.uniform(100, np.random.default_rng(0))) > 0.5).all())
    True
    """

    space: Box
    """The space with all contexts."""
    rule: Callable[[Array], Any]
    """A function of contexts (n, d) that returns n truth values, True where one can be played."""

    def __init__(self, space: Box, feasible: Callable[[Array], Any]) -> None:
        if not isinstance(space, Box):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"space must be a space, such as Box([0], [1]); got {space!r}")
        if not callable(feasible):
            raise ValueError(f"feasible must be a function of contexts; got {feasible!r}")
        super().__init__(space.low, space.high)
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "rule", feasible)
        if not self.feasible(space.uniform(LOOKED_AT, np.random.default_rng(0))).any():
            raise ValueError(
                f"feasible must hold for some contexts; it holds for none of {LOOKED_AT} that "
                f"were drawn from {space}"
            )

    def __repr__(self) -> str:
        name = getattr(self.rule, "__name__", type(self.rule).__name__)
        return f"Constrained({self.space!r}, {name})"

    @cached_property
    def whole(self) -> BoolArray:
        """(d,): True for each column that holds whole numbers only."""
        if isinstance(self.space, ColumnSpace):
            return self.space.whole
        return np.zeros(self.dimension, dtype=bool)

    @cached_property
    def categories(self) -> IntArray:
        """(d,): the number of categories of each column; 0 for columns of numbers."""
        if isinstance(self.space, ColumnSpace):
            return self.space.categories
        return np.zeros(self.dimension, dtype=np.int64)

    def feasible(self, points: Array) -> BoolArray:
        """(n,): True for each of the `points` (n, d) that can be played."""
        mask = np.asarray(self.rule(points.copy()))
        if mask.shape != (len(points),) or mask.dtype != np.bool_:
            raise ValueError(
                f"feasible must return {len(points)} truth values, one per context; got "
                f"{mask.dtype} of shape {mask.shape}"
            )
        return mask & self.space.feasible(points)

    def uniform(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): samples, uniform over the contexts that can be played."""
        return feasible_rows(
            lambda k: self.space.uniform(k, rng), n, self.feasible, lambda k: self._found(k, rng)
        )

    def _found(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): feasible contexts of a space that has few of them, found in large batches."""
        drawn = self.space.uniform(LOOKED_AT, rng)
        good = drawn[self.feasible(drawn)]
        if len(good) == 0:  # the constructor has found one by a fixed seed
            drawn = self.space.uniform(LOOKED_AT, np.random.default_rng(0))
            good = drawn[self.feasible(drawn)]
        return good[rng.integers(len(good), size=n)]

    def truncated(self, means: Array, chol: Array, rng: np.random.Generator) -> Array:
        """(n, d): one feasible sample of N(mean, chol chol^T) per row of `means`."""
        drawn = self.space.truncated(means, chol, rng)
        for _ in range(TRIES):
            bad = np.flatnonzero(~self.feasible(drawn))
            if bad.size == 0:
                return drawn
            drawn[bad] = self.space.truncated(means[bad], chol, rng)
        bad = np.flatnonzero(~self.feasible(drawn))
        drawn[bad] = self.uniform(len(bad), rng)
        return drawn

    @property
    def decodes(self) -> bool:
        """True if `decode` gives something else than the row itself."""
        return self.space.decodes

    def decode(self, row: ArrayLike) -> Any:
        """The context that `row` (d,) stands for, as its user would write it."""
        return self.space.decode(row)

    def encode(self, value: Any) -> Array:
        """The inverse of `decode`: the row (d,) of the context `value`."""
        return self.space.encode(value)


def feasible_rows(
    draw: Callable[[int], Array],
    n: int,
    feasible: Callable[[Array], BoolArray],
    otherwise: Callable[[int], Array],
) -> Array:
    """(n, d): rows of `draw`, a function of their number, in which infeasible ones are drawn again.

    Rows that were infeasible `TRIES` times are replaced by what `otherwise` draws.
    """
    rows = np.array(draw(n))
    bad = np.flatnonzero(~feasible(rows))
    for _ in range(TRIES):
        if bad.size == 0:
            return rows
        rows[bad] = draw(len(bad))
        bad = bad[~feasible(rows[bad])]
    rows[bad] = otherwise(len(bad))
    return rows
