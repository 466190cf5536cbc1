"""KL-bounded weighted fits of policy and context distribution (appendix B).

Both are linear-Gaussian regressions, the context distribution on a constant feature, so one set
of sufficient statistics serves both and one multiplier eta holds the bound on their sum.

In coordinates where the old covariance and the features' second moment are the identity and the
weighted second moment is diag(s), appendix B's formulas become

    Delta A = C / (s + eta),    Sigma = (R + eta I - C diag(1 / (s + eta)) C^T) / (1 + eta)

with C = sum_i w_i r_i phi_i^T and R = sum_i w_i r_i r_i^T of the residuals r_i = y_i - A_old phi_i.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from selfpaced.maths.arrays import Array, cholesky, solve_lower
from selfpaced.maths.gaussian import Gaussian, log_det
from selfpaced.maths.halving import largest_share
from selfpaced.maths.policy import LinearGaussianPolicy

ETA_BRACKET = (1e-8, 1e12)  # where the multiplier of an active bound is looked for
HALVINGS = 30  # of the way between two covariances


class PolicyFit(NamedTuple):
    """A fitted policy."""

    policy: LinearGaussianPolicy
    kl: float  # mean over the samples' contexts of KL(old || new)
    kept_old: bool  # no fit within the bound was found, or it was singular


class GaussianFit(NamedTuple):
    """A fitted Gaussian; as in `PolicyFit`."""

    gaussian: Gaussian
    kl: float
    kept_old: bool


class JointFit(NamedTuple):
    """A policy and a context distribution fitted together; as in `PolicyFit`."""

    policy: LinearGaussianPolicy
    contexts: Gaussian
    kl_policy: float
    kl_contexts: float
    kept_old: bool


def fit_policy(
    policy: LinearGaussianPolicy,
    contexts: Array,
    thetas: Array,
    weights: Array,
    epsilon: float,
) -> PolicyFit:
    """The policy closest to the weighted samples with mean KL(old || new) <= epsilon."""
    part = _policy_part(policy, contexts, thetas, weights)
    eta = _smallest_eta([part], epsilon)
    found = None if eta is None else _policy_at(policy, part, eta)
    if eta is None or found is None:
        return PolicyFit(policy, 0.0, True)
    return PolicyFit(found, part.kl(eta), False)


def fit_gaussian(old: Gaussian, points: Array, weights: Array, epsilon: float) -> GaussianFit:
    """The Gaussian closest to the weighted points with KL(old || new) <= epsilon."""
    part = _gaussian_part(old, points, weights)
    eta = _smallest_eta([part], epsilon)
    found = None if eta is None else _gaussian_at(old, part, eta)
    if eta is None or found is None:
        return GaussianFit(old, 0.0, True)
    return GaussianFit(found, part.kl(eta), False)


def fit_joint(
    policy: LinearGaussianPolicy,
    distribution: Gaussian,
    contexts: Array,
    thetas: Array,
    w_policy: Array,
    w_contexts: Array,
    epsilon: float,
) -> JointFit:
    """Policy and context distribution fitted together, the sum of their KLs <= epsilon.

    The printed f(eta) = eps - mean KL_y + KL_x lacks brackets: both KLs count against the bound.
    """
    policy_part = _policy_part(policy, contexts, thetas, w_policy)
    context_part = _gaussian_part(distribution, contexts, w_contexts)
    eta = _smallest_eta([policy_part, context_part], epsilon)
    if eta is not None:
        new_policy = _policy_at(policy, policy_part, eta)
        new_contexts = _gaussian_at(distribution, context_part, eta)
        if new_policy is not None and new_contexts is not None:
            kls = policy_part.kl(eta), context_part.kl(eta)
            return JointFit(new_policy, new_contexts, *kls, False)
    return JointFit(policy, distribution, 0.0, 0.0, True)


def with_entropy_floor(policy: LinearGaussianPolicy, floor: float) -> LinearGaussianPolicy:
    """`policy`, its covariance scaled up if need be so that its entropy is at least `floor`.

    After a fit this cannot break the KL bound as long as the old policy respected the floor:
    up to the old determinant, scaling the new covariance up only lowers KL(old || new), because
    the geometric mean of the whitened eigenvalues' inverses is at most their arithmetic mean.
    """
    missing = floor - policy.entropy
    if missing <= 0.0:
        return policy
    scale = float(np.exp(2 * missing / policy.dimension))
    return LinearGaussianPolicy(policy.features, policy.A, scale * policy.covariance)


def as_far_as_entropy(
    old: LinearGaussianPolicy, new: LinearGaussianPolicy, floor: float
) -> LinearGaussianPolicy:
    """`new`, its covariance moved back to that of `old` until its entropy is at least `floor`.

    The entropy of `old` must be at least `floor`. On the way from one covariance to the other the
    entropy is concave, so there is one place beyond which it is too low. A covariance that samples
    have spread by chance comes back to its shape; scaled up to the same entropy, it would be wider
    where chance has made it wide and stay narrow where chance has made it narrow.

    Of KL(old || new) the covariance's part only falls by this; the mean's can grow by a little
    where it has moved in a direction that the fit has widened, which runs have not shown.
    """
    if new.entropy >= floor:
        return new
    white = solve_lower(old.chol, solve_lower(old.chol, new.covariance).T)
    gains = np.linalg.eigvalsh(white) - 1.0
    least = 2 * (floor - old.entropy)
    t = largest_share(lambda t: np.log1p(t * gains).sum() >= least, HALVINGS)
    covariance = t * new.covariance + (1.0 - t) * old.covariance
    return LinearGaussianPolicy(new.features, new.A, covariance)


def _directions(features: Array) -> Array:
    """(m, f): what turns `features` (N, f) into m uncorrelated ones of mean square 1.

    Directions that the contexts do not span are left out: a fit does not change them.
    """
    values, vectors = np.linalg.eigh(features.T @ features / len(features))
    if values[0] > 1e-12 * values[-1]:
        return (vectors / np.sqrt(values)).T
    # Squares hide what varies little: contexts in millimetres around 1000, beside the bias.
    scale = np.sqrt((features**2).mean(axis=0))
    scale[scale == 0.0] = 1.0
    _, sizes, rows = np.linalg.svd(features / scale / np.sqrt(len(features)), full_matrices=False)
    kept = sizes > 1e-10 * sizes[0]
    return rows[kept] / sizes[kept, None] / scale


@dataclass(frozen=True)
class _Part:
    """Sufficient statistics of one regression, in the whitened coordinates of the module."""

    C: Array  # (d, m)
    R: Array  # (d, d)
    s: Array  # (m,)
    to_features: Array  # (m, features): back to the coordinates of phi

    @staticmethod
    def of(residuals: Array, chol: Array, features: Array, weights: Array) -> "_Part":
        white = solve_lower(chol, residuals.T)  # (d, N)
        basis = _directions(features)
        seen = basis @ features.T  # (m, N)
        s, rotation = np.linalg.eigh((seen * weights) @ seen.T)
        basis = rotation.T @ basis
        weighted = white * weights
        C = weighted @ features @ basis.T
        return _Part(C, weighted @ white.T, np.maximum(s, 0.0), basis)

    def delta(self, eta: float) -> Array:
        """Change of A, (d, m), whitened. A direction without weight does not change."""
        return self.C / np.maximum(self.s + eta, 1e-300)

    def covariance(self, eta: float) -> Array:
        shrink = self.delta(eta) @ self.C.T
        covariance = (self.R + eta * np.eye(len(self.R)) - shrink) / (1.0 + eta)
        return (covariance + covariance.T) / 2

    def kl(self, eta: float) -> float:
        """Mean KL(old || new); infinite where the new covariance is singular."""
        covariance = self.covariance(eta)
        if not np.isfinite(covariance).all():
            return np.inf
        try:
            chol = cholesky(covariance)
        except np.linalg.LinAlgError:
            return np.inf
        d = len(self.R)
        both = np.concatenate([np.eye(d), self.delta(eta)], axis=1)
        white = solve_lower(chol, both)
        return 0.5 * (float(np.sum(white**2)) - d) + log_det(chol)


def _policy_part(
    policy: LinearGaussianPolicy, contexts: Array, thetas: Array, weights: Array
) -> _Part:
    features = policy.features(contexts)
    return _Part.of(thetas - features @ policy.A.T, policy.chol, features, weights)


def _gaussian_part(old: Gaussian, points: Array, weights: Array) -> _Part:
    return _Part.of(points - old.mean, old.chol, np.ones((len(points), 1)), weights)


def _smallest_eta(parts: list[_Part], epsilon: float) -> float | None:
    """0 if the bound is inactive, else the eta at which the KLs add up to epsilon.

    The KL falls as eta grows. None if no eta in the bracket holds the bound.
    """

    def excess(log_eta: float) -> float:
        kl = sum(part.kl(float(np.exp(log_eta))) for part in parts)
        return float(np.log(np.clip(kl / epsilon, 1e-30, 1e30)))

    if sum(part.kl(0.0) for part in parts) <= epsilon:
        return 0.0
    least, most = np.log(ETA_BRACKET)
    low = high = 0.0
    while excess(high) > 0.0:
        low, high = high, high + 2.0
        if high > most:
            return None
    while low == high or excess(low) < 0.0:
        high, low = low, low - 2.0
        if low < least:
            return float(np.exp(high))
    tolerance = 1e-5
    root = brentq(excess, low, high, xtol=tolerance)
    return float(np.exp(root + 2 * tolerance))  # on the side where the bound holds


def _policy_at(
    policy: LinearGaussianPolicy, part: _Part, eta: float
) -> LinearGaussianPolicy | None:
    covariance = _unwhitened(part.covariance(eta), policy.chol)
    if covariance is None:
        return None
    A = policy.A + policy.chol @ part.delta(eta) @ part.to_features
    return LinearGaussianPolicy(policy.features, A, covariance)


def _gaussian_at(old: Gaussian, part: _Part, eta: float) -> Gaussian | None:
    covariance = _unwhitened(part.covariance(eta), old.chol)
    if covariance is None:
        return None
    return Gaussian(old.mean + (old.chol @ part.delta(eta) @ part.to_features)[:, 0], covariance)


def _unwhitened(white: Array, chol: Array) -> Array | None:
    """chol white chol^T; None if rounding has made it singular.

    Within the bound `white` is far from singular: KL(old || new) would be infinite there.
    """
    covariance = chol @ white @ chol.T
    covariance = (covariance + covariance.T) / 2
    try:
        cholesky(covariance)
    except np.linalg.LinAlgError:
        return None
    return covariance if np.isfinite(covariance).all() else None
