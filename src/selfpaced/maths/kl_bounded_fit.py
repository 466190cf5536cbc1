"""KL-bounded weighted fits of the policy and of the context distribution (appendix B).

As printed. A policy p_y = N(y | A phi(x), S_y) and a context distribution p_x = N(x | mu_x, S_x)
are fitted to N samples with weights w_i; x are contexts and y parameters. A tilde (~) marks the old
distributions q. With phi_i = phi(x_i), Delta y_i = y_i - A phi_i, Delta A = A - A~ and eta >= 0:

    A    = [sum_i (w_i y_i + eta/N A~ phi_i) phi_i^T] [sum_i (w_i + eta/N) phi_i phi_i^T]^-1
    S_y  = (sum_i w_i Delta y_i Delta y_i^T + eta S_y~
            + eta/N Delta A [sum_i phi_i phi_i^T] Delta A^T) / (sum_i w_i + eta)
    mu_x = (sum_i w_i x_i + eta mu_x~) / (sum_i w_i + eta)
    S_x  = (sum_i w_i (x_i - mu_x)(x_i - mu_x)^T
            + eta (S_x~ + (mu_x - mu_x~)(mu_x - mu_x~)^T)) / (sum_i w_i + eta)

eta is 0 if that keeps the bound epsilon, else the root of

    f(eta) = epsilon - 1/N sum_i KL(q_y(. | x_i) || p_y(. | x_i)) + KL(q_x || p_x).

Corrections. f lacks brackets: both KLs count against the bound, so the code finds the root of
epsilon - (1/N sum_i KL_y + KL_x). And w_i stands for two sets of weights, w_i^y in A and S_y and
w_i^x in mu_x and S_x. Here each set sums to 1, hence 1 + eta in the denominators below.

As computed. Subtracting A~ from A leaves the residuals r_i = y_i - A~ phi_i of the old policy. With

    C = sum_i w_i r_i phi_i^T,   R = sum_i w_i r_i r_i^T,
    W = sum_i w_i phi_i phi_i^T,   F = 1/N sum_i phi_i phi_i^T

follows Delta A = C (W + eta F)^-1. Inserting Delta y_i = r_i - Delta A phi_i into S_y gives
R - C Delta A^T - Delta A C^T + Delta A (W + eta F) Delta A^T + eta S_y~ over 1 + eta. The fourth
term equals the second and the third up to its sign, so one of them remains:

    S_y = (R + eta S_y~ - Delta A C^T) / (1 + eta).

The code whitens: r_i is multiplied by L^-1, where S_y~ = L L^T, and phi_i by a matrix B for which
B F B^T = I and B W B^T = diag(s). In these coordinates the inverse is a division,

    Delta A = C diag(1 / (s + eta)),   S_y = (R + eta I - Delta A C^T) / (1 + eta),
    1/N sum_i KL_y = 1/2 (tr S_y^-1 - d + tr(Delta A^T S_y^-1 Delta A) + log det S_y),

and A~ + L Delta A B and L S_y L^T are the result. A context distribution is the same regression on
the single feature phi = 1, with A~ = mu_x~ and W = F = 1. So C, R and s are computed once for the
policy and once for the contexts, and then every eta costs little. Directions of phi that the
contexts do not span make the printed inverse singular; the fit leaves them as they were.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy

from selfpaced.maths.arrays import Array, factor_of, solve_lower
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.whitened_regression import Regression, Solution

LEAST_SHARE = 1e-12  # smallest 1 / (1 + eta) at which the root of an active bound is searched
ACCURACY = 1e-5  # relative, of that share
STEEPEST = 1e3  # largest sqrt(KL / epsilon) that the search sees, since a KL can be infinite
NEWTON_STEPS, CLOSE = 60, 1e-9  # on the way between two covariances; accuracy there, in nats


class PolicyFit(NamedTuple):
    """A fitted policy."""

    policy: LinearGaussianPolicy
    """The new policy."""
    kl: float
    """The mean over the samples' contexts of KL(old || new), in nats."""
    kept_old: bool
    """True if no fit within the bound was found, or a singular one, so that the old one is kept."""


class GaussianFit(NamedTuple):
    """A fitted Gaussian."""

    gaussian: Gaussian
    """The new Gaussian."""
    kl: float
    """KL(old || new), in nats."""
    kept_old: bool
    """True if no fit within the bound was found, or a singular one, so that the old one is kept."""


class JointFit(NamedTuple):
    """A policy and a context distribution, fitted together."""

    policy: LinearGaussianPolicy
    """The new policy."""
    contexts: Gaussian
    """The new context distribution."""
    kl_policy: float
    """The mean over the samples' contexts of KL(old || new) of the policy, in nats."""
    kl_contexts: float
    """KL(old || new) of the context distribution, in nats."""
    kept_old: bool
    """True if no fit within the bound was found, or a singular one, so that both old are kept."""


