"""The multivariate Gaussian as a frozen value, and formulas for its density and entropy."""

import math
from dataclasses import dataclass
from functools import cached_property

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
from selfpaced.maths.box import Box


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(ComparedByFields):
    """The Gaussian N(mean, covariance), for contexts or for policy parameters."""

    mean: Array
    """(d,): the mean."""
    covariance: Array
    """(d, d): the covariance, symmetric and positive definite."""
    chol: Array
    """(d, d): the lower Cholesky factor L of the covariance, L L^T = covariance; computed."""

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        checked = check_vector("mean", mean)
        matrix, chol = check_covariance("covariance", covariance, len(checked))
        object.__setattr__(self, "mean", frozen(checked))
        object.__setattr__(self, "covariance", frozen(matrix))
        object.__setattr__(self, "chol", frozen(chol))

    @classmethod
    def trusted(cls, mean: Array, covariance: Array, chol: Array) -> "Gaussian":
        """The Gaussian with these fields, which are not checked; `chol` is that of `covariance`."""
        gaussian = object.__new__(cls)
        for name, value in (("mean", mean), ("covariance", covariance), ("chol", chol)):
            object.__setattr__(gaussian, name, frozen(value))
        return gaussian

    def __repr__(self) -> str:
        return f"Gaussian(mean={self.mean.tolist()}, covariance={self.covariance.tolist()})"

    @property
    def dimension(self) -> int:
        """d: the number of dimensions."""
        return len(self.mean)

    def sample(self, n: int, rng: np.random.Generator, box: Box | None = None) -> Array:
        """(n, d): samples, truncated to `box` if one is given."""
        means = np.full((n, self.dimension), self.mean)
        if box is not None:
            return box.truncated(means, self.chol, rng)
        return means + rng.standard_normal(means.shape) @ self.chol.T

    def log_prob(self, points: Array) -> Array:
        """(n,): log-densities of `points` (n, d).

        They are those of the Gaussian itself, even where its samples are truncated to a box.
        """
        return normal_log_prob(points - self.mean, self.chol, self._log_constant)

    @cached_property
    def _log_constant(self) -> float:
        """Minus the log-density at the mean, in nats."""
        return _log_constant(self.chol)

    def kl(self, other: "Gaussian") -> float:
        """KL(self || other), in nats."""
        return kl_of(self.mean, self.chol, other.mean, other.chol)

    @property
    def entropy(self) -> float:
        """The entropy, in nats."""
        return normal_entropy(self.chol)


def kl_of(mean: Array, chol: Array, other_mean: Array, other_chol: Array) -> float:
    """KL of two Gaussians with means (d,) and lower Cholesky factors (d, d), in nats."""
    spread = solve_lower(other_chol, chol)
    shift = solve_lower(other_chol, mean - other_mean)
    trace = float((spread * spread).sum() + (shift * shift).sum())
    return 0.5 * (trace - len(mean)) + log_det(other_chol) - log_det(chol)


def with_variance_floor(gaussian: Gaussian, floor: ArrayLike) -> Gaussian:
    """`gaussian` with every diagonal entry of its covariance raised to at least `floor`.

    `floor` is one variance for all dimensions, or (d,), one for each. Other entries stay.
    """
    variances = np.diag(gaussian.covariance)
    raised = np.maximum(variances, floor)
    return Gaussian(gaussian.mean, gaussian.covariance + np.diag(raised - variances))


def gaussian_over(box: Box, width: float = 0.25) -> Gaussian:
    """The Gaussian at the centre of `box`, with standard deviations of `width` times its width."""
    return Gaussian(box.centre, np.diag((check_positive("width", width) * box.width) ** 2))


def normal_log_prob(deviations: Array, chol: Array, log_constant: float | None = None) -> Array:
    """(n,): log N(x | 0, chol chol^T) of each row x of `deviations` (n, d).

    `log_constant` is minus the log-density at 0, computed here if it is not given.
    """
    white = solve_lower(chol, deviations.T)
    if log_constant is None:
        log_constant = _log_constant(chol)
    return -0.5 * np.einsum("dn,dn->n", white, white) - log_constant


def _log_constant(chol: Array) -> float:
    """-log N(0 | 0, chol chol^T)."""
    return 0.5 * len(chol) * math.log(2 * math.pi) + log_det(chol)


def normal_entropy(chol: Array) -> float:
    """The entropy of a Gaussian with covariance chol chol^T, in nats."""
    return 0.5 * len(chol) * (1 + math.log(2 * math.pi)) + log_det(chol)


def log_det(chol: Array) -> float:
    """log det chol for a triangular `chol`: half the log-determinant of chol chol^T."""
    return float(np.add.reduce(np.log(chol.diagonal())))
