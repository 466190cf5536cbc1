"""Probabilities of the contexts of a finite set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, ComparedByFields, IntArray, check_vector, frozen
from selfpaced.maths.box import Box
from selfpaced.targets.target import check_weights

MOST_POINTS = 10_000  # contexts of a finite set that are listed one by one


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(ComparedByFields):
    """A probability for each context of a finite set.

    >>> from selfpaced import Categorical, Categories
    >>> terrain = Categories("flat", "stairs", "ice")
    >>> Categorical.over(terrain, {"stairs": 0.9, "ice": 0.1})
    Categorical([0.0, 0.9, 0.1])
    """

    probabilities: Array
    """(k,): the probability of each context; they sum to 1."""
    points: Array
    """(k, d): the contexts; by default 0, 1, ..., k - 1, as categories and task sets have them."""

    def __init__(self, probabilities: ArrayLike, points: ArrayLike | None = None) -> None:
        given = check_vector("probabilities", probabilities)
        shares = check_weights("probabilities", given, len(given))
        rows = np.arange(len(shares), dtype=float)[:, None] if points is None else points
        places = np.asarray(rows, dtype=float)
        if places.ndim != 2 or len(places) != len(shares):
            raise ValueError(f"points must be ({len(shares)}, d); got shape {places.shape}")
        object.__setattr__(self, "probabilities", frozen(shares))
        object.__setattr__(self, "points", frozen(places))

    @classmethod
    def over(cls, space: Box, probabilities: Mapping[Any, float]) -> "Categorical":
        """Probabilities by the natural values of a finite `space`; those not named have none."""
        points = points_in(space)
        shares = np.zeros(len(points))
        for value, share in probabilities.items():
            shares[(points == space.encode(value)).all(axis=1)] = share
        return cls(shares, points)

    def __repr__(self) -> str:
        shown = [round(share, 4) for share in self.probabilities.tolist()]
        return f"Categorical({shown})" if len(shown) <= 8 else f"Categorical({len(shown)} contexts)"

    @property
    def dimension(self) -> int:
        """d: the number of dimensions."""
        return self.points.shape[1]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): contexts."""
        return self.points[rng.choice(len(self.points), size=n, p=self.probabilities)]

    def log_prob(self, contexts: Array) -> Array:
        """(n,): log-probabilities of `contexts` (n, d); minus infinity for those without one."""
        index = index_of(contexts, self.points)
        shares = np.where(index >= 0, self.probabilities[index], 0.0)
        with np.errstate(divide="ignore"):
            return np.log(shares)


def points_in(space: Box) -> Array:
    """(k, d): every feasible context of a finite `space`; a ValueError if there are too many."""
    if space.size is None or space.size > MOST_POINTS:
        raise ValueError(f"space must be finite, with at most {MOST_POINTS} contexts; got {space}")
    counts = (space.width + 1).astype(np.int64)
    order = np.array(list(np.ndindex(*counts.tolist())), dtype=float)
    points = space.low + order.reshape(-1, space.dimension)
    return points[space.feasible(points)]


def index_of(contexts: Array, points: Array) -> IntArray:
    """(n,): the row of `points` (k, d) that equals each of `contexts` (n, d); -1 if none does."""
    same = (contexts[:, None] == points).all(axis=2)
    return np.where(same.any(axis=1), same.argmax(axis=1), -1).astype(np.int64)
