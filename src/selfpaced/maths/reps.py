"""The duals of SPRL and C-REPS, their minimisation by Newton's method, and the sample weights.

Each dual is a sum of soft maxima over the samples, linear terms and a ridge on v, where
V(c) = phi(c)^T v is the value function:

    soft_max(x, eta) = eta log(1/N sum_i exp(x_i / eta))
    SPRL, Eq. 9 (eq:sprl_dual)    (eta_p + eta_mu) eps + soft_max(A, eta_p)
                                      + soft_max(beta, alpha + eta_mu)
    C-REPS, Sec. 2                eta eps + E_mu[V(c)] + soft_max(A, eta)

with the advantage A = R - V and beta = alpha log(mu / q) + V (Eq. 8, eq:sprl_opt). The gradient of
a soft maximum in x are the sample weights, exp(A / eta_p) of the policy (Eq. 1, eq:creps_opt) and
exp(beta / (alpha + eta_mu)) of the contexts (Eq. 8), both normalised to sum to 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import scipy

from selfpaced.maths.arrays import Array, deviation_of

TOLERANCE = 1e-7  # largest |projected gradient| of the scaled dual at which Newton stops
LEAST_GAP = 1e-290  # mean difference of values below which they count as equal
ETA_FLOOR = 1e-6  # lower bound of the temperatures in the scaled dual
REUSED = 0.1  # share to which a step lowers the gradient from which its Hessian is used again
FAR = 1e8  # multipliers of the scaled dual from which a warm start is no help
UNSEEN = 1e-10  # features with no larger value among the samples are left out of the dual
ROUGH = 0.03  # relative accuracy of temperatures that only set a scale or a starting point
LARGEST_SHARE = 0.9  # largest epsilon, as a share of log(samples), the largest KL of any weights

PolicyWeights = Literal["creps", "derived"]
"""Which weights the policy is fitted with; see `sprl_weights`."""


class SoftMax(NamedTuple):
    """The soft maximum of x (N,) at a temperature eta, with its derivatives."""

    value: float
    """eta log(1/N sum_i exp(x_i / eta)), between the mean and the maximum of x."""
    weights: Array
    """(N,): its gradient in x, proportional to exp(x / eta): the sample weights, which sum to 1."""
    kl: float
    """Minus its derivative in eta, which is KL(weights || uniform), in nats."""


def soft_max(x: Array, eta: float) -> SoftMax:
    """eta log(1/N sum_i exp(x_i / eta)) over the samples x (N,), with its derivatives."""
    top = float(x.max())
    weights, log_mean, kl = _weights_and_kl(x - top, eta)
    return SoftMax(top + eta * log_mean, weights, kl)


def _weights_and_kl(below: Array, eta: float) -> tuple[Array, float, float]:
    """For x = top + `below` (N,): the weights, log(1/N sum_i exp(below_i / eta)) and the KL."""
    shifted = below / eta
    weights = np.exp(shifted)
    total = float(np.add.reduce(weights))
    weights /= total
    log_mean = math.log(total / len(below))
    return weights, log_mean, max(float(weights @ shifted) - log_mean, 0.0)


def temperature(x: Array, epsilon: float, accuracy: float = 1e-10) -> float:
    """The eta that minimises eta epsilon + soft_max(x, eta): there the weights' KL is epsilon.

    If k of the N samples share the largest x, KL(weights || uniform) falls from log(N / k) at
    eta = 0 to 0 at infinity. For an epsilon of at least log(N / k) the bound is inactive: the
    result is so small a temperature that the k largest share all weight equally. If all x are
    equal, every temperature is a minimum and the result is 1; so it is if they differ by less than
    LEAST_GAP, since nothing can be divided by such differences. `accuracy` is relative.
    """
    below = x - x.max()
    mean_gap = -float(below.mean())
    if mean_gap < LEAST_GAP:
        return 1.0
    if not math.isfinite(mean_gap):  # no temperature fits, and the steps below would not end
        raise ValueError(f"x must be finite; its largest minus its mean is {mean_gap}")
    if epsilon >= math.log(len(x) / np.count_nonzero(below == 0.0)):
        return max(-float(below[below < 0.0].max()) * 1e-3, LEAST_GAP)

    # Newton's steps on log(KL / epsilon) as a function of log eta, from where it would be 0 if x
    # were Gaussian. A step that leaves the interval known to hold the root becomes a bisection.
    low, high = -math.inf, math.log(mean_gap / epsilon)  # KL <= mean gap / eta, by Jensen
    spread = mean_gap * deviation_of(below / mean_gap)
    log_eta = min(math.log(spread / math.sqrt(2.0 * epsilon)), high)
    while True:
        eta = math.exp(log_eta)
        weights, log_mean, kl = _weights_and_kl(below, eta)
        excess = math.log(max(kl, 1e-300) / epsilon)
        low, high = (log_eta, high) if excess > 0.0 else (low, log_eta)
        mean = kl + log_mean  # of below / eta, as the variance
        variance = float(weights @ (below / eta) ** 2) - mean**2
        step = excess * kl / variance if variance > 0.0 else math.inf  # the slope is -variance / KL
        if abs(step) <= accuracy:
            return math.exp(log_eta + step)
        if low == -math.inf:
            step = max(step, -2.0) if step < 0.0 else -2.0
        elif not low < log_eta + step < high:
            step = (low + high) / 2 - log_eta
            if abs(step) <= accuracy:
                return eta
        log_eta += step


@dataclass(frozen=True)
class Term:
    """One soft maximum of a dual, over x = base + sign V, at the temperature eta + offset."""

    base: Array
    """(N,): the part of x that does not depend on V."""
    sign: float
    """Sign of V in x: -1 in the advantage R - V, 1 in beta."""
    offset: float
    """Added to eta: alpha for the contexts, 0 for the policy."""


class Evaluation(NamedTuple):
    """A dual's value and derivatives at one point z = (one eta per term, v)."""

    value: float
    """The value of the dual."""
    gradient: Array
    """Its gradient in z."""
    maxima: list[SoftMax]
    """The soft maximum of each term."""
    hessian: Callable[[], Array]
    """Computes its Hessian in z, which costs more than everything else."""