def fit_policy(
    policy: LinearGaussianPolicy,
    contexts: Array,
    thetas: Array,
    weights: Array,
    epsilon: float,
) -> PolicyFit:
    """The policy of largest weighted likelihood such that its mean KL(old || new) <= epsilon.

    `weights` (N,) sum to 1; `contexts` (N, d_c) and `thetas` (N, d) are the samples.
    """
    part = _policy_part(policy, contexts, thetas, weights)
    solutions = _within_bound([part], epsilon)
    found = None if solutions is None else _policy_from(policy, part, solutions[0])
    if solutions is None or found is None:
        return PolicyFit(policy, 0.0, True)
    return PolicyFit(found, solutions[0].kl, False)


def fit_gaussian(old: Gaussian, points: Array, weights: Array, epsilon: float) -> GaussianFit:
    """The Gaussian of largest weighted likelihood such that KL(old || new) <= epsilon.

    `weights` (N,) of the `points` (N, d) sum to 1.
    """
    part = _gaussian_part(old, points, weights)
    solutions = _within_bound([part], epsilon)
    found = None if solutions is None else _gaussian_from(old, part, solutions[0])
    if solutions is None or found is None:
        return GaussianFit(old, 0.0, True)
    return GaussianFit(found, solutions[0].kl, False)


def fit_joint(
    policy: LinearGaussianPolicy,
    distribution: Gaussian,
    contexts: Array,
    thetas: Array,
    w_policy: Array,
    w_contexts: Array,
    epsilon: float,
) -> JointFit:
    """Policy and context distribution fitted together, such that the sum of their KLs <= epsilon.

    Their weights `w_policy` (N,) and `w_contexts` (N,) sum to 1 each. One eta serves both; the
    printed f(eta) lacks brackets, see the module's docstring.
    """
    policy_part = _policy_part(policy, contexts, thetas, w_policy)
    context_part = _gaussian_part(distribution, contexts, w_contexts)
    solutions = _within_bound([policy_part, context_part], epsilon)
    if solutions is not None:
        new_policy = _policy_from(policy, policy_part, solutions[0])
        new_contexts = _gaussian_from(distribution, context_part, solutions[1])
        if new_policy is not None and new_contexts is not None:
            return JointFit(
                policy=new_policy,
                contexts=new_contexts,
                kl_policy=solutions[0].kl,
                kl_contexts=solutions[1].kl,
                kept_old=False,
            )
    return JointFit(
        policy=policy, contexts=distribution, kl_policy=0.0, kl_contexts=0.0, kept_old=True
    )


def with_entropy_floor(policy: LinearGaussianPolicy, floor: float) -> LinearGaussianPolicy:
    """`policy` with its covariance scaled up so far that its entropy is at least `floor` nats.

    It is `policy` itself if that has the entropy already. After a fit this cannot break the KL
    bound if the old policy respected the floor: up to the old determinant, scaling the new
    covariance up only lowers KL(old || new), because the geometric mean of the whitened
    eigenvalues' inverses is at most their arithmetic mean.
    """
    missing = floor - policy.entropy
    if missing <= 0.0:
        return policy
    scale = float(np.exp(2 * missing / policy.dimension))
    return LinearGaussianPolicy(policy.features, policy.A, scale * policy.covariance)


def moved_back_until_entropy(
    old: LinearGaussianPolicy, new: LinearGaussianPolicy, floor: float
) -> LinearGaussianPolicy:
    """`new` with its covariance moved back towards `old` until its entropy is at least `floor`.

    The covariance becomes t S_new + (1 - t) S_old with the largest t in [0, 1] that has the
    entropy, in nats. The entropy of `old` must be at least `floor`; the entropy is concave in t,
    so there is only one t beyond which it is too low.

    A fit to few samples widens the covariance in some directions and narrows it in others, by
    chance. Moving back undoes both. Scaling it up to the same entropy instead would leave it
    narrow where chance has made it narrow, and make it wider still where it is wide.

    The covariance's part of KL(old || new) only falls by this. The mean's part can grow a little
    where the mean has moved in a direction that the fit has widened; runs have not shown this.

    A policy that has converged to a few digits of its parameters can have covariances between which
    rounding leaves none that is positive definite; then that of `old` stays.
    """
    if new.entropy >= floor:
        return new
    white = solve_lower(old.chol, solve_lower(old.chol, new.covariance).T)
    gains = np.maximum(np.linalg.eigvalsh(white), 1e-16) - 1.0  # rounding can make them negative
    t = _largest_share(gains, 2 * (floor - old.entropy))
    covariance = t * new.covariance + (1.0 - t) * old.covariance
    chol = factor_of(covariance)
    if chol is None:
        covariance, chol = old.covariance, old.chol
    return LinearGaussianPolicy.trusted(new.features, new.A, covariance, chol)


