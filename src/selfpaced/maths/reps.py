"""The duals of SPRL and C-REPS: one soft maximum, one Newton minimiser, the sample weights.

Both duals are sums of soft maxima over the samples, linear terms and a ridge on v, where
V(c) = phi(c)^T v. Value, gradient, Hessian and sample weights all fall out of the soft maximum.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.optimize import brentq

from selfpaced.maths.arrays import Array, BoolArray

TOLERANCE = 1e-7  # largest |projected gradient| of the scaled dual at which Newton stops
ETA_FLOOR = 1e-6  # lower bound of the temperatures in the scaled dual
UNSEEN = 1e-10  # features with no larger value among the samples are left out of the dual
ROUGH = 0.03  # accuracy of temperatures that only set a scale or a start
LARGEST_SHARE = 0.9  # of log(samples), the largest KL that weights over the samples may be asked

PolicyWeights = Literal["creps", "derived"]


class SoftMax(NamedTuple):
    """The soft maximum of x at temperature eta."""

    value: float  # eta log E[exp(x / eta)]
    weights: Array  # its gradient in x: the sample weights, which sum to 1
    kl: float  # minus its derivative in eta: KL(weights || uniform)


def soft_max(x: Array, eta: float) -> SoftMax:
    """eta log E[exp(x / eta)] over the samples x (N,), with both its derivatives."""
    top = float(x.max())
    shifted = (x - top) / eta
    weights = np.exp(shifted)
    total = float(weights.sum())
    weights /= total
    log_mean = float(np.log(total / len(x)))
    return SoftMax(top + eta * log_mean, weights, max(float(weights @ shifted) - log_mean, 0.0))


def temperature(x: Array, epsilon: float, accuracy: float = 1e-10) -> float:
    """The eta that minimises eta epsilon + soft_max(x, eta): KL(weights || uniform) = epsilon.

    The KL falls from log(N / k) at eta = 0, k being the number of largest x, to 0. If epsilon is
    not below log(N / k) the bound is inactive and the answer is a vanishing temperature that
    weighs the k largest alike; if all x are equal any temperature does. `accuracy` is relative.
    """
    gaps = x.max() - x
    mean_gap = float(gaps.mean())
    if mean_gap == 0.0:
        return 1.0
    if epsilon >= np.log(len(x) / np.count_nonzero(gaps == 0.0)):
        return float(gaps[gaps > 0.0].min()) * 1e-3

    def excess(log_eta: float) -> float:
        kl = soft_max(x, float(np.exp(log_eta))).kl
        return float(np.log(max(kl, 1e-300) / epsilon))

    high = float(np.log(mean_gap / epsilon))  # KL <= mean gap / eta, by Jensen
    low = high - 2.0
    while excess(low) < 0.0:
        high, low = low, low - 2.0
    return float(np.exp(brentq(excess, low, high, xtol=accuracy, rtol=1e-14)))


@dataclass(frozen=True)
class Term:
    """One soft maximum of a dual: over x = base + sign V, at temperature eta + offset."""

    base: Array  # (N,)
    sign: float
    offset: float


class Evaluation(NamedTuple):
    """A dual at one point. The Hessian costs more than the rest and is made on demand."""

    value: float
    gradient: Array  # in z = (one eta per term, v)
    maxima: list[SoftMax]
    hessian: Callable[[], Array]


@dataclass(frozen=True)
class Dual:
    """A function of z = (one eta per term, v), convex for eta > -offset."""

    terms: tuple[Term, ...]
    features: Array  # (N, m): phi(c) of every sample
    linear: Array  # coefficients of z
    ridge: float

    def __call__(self, z: Array) -> Evaluation:
        k = len(self.terms)
        v = z[k:]
        V = self.features @ v
        xs = [term.base + term.sign * V for term in self.terms]
        taus = [term.offset + eta for term, eta in zip(self.terms, z[:k], strict=True)]
        maxima = [soft_max(x, tau) for x, tau in zip(xs, taus, strict=True)]
        value = self.linear @ z + self.ridge * (v @ v) + sum(m.value for m in maxima)
        pull = sum(t.sign * m.weights for t, m in zip(self.terms, maxima, strict=True))
        gradient = self.linear.copy()
        gradient[:k] -= [m.kl for m in maxima]
        gradient[k:] += 2 * self.ridge * v + self.features.T @ pull

        def hessian() -> Array:
            H = np.zeros((len(z), len(z)))
            curvature = sum(m.weights / tau for m, tau in zip(maxima, taus, strict=True))
            rows = self.features * np.sqrt(curvature)[:, None]
            H[k:, k:] = rows.T @ rows  # both soft maxima in one weighted Gram matrix
            for i, (term, x, tau, m) in enumerate(zip(self.terms, xs, taus, maxima, strict=True)):
                deviation = x - m.weights @ x
                spread = m.weights * deviation
                means = self.features.T @ np.stack([m.weights, spread], axis=1)
                H[k:, k:] -= means[:, :1] * (means[:, 0] / tau)
                H[k:, i] = H[i, k:] = -term.sign * means[:, 1] / tau**2
                H[i, i] = spread @ deviation / tau**3
            H.flat[k * (len(z) + 1) :: len(z) + 1] += 2 * self.ridge  # the diagonal of v
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
    """G(eta_p, eta_mu, V) of Eq. 9 (eq:sprl_dual), with log_ratio = log mu(c) - log q(c).

    (eta_p + eta_mu) eps + soft_max(A, eta_p) + soft_max(beta, alpha + eta_mu), where A = R - V
    and beta = alpha log_ratio + V (Eq. 8). G is convex and is minimised, as Sec. 3.1 says;
    Algorithm 1 prints argmax.
    """
    policy = Term(rewards, -1.0, 0.0)
    contexts = Term(alpha * log_ratio, 1.0, alpha)
    linear = np.r_[epsilon, epsilon, np.zeros(features.shape[1])]
    return Dual((policy, contexts), features, linear, ridge)


def creps_dual(
    rewards: Array, features: Array, mean_features: Array, *, epsilon: float, ridge: float
) -> Dual:
    """The C-REPS dual of Sec. 2, eta eps + E_mu[V(c)] + soft_max(R - V, eta).

    The paper's formula leaves out E_mu[V(c)] = mean_features^T v, without which the dual falls
    without bound as V grows; see test_duals_ignore_a_constant_shift_of_V.
    """
    return Dual((Term(rewards, -1.0, 0.0),), features, np.r_[epsilon, mean_features], ridge)


class Minimum(NamedTuple):
    """Where a minimiser stopped, and how well that is a minimum."""

    z: Array
    maxima: list[SoftMax]
    steps: int
    gradient: float  # largest |projected gradient|
    converged: bool


def minimise(dual: Dual, start: Array, floor: float = ETA_FLOOR) -> Minimum:
    """The minimum of `dual` over v and eta >= floor, by Newton's method from `start`.

    With few samples and vanishing temperatures the soft maxima turn into maxima, whose corners
    stop Newton's method. Then the floor is lowered to its value step by step, each solve
    starting at the last one's answer.
    """
    # Features that no sample sees (contexts far from their centres) have no say: v = 0 there.
    k = len(dual.terms)
    seen = np.maximum(np.abs(dual.features).max(axis=0), np.abs(dual.linear[k:])) > UNSEEN
    if not seen.all():
        kept = np.r_[np.ones(k, dtype=bool), seen]
        inner = minimise(
            replace(dual, features=dual.features[:, seen], linear=dual.linear[kept]),
            start[kept],
            floor,
        )
        z = np.zeros_like(start)
        z[kept] = inner.z
        return inner._replace(z=z)
    minimum = _newton(dual, start, floor)
    steps, z = minimum.steps, np.zeros_like(start)
    for lower in () if minimum.converged else np.geomspace(max(1.0, floor), floor, 13):
        minimum = _newton(dual, z, float(lower))
        steps, z = steps + minimum.steps, minimum.z
    return minimum._replace(steps=steps)


def _newton(dual: Dual, start: Array, floor: float, max_steps: int = 50) -> Minimum:
    """Newton's method over v and eta >= floor.

    A temperature at its floor and pushed against it is held there. A step takes no temperature
    below a tenth of itself, since the soft maximum is singular at zero.
    """
    k = len(dual.terms)
    offsets = np.array([term.offset for term in dual.terms])
    z = start.copy()
    z[:k] = np.maximum(z[:k], floor)
    point = dual(z)
    projected, steps = _projected(point.gradient, z, k, floor), 0
    while np.abs(projected).max() > TOLERANCE and steps < max_steps:
        steps += 1
        hessian = point.hessian()
        # Where one sample has all the weight there is no curvature: grow tenfold at most.
        least_curvature = np.abs(point.gradient[:k]) / (10.0 * (z[:k] + offsets))
        for i in range(k):
            hessian[i, i] = max(hessian[i, i], least_curvature[i])
        at_floor = z[:k] <= floor
        held = at_floor & (point.gradient[:k] > 0)
        direction = _newton_direction(hessian, point.gradient, held)
        blocked = at_floor & (direction[:k] < 0)
        if blocked.any():
            direction = _newton_direction(hessian, point.gradient, held | blocked)
        least = np.maximum(floor, 0.1 * (z[:k] + offsets) - offsets)
        moved = _line_search(dual, z, point, direction, least)
        if moved is None:
            break  # no step lowers the dual any more: rounding has the last word
        z, point = moved
        projected = _projected(point.gradient, z, k, floor)
    largest = float(np.abs(projected).max())
    return Minimum(z, point.maxima, steps, largest, largest <= TOLERANCE)


def _projected(gradient: Array, z: Array, k: int, floor: float) -> Array:
    """The gradient without what pushes one of the k temperatures against the floor."""
    projected = gradient.copy()
    projected[:k] = np.where(z[:k] <= floor, np.minimum(gradient[:k], 0.0), gradient[:k])
    return projected


def _newton_direction(hessian: Array, gradient: Array, held: BoolArray) -> Array:
    """-H^-1 g, the held temperatures standing still; scaled to a unit diagonal, then jittered."""
    n = len(gradient)
    scale = 1.0 / np.sqrt(np.maximum(hessian.diagonal(), 1e-300))
    H = hessian * scale * scale[:, None]
    right = -gradient * scale
    for i in np.flatnonzero(held):
        H[i] = H[:, i] = right[i] = 0.0
    jitter = 1e-13
    while True:
        H.flat[:: n + 1] = 1.0 + jitter
        _, solution, info = dposv(H, right)
        if info == 0:
            return solution * scale
        jitter *= 100.0


def _line_search(
    dual: Dual, z: Array, point: Evaluation, direction: Array, least: Array
) -> tuple[Array, Evaluation] | None:
    """The first of the steps 1, 1/4, 1/16, ... along `direction` that makes enough progress.

    Along the line the dual is convex, so a slope that is still downhill means progress; so does
    Armijo's rule; and where the values agree to rounding, a slope that has halved.
    """
    k = len(least)
    slope = float(point.gradient @ direction)
    if not slope < 0.0:
        return None
    down = direction[:k] < 0
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(down, (least - z[:k]) / np.where(down, direction[:k], -1.0), np.inf)
    t = min(1.0, float(room.min()))
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
    """What a dual says of the samples."""

    policy: Array  # (N,), sums to 1
    contexts: Array  # (N,), sums to 1
    eta_p: float
    eta_mu: float
    multipliers: Array  # where the dual is least, in units of reward: the next warm start
    steps: int
    gradient: float  # largest |projected gradient| of the scaled dual
    converged: bool
    clamped: bool  # epsilon exceeded what so few samples allow


def reps_weights(rewards: Array, epsilon: float) -> Weights:
    """Weights of plain REPS: minimise eta eps + soft_max(R, eta) over eta alone.

    This is SPRL at alpha = 0. There nothing ties the contexts down, so the optimum of the joint
    problem has V = 0 and one temperature for policy and contexts. The dual of Eq. 9 is degenerate
    there: it drives V and eta_mu to 0 together, and only their ratio would set the weights.
    """
    epsilon, clamped = _clamp(epsilon, len(rewards))
    eta = temperature(rewards, epsilon)
    weights, kl = soft_max(rewards, eta)[1:]
    inactive = kl < epsilon  # the temperature vanished: the bound does not bind
    gradient = 0.0 if inactive else abs(kl - epsilon)
    none = np.zeros(0)
    return Weights(weights, weights, eta, eta, none, 0, gradient, gradient <= 1e-6, clamped)


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
    """Sample weights of Algorithm 1 at the minimum of `sprl_dual`; `start` the last multipliers.

    "creps": w_pi = exp(A / eta_p), as the paper's experiments. "derived": the weights that
    follow from the optimality conditions (appendix A), exp(A / eta_p - beta / (alpha + eta_mu)).
    At alpha = 0 both are those of REPS: with V = 0, beta is 0 and there is nothing to divide by.
    The ridge is in units of the reward's temperature, so that scaled rewards learn alike.
    """
    if alpha == 0.0:
        return reps_weights(rewards, epsilon)
    epsilon, clamped = _clamp(epsilon, len(rewards))
    unit = _unit(rewards, epsilon)
    alpha = alpha / unit
    scaled = (rewards - rewards.max()) / unit  # a shift of the rewards changes nothing
    dual = sprl_dual(scaled, log_ratio, features, alpha=alpha, epsilon=epsilon, ridge=ridge)
    eta_mu = max(temperature(alpha * log_ratio, epsilon, ROUGH) - alpha, 0.0)
    cold = np.r_[1.0, eta_mu, np.zeros(features.shape[1])]
    minimum = minimise(dual, _start(cold, start, unit))
    eta_p, eta_mu, v = float(minimum.z[0]), float(minimum.z[1]), minimum.z[2:]
    w_policy, w_contexts = (m.weights for m in minimum.maxima)
    if policy_weights == "derived":
        V = features @ v
        exponent = (scaled - V) / eta_p - (alpha * log_ratio + V) / (alpha + eta_mu)
        w_policy = soft_max(exponent, 1.0).weights
    return Weights(
        w_policy,
        w_contexts,
        unit * eta_p,
        unit * eta_mu,
        unit * minimum.z,
        minimum.steps,
        minimum.gradient,
        minimum.converged,
        clamped,
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
    """Sample weights of C-REPS at the minimum of `creps_dual`; `start` the last multipliers.

    `temperature_floor` keeps eta above that many standard deviations of the rewards. Without it
    eta follows the best samples' last digits and rare disasters cost nothing: all samples that
    are worse than those have no weight, whether by a hair or by a hundred.
    """
    epsilon, clamped = _clamp(epsilon, len(rewards))
    unit = _unit(rewards, epsilon)
    scaled = (rewards - rewards.max()) / unit
    dual = creps_dual(scaled, features, mean_features, epsilon=epsilon, ridge=ridge)
    floor = max(ETA_FLOOR, temperature_floor * float(scaled.std()))
    cold = np.r_[max(1.0, floor), np.zeros(features.shape[1])]
    minimum = minimise(dual, _start(cold, start, unit), floor)
    weights = minimum.maxima[0].weights
    return Weights(
        weights,
        np.full(len(rewards), 1 / len(rewards)),
        unit * float(minimum.z[0]),
        0.0,
        unit * minimum.z,
        minimum.steps,
        minimum.gradient,
        minimum.converged,
        clamped,
    )


def _start(cold: Array, last: Array | None, unit: float) -> Array:
    """The last multipliers in the new unit; without any, the cold start."""
    return cold if last is None or last.shape != cold.shape else last / unit


def effective_samples(weights: Array) -> float:
    """1 / sum w^2 of weights that sum to 1: how many equal samples they are worth."""
    return 1.0 / float(weights @ weights)


def _clamp(epsilon: float, samples: int) -> tuple[float, bool]:
    """epsilon, or LARGEST_SHARE of log(samples): weights cannot be log(samples) from uniform."""
    largest = max(LARGEST_SHARE * float(np.log(samples)), 1e-12)
    return (largest, True) if epsilon > largest else (epsilon, False)


def _unit(rewards: Array, epsilon: float) -> float:
    """The reward that counts as 1 in the scaled dual: the temperature of the problem at V = 0.

    The standard deviation would not do: one outlier of -1e8 would hide all other differences.
    """
    ties = np.count_nonzero(rewards == rewards.max())
    reachable = 0.5 * float(np.log(len(rewards) / ties))
    return temperature(rewards, min(epsilon, reachable), ROUGH) if reachable > 0 else 1.0