@dataclass(frozen=True)
class Dual:
    """A dual as a function of z = (one eta per term, v), convex where every eta > -offset.

    linear^T z + ridge |v|^2 + the sum over the terms of soft_max(base + sign V, eta + offset).
    """

    terms: tuple[Term, ...]
    """The soft maxima: two in SPRL, one in C-REPS."""
    features: Array
    """(N, m): phi(c) of every sample."""
    linear: Array
    """(terms + m,): the coefficients of z in the linear part."""
    ridge: float
    """Weight of |v|^2."""

    def __call__(self, z: Array) -> Evaluation:
        """The dual at z, with its derivatives."""
        k = len(self.terms)
        v = z[k:]
        V = self.features @ v
        xs = [term.base + term.sign * V for term in self.terms]
        taus = [term.offset + eta for term, eta in zip(self.terms, z[:k].tolist(), strict=True)]
        maxima = [soft_max(x, tau) for x, tau in zip(xs, taus, strict=True)]
        value = self.linear @ z + self.ridge * (v @ v) + sum(m.value for m in maxima)
        pull = sum(t.sign * m.weights for t, m in zip(self.terms, maxima, strict=True))
        gradient = self.linear.copy()
        for i, maximum in enumerate(maxima):
            gradient[i] -= maximum.kl
        gradient[k:] += 2 * self.ridge * v + self.features.T @ pull

        def hessian() -> Array:
            curvature = sum(m.weights / tau for m, tau in zip(maxima, taus, strict=True))
            rows = self.features * np.sqrt(curvature)[:, None]
            in_v = rows.T @ rows  # both soft maxima in one weighted Gram matrix
            deviations = [x - m.weights @ x for x, m in zip(xs, maxima, strict=True)]
            # One product for all terms: a product with few rows costs as much as one with four.
            rows = np.empty((2 * k, len(V)))  # the weights of each term, then its spreads
            for i, (m, d) in enumerate(zip(maxima, deviations, strict=True)):
                rows[i] = m.weights
                np.multiply(m.weights, d, out=rows[k + i])
            means = rows @ self.features
            for i, tau in enumerate(taus):
                in_v -= means[i, :, None] * (means[i] / tau)
            in_v.flat[:: len(v) + 1] += 2 * self.ridge
            H = np.empty((len(z), len(z)))
            H[:k, :k] = 0.0
            H[k:, k:] = in_v
            for i, (term, tau) in enumerate(zip(self.terms, taus, strict=True)):
                H[k:, i] = H[i, k:] = -term.sign * means[k + i] / tau**2
                H[i, i] = rows[k + i] @ deviations[i] / tau**3
            return H

        return Evaluation(float(value), gradient, maxima, hessian)