def _largest_share(gains: Array, least: float) -> float:
    """The largest t in [0, 1] at which sum log(1 + t gains) is at least `least`, 0 or less.

    The sum is 0 at t = 0 and concave in t, so that Newton's steps from t = 1 come down to the root
    and never pass it, but for rounding.
    """
    t = 1.0
    for _ in range(NEWTON_STEPS):
        factors = 1.0 + t * gains
        missing = least - float(np.add.reduce(np.log(factors)))
        if missing <= 0.0:
            return t
        t = max(t + missing / float(np.add.reduce(gains / factors)), 0.0)
        if missing <= CLOSE:  # the step from there leaves nothing but rounding
            break
    return (1.0 - 1e-12) * t


def _policy_part(
    policy: LinearGaussianPolicy, contexts: Array, thetas: Array, weights: Array
) -> Regression:
    """The regression of `thetas` on the policy's features."""
    features = policy.features(contexts)
    residuals = features @ policy.A.T
    np.subtract(thetas, residuals, out=residuals)
    return Regression.of(residuals, policy.chol, features, weights)


def _gaussian_part(old: Gaussian, points: Array, weights: Array) -> Regression:
    """The regression of `points` on the constant feature, for which B = 1 and F = 1."""
    white = solve_lower(old.chol, (points - old.mean).T)  # (d, N)
    weighted = white * weights
    constant = np.ones((len(points), 1))
    s = np.maximum(weights[None] @ constant, 0.0)[0]
    return Regression(weighted @ constant, weighted @ white.T, s, np.ones((1, 1)))


def _within_bound(parts: list[Regression], epsilon: float) -> list[Solution] | None:
    """The solutions of `parts` for the smallest eta at which their KLs add up to at most epsilon.

    eta is 0 if the bound is inactive there. Otherwise it is found as the share 1 / (1 + eta) of the
    samples against the old distribution, to which sqrt(KL) is nearly proportional: both are 0 at
    eta = infinity. None if no share above `LEAST_SHARE` keeps the bound.
    """
    at_zero = [part.solution(0.0) for part in parts]
    if _sum_of_kls(at_zero) <= epsilon:
        return at_zero

    def solutions(share: float) -> list[Solution]:
        return [part.solution(1.0 / share - 1.0) for part in parts]

    def excess(share: float) -> float:
        if share == 0.0:
            return -1.0
        kl = _sum_of_kls(at_zero if share == 1.0 else solutions(share))
        return min(math.sqrt(kl / epsilon), STEEPEST) - 1.0

    root = scipy.optimize.brentq(excess, 0.0, 1.0, xtol=LEAST_SHARE, rtol=ACCURACY)
    # Slightly below the root the bound holds.
    found = solutions(max((1.0 - 2 * ACCURACY) * root - 2 * LEAST_SHARE, LEAST_SHARE))
    return found if _sum_of_kls(found) <= epsilon else None


def _sum_of_kls(solutions: list[Solution]) -> float:
    return sum(solution.kl for solution in solutions)


def _policy_from(
    policy: LinearGaussianPolicy, part: Regression, solution: Solution
) -> LinearGaussianPolicy | None:
    """The fitted policy; None if its covariance is singular."""
    matrices = _unwhitened(solution.covariance, policy.chol)
    if matrices is None:
        return None
    A = policy.A + policy.chol @ solution.delta @ part.to_features
    return LinearGaussianPolicy.trusted(policy.features, A, *matrices)


def _gaussian_from(old: Gaussian, part: Regression, solution: Solution) -> Gaussian | None:
    """The fitted Gaussian; None if its covariance is singular."""
    matrices = _unwhitened(solution.covariance, old.chol)
    if matrices is None:
        return None
    mean = old.mean + (old.chol @ solution.delta @ part.to_features)[:, 0]
    return Gaussian.trusted(mean, *matrices)


def _unwhitened(white: Array, chol: Array) -> tuple[Array, Array] | None:
    """chol white chol^T and its Cholesky factor, or None if rounding has made it singular.

    `white` itself is far from singular, since KL(old || new) is finite within the bound.
    """
    covariance = chol @ white @ chol.T
    covariance = (covariance + covariance.T) / 2
    factor = factor_of(covariance)
    return None if factor is None else (covariance, factor)
