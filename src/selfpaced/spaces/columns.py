"""What all spaces with whole numbers or categories share: columns, of which each is of one kind."""

from functools import cached_property

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.maths.box import Box

APART = 0.5**0.5  # entry of a category's unit vector, so that two categories are 1 apart


class ColumnSpace(Box):
    """A box in which some columns are whole numbers, and some of these are categories.

    A subclass says which. A category is stored as its index, from 0.
    """

    @cached_property
    def whole(self) -> BoolArray:
        """(d,): True for each column that holds whole numbers only."""
        return np.ones(self.dimension, dtype=bool)

    @cached_property
    def categories(self) -> IntArray:
        """(d,): the number of categories of each column; 0 for columns of numbers."""
        return np.zeros(self.dimension, dtype=np.int64)

    @property
    def category_counts(self) -> tuple[int, ...]:
        """For each column the number of its categories; 0 for numbers."""
        return tuple(self.categories.tolist())

    @property
    def decodes(self) -> bool:
        """True: whole numbers and categories are no rows of floats."""
        return True

    @property
    def ordered(self) -> bool:
        """True if larger and smaller mean something in every coordinate: there is no category."""
        return not self.categories.any()

    @property
    def size(self) -> int | None:
        """How many points exist; None if there are infinitely many."""
        if not self.whole.all():
            return None
        counts: list[int] = (self.width + 1).astype(np.int64).tolist()
        product = 1
        for count in counts:
            product *= count
        return product

    @property
    def centre(self) -> Array:
        """(d,): an existing point near the middle."""
        return self.snapped(((self.low + self.high) / 2)[None])[0]

    def contains(self, points: Array) -> BoolArray:
        """(...): True for each of the `points` (..., d) that exists."""
        exact = (points == np.round(points)) | ~self.whole
        return super().contains(points) & np.logical_and.reduce(exact, axis=-1)

    def snapped(self, points: Array) -> Array:
        """(n, d): the nearest existing point to each of the `points`."""
        rounded = np.where(self.whole, np.floor(points + 0.5), points)
        return np.clip(rounded, self.low, self.high)

    @cached_property
    def margins(self) -> tuple[Array, Array]:
        """Bounds (d,) of the numbers that `snapped` rounds to existing ones."""
        half = np.where(self.whole, 0.5, 0.0)
        return self.low - half, self.high + half

    def uniform(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): samples, uniform over the points that exist."""
        return self.snapped(rng.uniform(*self.margins, size=(n, self.dimension)))

    def truncated(self, means: Array, chol: Array, rng: np.random.Generator) -> Array:
        """(n, d): one sample of N(mean, chol chol^T) per row of `means`, truncated and rounded."""
        return self.snapped(Box(*self.margins).truncated(means, chol, rng))

    @property
    def embedded(self) -> int:
        """e: one coordinate per column of numbers, and one per category."""
        return int(np.maximum(self.categories, 1).sum())

    def embed(self, points: Array) -> Array:
        """(n, e): the `points` (n, d) in the unit cube; a category is one of its unit vectors."""
        if self.ordered:
            return super().embed(points)
        parts: list[Array] = []
        for k, count in enumerate(self.categories.tolist()):
            column = points[:, k]
            if count:
                numbers: Array = np.arange(count, dtype=float)
                parts.append(APART * (column[:, None] == numbers).astype(float))
            else:
                parts.append(((column - self.low[k]) / self.width[k])[:, None])
        return np.concatenate(parts, axis=1)

    def unembed(self, places: Array) -> Array:
        """(n, d): the existing point nearest to each of the `places` (n, e) in the unit cube."""
        if self.ordered:
            return self.snapped(super().unembed(places))
        columns: list[Array] = []
        first = 0
        for k, count in enumerate(self.categories.tolist()):
            part = places[:, first : first + max(count, 1)]
            first += max(count, 1)
            number = self.low[k] + part[:, 0] * self.width[k]
            columns.append(part.argmax(axis=1).astype(float) if count else number)
        return self.snapped(np.stack(columns, axis=1))