def sprl_dual(
    rewards: Array,
    log_ratio: Array,
    features: Array,
    *,
    alpha: float,
    epsilon: float,
    ridge: float,
) -> Dual:
    """The dual G(eta_p, eta_mu, V) of SPRL, Eq. 9 (eq:sprl_dual).

    G = (eta_p + eta_mu) eps + soft_max(A, eta_p) + soft_max(beta, alpha + eta_mu), where A = R - V,
    beta = alpha log_ratio + V (Eq. 8) and log_ratio = log mu(c) - log q(c). G is convex and is
    minimised, as Sec. 3.1 says; Algorithm 1 prints argmax, a misprint.
    """
    policy = Term(rewards, -1.0, 0.0)
    contexts = Term(alpha * log_ratio, 1.0, alpha)
    linear = np.concatenate([[epsilon, epsilon], np.zeros(features.shape[1])])
    return Dual((policy, contexts), features, linear, ridge)


def creps_dual(
    rewards: Array, features: Array, mean_features: Array, *, epsilon: float, ridge: float
) -> Dual:
    """The dual G(eta, V) of C-REPS, the unnumbered formula in Sec. 2.

    G = eta eps + E_mu[V(c)] + soft_max(A, eta) with A = R - V. The paper's formula leaves out
    E_mu[V(c)] = mean_features^T v, without which the dual falls without bound as V grows; see
    test_duals_ignore_a_constant_shift_of_V. `mean_features` (m,) are E_mu[phi(c)], or the mean over
    the buffer where contexts are not drawn from the target.
    """
    return Dual(
        (Term(rewards, -1.0, 0.0),), features, np.concatenate([[epsilon], mean_features]), ridge
    )


class Minimum(NamedTuple):
    """The point at which the minimiser stopped, and how exact a minimum it is."""

    z: Array
    """(one eta per term, v)."""
    maxima: list[SoftMax]
    """The soft maximum of each term at z."""
    steps: int
    """Newton steps taken."""
    gradient: float
    """Largest absolute entry of the gradient, without what pushes an eta against its floor."""
    converged: bool
    """True if `gradient` is at most `TOLERANCE`."""


def minimise(dual: Dual, start: Array, floor: float = ETA_FLOOR) -> Minimum:
    """The minimum of `dual` over v and eta >= floor, by Newton's method from `start`.

    With few samples and temperatures near 0 the soft maxima turn into maxima, whose corners stop
    Newton's method. Then it starts again with a floor of 1, which is lowered to `floor` in
    steps; each solve starts where the last one ended.
    """
    # Features that are about 0 for every sample, all contexts being far from their centres, are
    # left out: nothing but the ridge determines their v, which is therefore 0.
    k = len(dual.terms)
    seen = np.abs(dual.linear[k:]) > UNSEEN
    if not seen.all():
        rest = dual.features[:, ~seen]
        seen[~seen] = np.maximum(rest.max(axis=0), -rest.min(axis=0)) > UNSEEN
    if seen.all():
        return _minimum_in_all_features(dual, start, floor)
    kept = np.concatenate([np.ones(k, dtype=bool), seen])
    inner = _minimum_in_all_features(
        replace(dual, features=dual.features[:, seen], linear=dual.linear[kept]),
        start[kept],
        floor,
    )
    z = np.zeros_like(start)
    z[kept] = inner.z
    return inner._replace(z=z)


def _minimum_in_all_features(dual: Dual, start: Array, floor: float) -> Minimum:
    """The minimum of a dual each of whose features some sample has."""
    minimum = _newton(dual, start, floor)
    steps, z = minimum.steps, np.zeros_like(start)
    for lower in () if minimum.converged else np.geomspace(max(1.0, floor), floor, 13):
        minimum = _newton(dual, z, float(lower))
        steps, z = steps + minimum.steps, minimum.z
    return minimum._replace(steps=steps)


