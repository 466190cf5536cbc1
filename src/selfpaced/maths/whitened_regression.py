"""One weighted regression of appendix B, in coordinates in which every eta costs little.

The formulas, and which letter is what, are in `maths/kl_bounded_fit.py`.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, cholesky, eigen, inverse_lower
from selfpaced.maths.gaussian import log_det


class Solution(NamedTuple):
    """What one regression gives for one eta, in whitened coordinates."""

    delta: Array
    """(d, m): Delta A."""
    covariance: Array
    """(d, d): S_y, symmetric but for rounding."""
    kl: float
    """The mean of KL(old || new), in nats; infinite where S_y is singular."""


@dataclass(frozen=True)
class Regression:
    """Sufficient statistics of one regression, in whitened coordinates."""

    C: Array
    """(d, m): sum_i w_i r_i phi_i^T."""
    R: Array
    """(d, d): sum_i w_i r_i r_i^T."""
    s: Array
    """(m,): the diagonal of sum_i w_i phi_i phi_i^T."""
    to_features: Array
    """(m, f): B, which takes Delta A back to the coordinates of phi."""

    @staticmethod
    def of(residuals: Array, chol: Array, features: Array, weights: Array) -> "Regression":
        """Statistics of `residuals` (N, d) from the old mean; `chol` is L of the old covariance."""
        roots = np.sqrt(weights)  # half of each weight goes to either factor of a product
        white = inverse_lower(chol) @ residuals.T  # (d, N)
        white *= roots
        basis = _directions(features)
        seen = basis @ features.T  # (m, N)
        seen *= roots
        s, rotation = eigen(seen @ seen.T)
        C = white @ seen.T @ rotation
        return Regression(C, white @ white.T, np.maximum(s, 0.0), rotation.T @ basis)

    def solution(self, eta: float) -> Solution:
        """Delta A and S_y for this `eta`. A direction in which no sample has weight stays."""
        d = len(self.R)
        delta = self.C / np.maximum(self.s + eta, 1e-300)
        covariance = self.R - delta @ self.C.T
        covariance.reshape(-1)[:: d + 1] += eta
        covariance /= 1.0 + eta
        try:
            chol = cholesky(covariance)
        except np.linalg.LinAlgError:
            return Solution(delta, covariance, np.inf)
        inverse = inverse_lower(chol)  # its squares add up to tr S_y^-1
        white = inverse @ delta
        squares = float(np.vdot(inverse, inverse) + np.vdot(white, white))
        kl = 0.5 * (squares - d) + log_det(chol)
        return Solution(delta, covariance, np.inf if math.isnan(kl) else kl)


def _directions(features: Array) -> Array:
    """(m, f): a matrix that turns `features` (N, f) into m whose second moment F is the identity.

    Directions that the contexts do not span are left out, so that a fit does not change them.
    """
    values, vectors = eigen(features.T @ features / len(features))
    if values[0] > 1e-12 * values[-1]:
        return (vectors / np.sqrt(values)).T
    # The second moment squares the features and so loses half of the digits, such as those of
    # contexts in millimetres that vary a little around 1000. The features themselves keep them.
    scale = np.sqrt((features**2).mean(axis=0))
    scale[scale == 0.0] = 1.0
    _, sizes, rows = np.linalg.svd(features / scale / np.sqrt(len(features)), full_matrices=False)
    kept = sizes > 1e-10 * sizes[0]
    return rows[kept] / sizes[kept, None] / scale
