"""Targets made of others: one of several, or several side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, ComparedByFields, frozen, has_method
from selfpaced.targets.target import check_weights, has_density


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(ComparedByFields):
    """One of several distributions, each with its probability.

    >>> from selfpaced import Gaussian, Mixture
    >>> two_gates = Mixture([Gaussian([-4.0], [[0.1]]), Gaussian([4.0], [[0.1]])])
    >>> two_gates.weights
    array([0.5, 0.5])
    """

    components: tuple[Any, ...]
    """The distributions."""
    weights: Array
    """(k,): their probabilities, which sum to 1; equal ones if not given."""

    def __init__(self, components: Sequence[Any], weights: ArrayLike | None = None) -> None:
        parts = _checked_parts("components", components)
        count = len(parts)
        shares = np.full(count, 1.0 / count) if weights is None else weights
        object.__setattr__(self, "components", parts)
        object.__setattr__(self, "weights", frozen(check_weights("weights", shares, count)))
        sizes = {part.dimension for part in parts if hasattr(part, "dimension")}
        if len(sizes) > 1:
            raise ValueError(f"components must have one number of dimensions; got {sorted(sizes)}")

    def __repr__(self) -> str:
        return f"Mixture({list(self.components)!r}, weights={self.weights.tolist()})"

    @property
    def dimension(self) -> int:
        """d: the number of dimensions."""
        return _dimension(self.components[0])

    @property
    def has_density(self) -> bool:
        """True if every component has a density."""
        return all(has_density(part) for part in self.components)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): samples."""
        chosen = rng.choice(len(self.weights), size=n, p=self.weights)
        rows = np.zeros((n, self.dimension))
        for k in np.unique(chosen):
            here = np.flatnonzero(chosen == k)
            rows[here] = self.components[k].sample(len(here), rng)
        return rows

    def log_prob(self, contexts: Array) -> Array:
        """(n,): log-densities of `contexts` (n, d)."""
        logs = np.stack([part.log_prob(contexts) for part in self.components])
        with np.errstate(divide="ignore"):
            return np.asarray(
                scipy.special.logsumexp(logs + np.log(self.weights)[:, None], axis=0), dtype=float
            )


@dataclass(frozen=True, eq=False, repr=False)
class Independent(ComparedByFields):
    """Several distributions side by side, as the parts of a `Product` are.

    >>> from selfpaced import Categorical, Gaussian, Independent
    >>> target = Independent([Categorical([0.2, 0.8]), Gaussian([0.4], [[0.01]])])
    >>> target.dimension
    2
    """

    parts: tuple[Any, ...]
    """The distributions, in the order of their columns."""

    def __init__(self, parts: Sequence[Any]) -> None:
        object.__setattr__(self, "parts", _checked_parts("parts", parts))

    def __repr__(self) -> str:
        return f"Independent({list(self.parts)!r})"

    @property
    def dimension(self) -> int:
        """d: the number of dimensions of all parts together."""
        return sum(_dimension(part) for part in self.parts)

    @property
    def has_density(self) -> bool:
        """True if every part has a density."""
        return all(has_density(part) for part in self.parts)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): samples."""
        return np.concatenate([part.sample(n, rng) for part in self.parts], axis=1)

    def log_prob(self, contexts: Array) -> Array:
        """(n,): log-densities of `contexts` (n, d)."""
        total, start = np.zeros(len(contexts)), 0
        for part in self.parts:
            end = start + _dimension(part)
            total += part.log_prob(contexts[:, start:end])
            start = end
        return total


def _checked_parts(name: str, parts: Sequence[Any]) -> tuple[Any, ...]:
    """`parts` as a tuple; raise a ValueError unless all are distributions."""
    listed = tuple(parts)
    if not listed:
        raise ValueError(f"{name} must hold at least one distribution; got none")
    for part in listed:
        if not has_method(part, "sample"):
            raise ValueError(f"{name} must be distributions, such as Gaussian(...); got {part!r}")
    return listed


def _dimension(part: Any) -> int:
    """The number of columns of a distribution, from a sample if it does not say."""
    known = getattr(part, "dimension", None)
    return int(part.sample(1, np.random.default_rng(0)).shape[1] if known is None else known)