def _newton(dual: Dual, start: Array, floor: float, max_steps: int = 50) -> Minimum:
    """Newton's method over v and eta >= floor.

    An eta at its floor is held there while the gradient pushes it further down. No step lowers a
    temperature eta + offset to less than a tenth of itself, since the soft maximum is singular
    at 0. The Hessian costs more than the rest of a step, so that it serves the next step, too,
    after one that has lowered the gradient to a share REUSED: there it has hardly changed.
    """
    k = len(dual.terms)
    offsets = [term.offset for term in dual.terms]
    z = start.copy()
    z[:k] = np.maximum(z[:k], floor)
    point = dual(z)
    largest, steps = _largest_slope(point.gradient, z, k, floor), 0
    factors: _Factors | None = None
    while largest > TOLERANCE and steps < max_steps:
        steps += 1
        etas, slopes = z[:k].tolist(), point.gradient[:k].tolist()
        temperatures = [eta + offset for eta, offset in zip(etas, offsets, strict=True)]
        at_floor = [i for i in range(k) if etas[i] <= floor]
        held = [i for i in at_floor if slopes[i] > 0.0]
        if factors is None or factors.held != held:
            factors = _factors(point, temperatures, held)
        direction = factors.newton_direction(point.gradient)
        if any(direction[i] < 0.0 for i in at_floor):
            held += [i for i in at_floor if direction[i] < 0.0]
            factors = _factors(point, temperatures, held)
            direction = factors.newton_direction(point.gradient)
        least = np.array(
            [
                max(floor, 0.1 * tau - offset)
                for tau, offset in zip(temperatures, offsets, strict=True)
            ]
        )
        moved = _line_search(dual, z, point, direction, least)
        if moved is None:
            break  # rounding hides any further progress
        z, point = moved
        before, largest = largest, _largest_slope(point.gradient, z, k, floor)
        if largest > REUSED * before:
            factors = None
    return Minimum(
        z=z,
        maxima=point.maxima,
        steps=steps,
        gradient=largest,
        converged=largest <= TOLERANCE,
    )


def _largest_slope(gradient: Array, z: Array, k: int, floor: float) -> float:
    """Largest absolute entry of the gradient, except for etas that it pushes against the floor."""
    slopes = np.abs(gradient)
    for i in range(k):
        if z[i] <= floor and gradient[i] > 0.0:
            slopes[i] = 0.0
    return float(slopes.max())


class _Factors(NamedTuple):
    """A Hessian H, scaled to a unit diagonal and factored."""

    chol: Array
    """The upper Cholesky factor of the scaled H."""
    scale: Array
    """One over the square root of the diagonal of H; 0 for the etas that are `held`."""
    held: list[int]
    """The etas that no step changes."""

    def newton_direction(self, gradient: Array) -> Array:
        """-H^-1 g for a `gradient` g, with 0 for the etas that are `held`."""
        solution, _ = scipy.linalg.lapack.dpotrs(self.chol, -gradient * self.scale)
        return solution * self.scale


def _factors(point: Evaluation, temperatures: list[float], held: list[int]) -> _Factors:
    """The factors of the Hessian at `point`, where the terms have these `temperatures`.

    A small multiple of the identity is added until Cholesky succeeds.
    """
    H = point.hessian()
    # Where one sample has all the weight the curvature in eta is 0 and the step would be
    # infinite: limit it to ten times the temperature.
    for i, tau in enumerate(temperatures):
        H[i, i] = max(H[i, i], abs(point.gradient[i]) / (10.0 * tau))
    scale = 1.0 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    scale[held] = 0.0
    H *= scale
    H *= scale[:, None]
    jitter = 1e-13
    while True:
        H.flat[:: len(H) + 1] = 1.0 + jitter
        chol, info = scipy.linalg.lapack.dpotrf(H.T)  # H is symmetric, and H.T need not be copied
        if info == 0:
            return _Factors(chol, scale, held)
        jitter *= 100.0


def _line_search(
    dual: Dual, z: Array, point: Evaluation, direction: Array, least: Array
) -> tuple[Array, Evaluation] | None:
    """The first of the steps 1, 1/4, 1/16, ... along `direction` that makes progress; None if none.

    A step makes progress if the dual, which is convex along the line, still falls where it ends;
    if it obeys Armijo's rule; or, where both values agree to rounding, if the slope has halved.
    The first step is shortened so that no eta falls below its `least` value.
    """
    k = len(least)
    slope = float(point.gradient @ direction)
    if not slope < 0.0:
        return None
    room = [(least[i] - z[i]) / direction[i] for i in range(k) if direction[i] < 0.0]
    t = float(min([1.0, *room]))
    for _ in range(30):
        candidate = z + t * direction
        candidate[:k] = np.maximum(candidate[:k], least)
        new = dual(candidate)
        new_slope = float(new.gradient @ direction)
        drop = new.value - point.value
        rounding = 1e-12 * max(abs(new.value), abs(point.value))
        if new_slope <= 0.0 or drop <= 1e-4 * t * slope:
            return candidate, new
        if abs(drop) <= rounding and new_slope <= -0.5 * slope:
            return candidate, new
        t *= 0.25
    return None


