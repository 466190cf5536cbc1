"""All contexts alike: over a whole space, or over a part of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, ComparedByFields, check_vector, frozen
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, gaussian_over
from selfpaced.spaces.constrained import Constrained
from selfpaced.spaces.space import checked_space

COUNTED = 20_000  # samples by which the feasible share of a constrained space is measured


@dataclass(frozen=True, eq=False, repr=False)
class Uniform(ComparedByFields):
    """The uniform distribution over a space, or over the contexts from `low` to `high`.

    >>> from selfpaced import Box, Integers, Uniform
    >>> Uniform(Integers(1, 8))
    Uniform(Integers(1, 8))
    >>> Uniform(low=[-9, -9, 0.05], high=[9, 9, 0.05])  # the last number is always 0.05
    Uniform(low=[-9.0, -9.0, 0.05], high=[9.0, 9.0, 0.05])
    """

    space: Box | None
    """The space; None if bounds were given."""
    low: Array
    """(d,): the lower bounds."""
    high: Array
    """(d,): the upper bounds; a dimension in which both are equal is flat."""

    def __init__(
        self,
        space: Box | None = None,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> None:
        if (space is None) != (low is not None and high is not None):
            raise ValueError(
                f"Uniform must get a space, or low and high; got space={space!r}, low={low!r}, "
                f"high={high!r}"
            )
        if space is not None:
            space = checked_space(space, "space")
            lower, upper = space.low, space.high
        else:
            assert low is not None
            assert high is not None
            lower = check_vector("low", low)
            upper = check_vector("high", high, len(lower))
            if (lower > upper).any():
                raise ValueError(
                    f"low must not be above high; got {lower.tolist()} and {upper.tolist()}"
                )
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "low", frozen(lower))
        object.__setattr__(self, "high", frozen(upper))

    def __repr__(self) -> str:
        if self.space is not None:
            return f"Uniform({self.space!r})"
        return f"Uniform(low={self.low.tolist()}, high={self.high.tolist()})"

    @property
    def dimension(self) -> int:
        """d: the number of dimensions."""
        return len(self.low)

    @property
    def has_density(self) -> bool:
        """False if a dimension is flat."""
        return bool((self.low < self.high).all())

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): samples."""
        if self.space is not None:
            return self.space.uniform(n, rng)
        return rng.uniform(self.low, self.high, size=(n, self.dimension))

    def log_prob(self, contexts: Array) -> Array:
        """(n,): log-densities; minus infinity outside. Whole numbers have probabilities instead."""
        if not self.has_density:
            raise ValueError(f"log_prob needs a uniform target without flat dimensions; got {self}")
        space = self.space or Box(self.low, self.high)
        inside = space.contains(contexts)
        inside[inside] = space.feasible(contexts[inside])
        return np.where(inside, -_log_volume(space), -np.inf)


def _log_volume(space: Box) -> float:
    """Logarithm of the volume of the feasible part; whole numbers count by their number."""
    whole = getattr(space, "whole", np.zeros(space.dimension, dtype=bool))
    volume = float(np.log(space.width + whole).sum())
    if isinstance(space, Constrained):
        drawn = space.space.uniform(COUNTED, np.random.default_rng(0))
        volume += float(np.log(max(space.feasible(drawn).mean(), 1.0 / COUNTED)))
    return volume


def default_contexts(space: Box) -> "Gaussian | Uniform":
    """Wide contexts to begin with: a Gaussian over `space`, or uniform if it has categories."""
    return gaussian_over(Box(space.low, space.high)) if space.ordered else Uniform(space)
