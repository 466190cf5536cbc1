"""Independent Beta distributions over a box, with exact gradients of entropy, KL and density.

In the unit cube, u = (c - low) / (high - low), the log-density of d independent Beta(a_k, b_k) is

    sum_k (a_k - 1) log u_k + (b_k - 1) log(1 - u_k) - log B(a_k, b_k).

This is an exponential family with the parameters (a, b) and the statistics (log u, log(1 - u)).
Densities and entropies here are those in the unit cube, so that the uniform distribution,
a = b = 1, has the log-density 0 and the entropy 0. No other one has a higher entropy.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, ComparedByFields, check_vector, frozen
from selfpaced.maths.box import Box

EDGE = 1e-9  # points nearer to a face of the unit cube are taken to be this far from it


@dataclass(frozen=True, eq=False, repr=False)
class IndependentBeta(ComparedByFields):
    """A Beta distribution in every coordinate of a box, each independent of the others."""

    box: Box
    """Where its samples lie, before they are rounded to contexts that exist."""
    a: Array
    """(d,): exponents towards the upper bounds, at least 1, so that densities are bounded."""
    b: Array
    """(d,): exponents towards the lower bounds, at least 1."""

    def __init__(self, box: Box, a: ArrayLike, b: ArrayLike) -> None:
        object.__setattr__(self, "box", box)
        for name, given in (("a", a), ("b", b)):
            exponents = check_vector(name, given, box.dimension)
            if (exponents < 1.0).any():
                raise ValueError(f"{name} must be at least 1; got {exponents.tolist()}")
            object.__setattr__(self, name, frozen(exponents))

    def __repr__(self) -> str:
        return f"IndependentBeta({self.box!r}, a={self.a.tolist()}, b={self.b.tolist()})"

    @property
    def mean(self) -> Array:
        """(d,): the mean, in the box."""
        return self.box.low + self.box.width * self.a / (self.a + self.b)

    @property
    def deviation(self) -> Array:
        """(d,): the standard deviation of each coordinate, in the unit of the box."""
        total = self.a + self.b
        return self.box.width * np.sqrt(self.a * self.b / (total + 1)) / total

    @property
    def entropy(self) -> float:
        """Entropy in the unit cube, in nats: 0 for the uniform distribution, else negative."""
        return beta_entropy(self.a, self.b)[0]

    def sample(self, n: int, rng: np.random.Generator, box: Box | None = None) -> Array:
        """(n, d): samples, rounded to contexts that exist in `box` if one is given."""
        u = rng.beta(self.a, self.b, size=(n, self.box.dimension))
        points = self.box.low + u * self.box.width
        return points if box is None else box.snapped(np.clip(points, box.low, box.high))

    def log_prob(self, points: Array) -> Array:
        """(n,): log-densities, in the unit cube, of `points` (n, d) of the box."""
        exponents = np.concatenate([self.a, self.b]) - 1.0
        return self.statistics(points) @ exponents - log_normaliser(self.a, self.b)[0]

    def statistics(self, points: Array) -> Array:
        """(n, 2 d): log u and log(1 - u) of each of the `points` (n, d)."""
        u = np.clip((points - self.box.low) / self.box.width, EDGE, 1.0 - EDGE)
        return np.concatenate([np.log(u), np.log1p(-u)], axis=1)

    def kl(self, other: "IndependentBeta") -> float:
        """KL(self || other), for the same box."""
        return beta_kl(self.a, self.b, other.a, other.b)[0]


def beta_around(box: Box, mode: Array, concentration: float) -> IndependentBeta:
    """Beta distributions whose highest density is at `mode` (d,), with a + b = 2 concentration.

    So a = b = concentration where the mode is the middle of the box.
    """
    place = (mode - box.low) / box.width
    spare = 2.0 * concentration - 2.0
    return IndependentBeta(box, 1.0 + spare * place, 1.0 + spare * (1.0 - place))


def beta_entropy(a: Array, b: Array) -> tuple[float, Array]:
    """Entropy H = sum_k log B - (a - 1) psi(a) - (b - 1) psi(b) + (a + b - 2) psi(a + b).

    Its gradient (2 d,) in (a, b) follows; psi is the digamma function.
    """
    betaln, psi, polygamma = scipy.special.betaln, scipy.special.psi, scipy.special.polygamma
    total = a + b
    terms = betaln(a, b) - (a - 1) * psi(a) - (b - 1) * psi(b) + (total - 2) * psi(total)
    shared = (total - 2) * polygamma(1, total)
    by_a, by_b = shared - (a - 1) * polygamma(1, a), shared - (b - 1) * polygamma(1, b)
    return float(terms.sum()), np.concatenate([by_a, by_b])


def beta_kl(a: Array, b: Array, a_other: Array, b_other: Array) -> tuple[float, Array]:
    """KL(Beta(a, b) || Beta(a_other, b_other)), summed, and its gradient (2 d,) in (a, b)."""
    betaln, psi, polygamma = scipy.special.betaln, scipy.special.psi, scipy.special.polygamma
    more_a, more_b = a - a_other, b - b_other
    terms = (
        betaln(a_other, b_other)
        - betaln(a, b)
        + more_a * psi(a)
        + more_b * psi(b)
        - (more_a + more_b) * psi(a + b)
    )
    shared = (more_a + more_b) * polygamma(1, a + b)
    by_a, by_b = more_a * polygamma(1, a) - shared, more_b * polygamma(1, b) - shared
    return float(terms.sum()), np.concatenate([by_a, by_b])


def log_normaliser(a: Array, b: Array) -> tuple[float, Array]:
    """sum_k log B(a_k, b_k), and its gradient (2 d,): the mean of the statistics."""
    psi = scipy.special.psi
    both = psi(a + b)
    return float(scipy.special.betaln(a, b).sum()), np.concatenate([psi(a) - both, psi(b) - both])