class Weights(NamedTuple):
    """The sample weights at a dual's minimum, and how it was found."""

    policy: Array
    """(N,): w^pi, the weight of each sample for the policy; they sum to 1."""
    contexts: Array
    """(N,): w^mu, the weight of each sample for the contexts; they sum to 1. C-REPS: all equal."""
    eta_p: float
    """Temperature of the policy's weights, in the unit of the reward; eta in C-REPS."""
    eta_mu: float
    """Temperature of the contexts' weights, less alpha, in the unit of the reward; 0 in C-REPS."""
    multipliers: Array
    """All etas and v at the minimum, in the unit of the reward; the next solve starts there."""
    steps: int
    """Newton steps taken."""
    gradient: float
    """Largest absolute entry of the scaled dual's projected gradient; about 0 at a minimum."""
    converged: bool
    """True if the gradient is small enough for a minimum."""
    clamped: bool
    """True if epsilon was lowered because so few samples cannot have weights that far apart."""


def reps_weights(rewards: Array, epsilon: float) -> Weights:
    """Sample weights of plain REPS, exp(R / eta), where eta minimises eta eps + soft_max(R, eta).

    This is SPRL at alpha = 0. Then nothing ties the contexts to the target, so the optimum of the
    joint problem (Eq. 2 and 3) has V = 0 and the same weights for policy and contexts. The dual of
    Eq. 9 is degenerate there: V and eta_mu go to 0 together, and only their ratio, which no
    minimiser can find, sets the weights.
    """
    epsilon, clamped = _clamp(epsilon, len(rewards))
    eta = temperature(rewards, epsilon)
    weights, kl = soft_max(rewards, eta)[1:]
    inactive = kl < epsilon  # the temperature is near 0 and the best samples have all weight
    gradient = 0.0 if inactive else abs(kl - epsilon)
    none = np.zeros(0)
    return Weights(
        policy=weights,
        contexts=weights,
        eta_p=eta,
        eta_mu=eta,
        multipliers=none,
        steps=0,
        gradient=gradient,
        converged=gradient <= 1e-6,
        clamped=clamped,
    )


def sprl_weights(
    rewards: Array,
    log_ratio: Array,
    features: Array,
    *,
    alpha: float,
    epsilon: float,
    ridge: float,
    start: Array | None = None,
    policy_weights: PolicyWeights = "creps",
) -> Weights:
    """The sample weights of Algorithm 1, at the minimum of `sprl_dual`.

    Contexts: w^mu = exp(beta / (alpha + eta_mu)) (Eq. 8). Policy, by `policy_weights`:

        "creps"      w^pi = exp(A / eta_p)                               Algorithm 1
        "derived"    w^pi = exp(A / eta_p - beta / (alpha + eta_mu))     appendix A

    "derived" follows from the optimality conditions; the paper's experiments use "creps", because
    the second term made poor updates. At alpha = 0 both are the weights of `reps_weights`.

    `start` are the `multipliers` of the last update. The dual is solved with rewards in units of
    their temperature at V = 0, and `ridge` is meant in that unit, so that multiplying all rewards
    and alpha by a constant does not change the weights.
    """
    if alpha == 0.0:
        return reps_weights(rewards, epsilon)
    epsilon, clamped = _clamp(epsilon, len(rewards))
    unit = _unit(rewards, epsilon)
    alpha = alpha / unit
    scaled = (rewards - rewards.max()) / unit  # a shift of the rewards changes nothing
    dual = sprl_dual(scaled, log_ratio, features, alpha=alpha, epsilon=epsilon, ridge=ridge)
    first = _warm_start(start, dual, unit)
    if first is None:
        eta_mu = max(temperature(alpha * log_ratio, epsilon, ROUGH) - alpha, 0.0)
        first = np.concatenate([[1.0, eta_mu], np.zeros(features.shape[1])])
    minimum = minimise(dual, first)
    eta_p, eta_mu, v = float(minimum.z[0]), float(minimum.z[1]), minimum.z[2:]
    w_policy, w_contexts = (m.weights for m in minimum.maxima)
    if policy_weights == "derived":
        V = features @ v
        exponent = (scaled - V) / eta_p - (alpha * log_ratio + V) / (alpha + eta_mu)
        w_policy = soft_max(exponent, 1.0).weights
    return Weights(
        policy=w_policy,
        contexts=w_contexts,
        eta_p=unit * eta_p,
        eta_mu=unit * eta_mu,
        multipliers=unit * minimum.z,
        steps=minimum.steps,
        gradient=minimum.gradient,
        converged=minimum.converged,
        clamped=clamped,
    )


