"""Boxes: the bounds of contexts and parameters, and Gaussian samples truncated to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import (
    Array,
    BoolArray,
    ComparedByFields,
    check_rows,
    check_vector,
    frozen,
)

TRIES = 100  # samples drawn for one row before it is clipped, as in the authors' experiments


@dataclass(frozen=True, eq=False, repr=False)
class Box(ComparedByFields):
    """All points x with low <= x <= high in every coordinate.

    It is also the simplest space of contexts. The other spaces, in `selfpaced.spaces`, are boxes in
    which only some points exist: whole numbers, or the indices of categories.
    """

    low: Array
    """(d,): the lower bounds, finite."""
    high: Array
    """(d,): the upper bounds, finite and above `low`."""

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        lower = check_vector("low", low)
        upper = check_vector("high", high, len(lower))
        if not (lower < upper).all():
            raise ValueError(
                f"low must be below high in every coordinate; "
                f"got low={lower.tolist()}, high={upper.tolist()}"
            )
        object.__setattr__(self, "low", frozen(lower))
        object.__setattr__(self, "high", frozen(upper))

    def __repr__(self) -> str:
        return f"Box(low={self.low.tolist()}, high={self.high.tolist()})"

    @property
    def dimension(self) -> int:
        """d: the number of coordinates."""
        return len(self.low)

    @property
    def width(self) -> Array:
        """(d,): high - low."""
        return self.high - self.low

    @property
    def centre(self) -> Array:
        """(d,): the point halfway between `low` and `high`; of a discrete space, one near it."""
        return (self.low + self.high) / 2

    @property
    def ordered(self) -> bool:
        """True if larger and smaller mean something in every coordinate: there is no category."""
        return True

    @property
    def category_counts(self) -> tuple[int, ...]:
        """For each coordinate the number of its categories; 0 for numbers."""
        return (0,) * self.dimension

    @property
    def size(self) -> int | None:
        """How many points exist; None if there are infinitely many."""
        return None

    def contains(self, points: Array) -> BoolArray:
        """(...): True for each of the `points` (..., d) that lies inside or on a bound."""
        return np.logical_and.reduce((points >= self.low) & (points <= self.high), axis=-1)

    def feasible(self, points: Array) -> BoolArray:
        """(n,): False for each of the `points` (n, d) that cannot be played; here, none."""
        return np.ones(len(points), dtype=bool)

    def check(self, name: str, points: ArrayLike) -> Array:
        """`points` as floats (n, d); raise a ValueError unless all lie in the box."""
        rows = check_rows(name, points, self.dimension)
        inside = self.contains(rows)
        if not inside.all():
            outside = np.flatnonzero(~inside)
            raise ValueError(
                f"{name} must lie in {self}; {outside.size} of {len(rows)} rows do not, "
                f"first row {outside[0]}: {rows[outside[0]].tolist()}"
            )
        return rows

    def uniform(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): samples, uniform over the box."""
        # What rng.uniform(low, high) draws, in half of the time.
        return self.low + self.width * rng.random((n, self.dimension))

    def truncated(self, means: Array, chol: Array, rng: np.random.Generator) -> Array:
        """(n, d): one sample of N(mean, chol chol^T), truncated to the box, per row of `means`.

        Samples outside of the box are drawn again. A row whose first `TRIES` samples all fell
        outside keeps the last one, clipped to the box.
        """
        samples = means + rng.standard_normal(means.shape) @ chol.T
        outside = np.flatnonzero(~self.contains(samples))
        for block in (3, 12, TRIES - 16):  # small blocks first: most rows need few tries
            if outside.size == 0:
                return samples
            noise = rng.standard_normal((block, len(outside), self.dimension))
            tries = means[outside] + noise @ chol.T
            inside = self.contains(tries)  # (block, rows)
            found = np.logical_or.reduce(inside, axis=0)
            inside[-1] = True  # so that rows without a sample inside keep the last one
            samples[outside] = tries[inside.argmax(axis=0), np.arange(len(outside))]
            outside = outside[~found]
        return np.clip(samples, self.low, self.high)

    def snapped(self, points: Array) -> Array:
        """(n, d): the nearest existing point to each of the `points`, which lie within bounds."""
        return points

    @property
    def embedded(self) -> int:
        """e: the number of coordinates in which distances are taken; see `embed`."""
        return self.dimension

    def embed(self, points: Array) -> Array:
        """(n, e): the `points` (n, d) in the unit cube, in which distances are taken.

        Numbers are scaled to [0, 1]. Two different categories are at the distance 1.
        """
        return (points - self.low) / self.width

    def unembed(self, places: Array) -> Array:
        """(n, d): the existing point nearest to each of the `places` (n, e) in the unit cube."""
        return np.clip(self.low + places * self.width, self.low, self.high)

    @property
    def decodes(self) -> bool:
        """True if `decode` gives something else than the row itself."""
        return False

    def decode(self, row: ArrayLike) -> Any:
        """The context that `row` (d,) stands for, as its user would write it; here, the row."""
        return check_vector("context", row, self.dimension)

    def encode(self, value: Any) -> Array:
        """The inverse of `decode`: the row (d,) of the context `value`."""
        return self.check("context", [np.atleast_1d(value)])[0]
