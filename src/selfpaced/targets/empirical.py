"""Recorded contexts as a target."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, ComparedByFields, as_floats, frozen


@dataclass(frozen=True, eq=False, repr=False)
class Empirical(ComparedByFields):
    """Recorded contexts, all equally likely. It has no density.

    >>> from selfpaced import Empirical
    >>> Empirical([[0.1, 0.9], [0.4, 0.7], [0.2, 0.2]])
    Empirical(3 contexts of 2 dimensions)
    """

    points: Array
    """(k, d): the contexts, one per row."""

    def __init__(self, points: ArrayLike) -> None:
        rows = as_floats("points", points)
        if rows.ndim != 2 or rows.size == 0:
            raise ValueError(
                f"points must be (k, d), one row per recorded context, and not empty; "
                f"got shape {rows.shape}"
            )
        if not np.isfinite(rows).all():
            raise ValueError("points must be finite; got nan or infinity")
        object.__setattr__(self, "points", frozen(rows))

    def __repr__(self) -> str:
        k, d = self.points.shape
        return f"Empirical({k} contexts of {d} dimension{'s' if d > 1 else ''})"

    @property
    def dimension(self) -> int:
        """d: the number of dimensions."""
        return self.points.shape[1]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): recorded contexts, drawn with replacement."""
        return self.points[rng.integers(len(self.points), size=n)]
