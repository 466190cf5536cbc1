"""A box of bounds, and Gaussian samples truncated to it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, BoolArray, check_rows, check_vector, frozen

TRIES = 100  # rejections before a sample is clipped, as in the authors' experiments


@dataclass(frozen=True, eq=False, repr=False)
class Box:
    """All x with low <= x <= high, coordinate by coordinate."""

    low: Array  # (d,)
    high: Array  # (d,)

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
        return len(self.low)

    @property
    def width(self) -> Array:
        return self.high - self.low

    @property
    def centre(self) -> Array:
        return (self.low + self.high) / 2

    def contains(self, points: Array) -> BoolArray:
        """Which of the points (..., d) lie inside, bounds included."""
        return np.logical_and.reduce((points >= self.low) & (points <= self.high), axis=-1)

    def check(self, name: str, points: ArrayLike) -> Array:
        """`points` as rows inside the box, or a ValueError that names the first one outside."""
        rows = check_rows(name, points, self.dimension)
        outside = np.flatnonzero(~self.contains(rows))
        if outside.size:
            raise ValueError(
                f"{name} must lie in {self}; {outside.size} of {len(rows)} rows do not, "
                f"first row {outside[0]}: {rows[outside[0]].tolist()}"
            )
        return rows

    def uniform(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d) samples, uniform over the box."""
        return rng.uniform(self.low, self.high, size=(n, self.dimension))

    def truncated(self, means: Array, chol: Array, rng: np.random.Generator) -> Array:
        """One sample per row of `means` (n, d) of N(mean, chol chol^T), truncated to the box.

        By rejection; a row whose `TRIES` samples all fell outside keeps the last one, clipped.
        """
        samples = means + rng.standard_normal(means.shape) @ chol.T
        outside = np.flatnonzero(~self.contains(samples))
        for block in (3, 12, TRIES - 16):  # few tries at first: most rows need no more
            if outside.size == 0:
                return samples
            noise = rng.standard_normal((block, len(outside), self.dimension))
            tries = means[outside] + noise @ chol.T
            inside = self.contains(tries)  # (block, rows)
            chosen = np.where(inside.any(axis=0), inside.argmax(axis=0), block - 1)
            samples[outside] = tries[chosen, np.arange(len(outside))]
            outside = outside[~inside.any(axis=0)]
        return np.clip(samples, self.low, self.high)