def creps_weights(
    rewards: Array,
    features: Array,
    mean_features: Array,
    *,
    epsilon: float,
    ridge: float,
    temperature_floor: float = 0.0,
    start: Array | None = None,
) -> Weights:
    """The sample weights of C-REPS, exp(A / eta) (Eq. 1), at the minimum of `creps_dual`.

    `temperature_floor` is the smallest eta, in standard deviations of the rewards. Without it eta
    can become as small as the differences between the best samples. Then all other samples have
    no weight, and a rare disaster counts no more than a slightly worse sample.

    `start` are the `multipliers` of the last update; the `ridge` is as in `sprl_weights`.
    """
    epsilon, clamped = _clamp(epsilon, len(rewards))
    unit = _unit(rewards, epsilon)
    scaled = (rewards - rewards.max()) / unit
    dual = creps_dual(scaled, features, mean_features, epsilon=epsilon, ridge=ridge)
    floor = max(ETA_FLOOR, temperature_floor * deviation_of(scaled))
    first = _warm_start(start, dual, unit)
    if first is None:
        first = np.concatenate([[max(1.0, floor)], np.zeros(features.shape[1])])
    minimum = minimise(dual, first, floor)
    return Weights(
        policy=minimum.maxima[0].weights,
        contexts=np.full(len(rewards), 1 / len(rewards)),
        eta_p=unit * float(minimum.z[0]),
        eta_mu=0.0,
        multipliers=unit * minimum.z,
        steps=minimum.steps,
        gradient=minimum.gradient,
        converged=minimum.converged,
        clamped=clamped,
    )


def _warm_start(last: Array | None, dual: Dual, unit: float) -> Array | None:
    """The multipliers of the `last` update in the new unit of reward; None if none fit `dual`.

    If rewards have become smaller by many decades since then, they are too far away to begin with.
    The etas become the best ones for the last v, since new samples change them most and finding
    them costs less than a step with a Hessian.
    """
    if last is None or last.shape != dual.linear.shape:
        return None
    with np.errstate(over="ignore"):
        scaled = last / unit
    if not np.abs(scaled).max() < FAR:
        return None
    V = dual.features @ scaled[len(dual.terms) :]
    for i, term in enumerate(dual.terms):
        tau = temperature(term.base + term.sign * V, dual.linear[i], ROUGH)
        scaled[i] = max(tau - term.offset, 0.0)
    return scaled


def effective_samples(weights: Array) -> float:
    """1 / sum_i w_i^2 for `weights` (n,) that sum to 1: how many equal samples they are worth."""
    return 1.0 / float(weights @ weights)


def _clamp(epsilon: float, samples: int) -> tuple[float, bool]:
    """epsilon, at most LARGEST_SHARE of log(samples), and True if it was lowered to that.

    log(samples) is the KL from uniform weights of a single sample with all weight; no KL is larger.
    """
    largest = max(LARGEST_SHARE * float(np.log(samples)), 1e-12)
    return (largest, True) if epsilon > largest else (epsilon, False)


def _unit(rewards: Array, epsilon: float) -> float:
    """The unit of reward of the scaled dual: the temperature of the problem at V = 0.

    The standard deviation would not do: after one outlier of -1e8 all other rewards would seem
    equal.
    """
    ties = np.count_nonzero(rewards == rewards.max())
    reachable = 0.5 * float(np.log(len(rewards) / ties))
    return temperature(rewards, min(epsilon, reachable), ROUGH) if reachable > 0 else 1.0
