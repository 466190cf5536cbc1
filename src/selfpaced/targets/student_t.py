"""Heavy tails: the multivariate t distribution."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import (
    Array,
    ComparedByFields,
    check_covariance,
    check_positive,
    check_vector,
    frozen,
    solve_lower,
)
from selfpaced.maths.gaussian import log_det


@dataclass(frozen=True, eq=False, repr=False)
class StudentT(ComparedByFields):
    """The t distribution around `location`, whose far contexts are more frequent than a Gaussian's.

    >>> from selfpaced import StudentT
    >>> StudentT([0.5], [[0.01]], degrees=3)
    StudentT(location=[0.5], scale=[[0.01]], degrees=3.0)
    """

    location: Array
    """(d,): the centre, which is the mean if `degrees` is above 1."""
    scale: Array
    """(d, d): symmetric and positive definite; the covariance is degrees / (degrees - 2) of it."""
    degrees: float
    """Degrees of freedom, above 0; the fewer, the heavier the tails."""

    def __init__(self, location: ArrayLike, scale: ArrayLike, degrees: float) -> None:
        centre = check_vector("location", location)
        matrix, _ = check_covariance("scale", scale, len(centre))
        object.__setattr__(self, "location", frozen(centre))
        object.__setattr__(self, "scale", frozen(matrix))
        object.__setattr__(self, "degrees", check_positive("degrees", degrees))

    def __repr__(self) -> str:
        return (
            f"StudentT(location={self.location.tolist()}, scale={self.scale.tolist()}, "
            f"degrees={self.degrees})"
        )

    @property
    def dimension(self) -> int:
        """d: the number of dimensions."""
        return len(self.location)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): samples, a Gaussian's divided by sqrt(chi-squared / degrees)."""
        chol = np.linalg.cholesky(self.scale)
        noise = rng.standard_normal((n, self.dimension)) @ chol.T
        wide = np.sqrt(rng.chisquare(self.degrees, size=n) / self.degrees)
        return self.location + noise / wide[:, None]

    def log_prob(self, contexts: Array) -> Array:
        """(n,): log-densities of `contexts` (n, d)."""
        d, v = self.dimension, self.degrees
        chol = np.asarray(np.linalg.cholesky(self.scale), dtype=float)
        white = solve_lower(chol, (contexts - self.location).T)
        squares = np.einsum("dn,dn->n", white, white)
        constant = math.lgamma((v + d) / 2) - math.lgamma(v / 2) - 0.5 * d * math.log(v * math.pi)
        return constant - log_det(chol) - 0.5 * (v + d) * np.log1p(squares / v)
