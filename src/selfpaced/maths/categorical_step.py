"""The self-paced step over a finite set of tasks, in closed form.

With the probabilities p_k of K tasks now, mu_k in the target, and the estimated values V_k, all
forms have a solution of one shape,

    p'_k  proportional to  p_k exp(s (log mu_k - log p_k) + c V_k),    0 <= s <= 1,  c >= 0.

The paper's form, max_p' sum_k p'_k V_k - alpha KL(p' || mu) subject to KL(p' || p) <= epsilon, has
s = alpha / (alpha + eta) and c = 1 / (alpha + eta), with the least multiplier eta >= 0 that keeps
the bound. The threshold form, min_p' KL(p' || mu) subject to sum_k p'_k V_k >= V_LB and
KL(p' || p) <= epsilon, has the largest s within the bound, and with it the least c that reaches
V_LB. The mastery rule's step towards mu is the largest s with c = 0.

Probabilities are passed as logarithms.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array

STEPS = 15  # at most, by which the KL is brought to its bound
CLOSE, AIMED = 0.99, 0.995  # shares of the bound: where to stop, and where to aim
RESOLVED = 1e-3  # share of s within which it is not searched any further
NEWTON = 20  # steps, at most, for the least c that reaches the threshold
ACCURACY = 1e-3  # of the threshold, as a share of the values' range
LARGEST_C = 1e6  # beyond it all probability is on the most valuable tasks
LEAST = -50.0  # log-probability of tasks that the target does not name
AT_ONCE = 100  # tasks of the target whose distances to all others are computed together


def tilted(log_p: Array, tilt: Array) -> Array:
    """(K,): the logarithm of p_k exp(tilt_k), normalised."""
    logs = log_p + tilt
    logs -= logs.max()
    return logs - np.log(np.exp(logs).sum())


def kl(log_p: Array, log_q: Array) -> float:
    """KL(p || q), in nats."""
    return float(np.exp(log_p) @ (log_p - log_q))


def widened(log_mu: Array, places: Array, least: float) -> Array:
    """(K,): a wider target, in which every task shares its probability with those around it.

    The tasks are at `places` (K, e) in the unit cube. The shares are those of a Gaussian whose
    standard deviation is the median distance from a task to the nearest other one, and at least
    `least`.
    """
    from scipy.spatial import KDTree  # takes a moment to load

    if len(places) < 2:
        return log_mu
    nearest = np.asarray(KDTree(places).query(places, k=2)[0])[:, 1]
    deviation = max(least, float(np.median(nearest)))
    mu, wide = np.exp(log_mu), np.zeros(len(log_mu))
    wanted = np.flatnonzero(log_mu > LEAST + 1.0)
    for first in range(0, len(wanted), AT_ONCE):
        rows = wanted[first : first + AT_ONCE]
        squares = ((places[rows, None, :] - places) ** 2).sum(axis=2)
        shares = np.exp(-squares / (2.0 * deviation**2))
        wide += (mu[rows] / shares.sum(axis=1)) @ shares
    return tilted(np.log(np.maximum(wide, np.exp(LEAST))), np.zeros(len(wide)))


def step_by_alpha(
    log_p: Array, log_mu: Array, values: Array, alpha: float, epsilon: float
) -> Array:
    """(K,): argmax of sum_k p'_k V_k - alpha KL(p' || mu) subject to KL(p' || p) <= epsilon."""
    beta = alpha * (log_mu - log_p) + values
    spread = float(np.ptp(beta))
    if spread == 0.0:
        return log_p

    def at(total: float) -> Array:  # total = alpha + eta
        return tilted(log_p, beta / total)

    if alpha > 0.0 and kl(at(alpha), log_p) <= epsilon:
        return at(alpha)
    # For high temperatures the KL is about Var(beta) / (2 total^2).
    p = np.exp(log_p)
    variance = float(p @ (beta - p @ beta) ** 2)
    return _on_the_bound(at, log_p, epsilon, np.sqrt(variance / (2 * epsilon)) or spread, -2.0)


def step_to_target(
    log_p: Array, log_mu: Array, values: Array, threshold: float, epsilon: float
) -> Array:
    """(K,): argmin of KL(p' || mu) subject to E_p'[V] >= threshold and KL(p' || p) <= epsilon.

    Where no p' within the KL bound reaches the threshold, the result is the one of highest value.
    """
    pull, powers, c = log_mu - log_p, powers_of(values), 0.0

    def at(s: float) -> Array:
        nonlocal c  # neighbouring s have neighbouring c
        found, c = reaching(tilted(log_p, s * pull), powers, threshold, c)
        return found

    nearest = at(0.0)
    if kl(nearest, log_p) > epsilon:
        return step_by_alpha(log_p, log_mu, values, 0.0, epsilon)
    return _furthest(at, nearest, log_p, epsilon)


def step_towards(log_p: Array, log_aim: Array, epsilon: float) -> Array:
    """(K,): the blend p^(1 - s) aim^s nearest to the aim with KL(p' || p) <= epsilon."""
    pull = log_aim - log_p
    return _furthest(lambda s: tilted(log_p, s * pull), log_p, log_p, epsilon)


def _furthest(at: Callable[[float], Array], nearest: Array, log_p: Array, epsilon: float) -> Array:
    """`at(s)` for the largest s in [0, 1] with KL(at(s) || p) <= epsilon, or just below it.

    `nearest` is at(0), which is within the bound. The root of the KL is nearly linear in s, so s
    is found by false position. Where one end of the interval stays, its value is halved
    (the Illinois method), so that the interval shrinks from both ends.
    """
    whole = at(1.0)
    if kl(whole, log_p) <= epsilon:
        return whole
    aim = np.sqrt(AIMED * epsilon)

    def missed_by(found: Array) -> float:
        return float(np.sqrt(max(kl(found, log_p), 0.0)) - aim)

    low, below, high, above = 0.0, missed_by(nearest), 1.0, missed_by(whole)
    found, moved = nearest, 0  # -1 if the lower end moved last, 1 if the upper one did
    for _ in range(STEPS):
        if below >= 0.0 or high - low < RESOLVED * high:
            break
        s = low - below * (high - low) / (above - below)
        there = at(s)
        miss = missed_by(there)
        if (aim + miss) ** 2 <= epsilon:
            low, below, found = s, miss, there
            if (aim + miss) ** 2 >= CLOSE * epsilon:
                break
            above, moved = (above / 2 if moved == -1 else above), -1
        else:
            high, above = s, miss
            below, moved = (below / 2 if moved == 1 else below), 1
    return found


def _on_the_bound(
    at: Callable[[float], Array], log_p: Array, epsilon: float, start: float, power: float
) -> Array:
    """`at(x)` for an x > 0 with KL(at(x) || p) just below epsilon.

    The KL changes about as x^power, which gives the next x; bisection of log x takes over where
    that leaves the interval that is known to hold the solution.
    """
    inside, outside, x = -np.inf, np.inf, float(np.log(start))
    if power < 0.0:
        inside, outside = outside, inside
    found = log_p
    for _ in range(STEPS):
        there = at(float(np.exp(x)))
        far = kl(there, log_p)
        if far <= epsilon:
            inside, found = x, there
            if far >= CLOSE * epsilon:
                break
        else:
            outside = x
        x += float(np.log(AIMED * epsilon / max(far, 1e-300))) / power
        if np.isfinite(inside + outside) and not min(inside, outside) < x < max(inside, outside):
            x = (inside + outside) / 2
    return found


class Powers(NamedTuple):
    """Values of tasks minus the best one, so that no exponential overflows, and their powers."""

    best: float
    """The largest value."""
    values: Array
    """(K,): the values minus the best one."""
    columns: Array
    """(K, 3): these to the powers 0, 1 and 2, whose weighted sums are total, mean and variance."""


def powers_of(values: Array) -> Powers:
    """The `values` (K,), prepared for `reaching`."""
    best = float(values.max())
    lower = values - best
    return Powers(best, lower, np.stack([np.ones(len(lower)), lower, lower * lower], axis=1))


def reaching(
    log_q: Array, powers: Powers, threshold: float, start: float = 0.0
) -> tuple[Array, float]:
    """q_k exp(c V_k), normalised, with the least c >= 0 whose expected value is `threshold`; and c.

    Newton's method begins at c = `start`. Where even the most valuable task is worth less than the
    threshold, all probability goes to such tasks.
    """
    lower, wanted = powers.values, threshold - powers.best
    if np.exp(log_q) @ lower >= wanted:
        return log_q, 0.0
    if wanted >= 0.0:
        return tilted(log_q, LARGEST_C * lower), start
    c, low, high = start, 0.0, LARGEST_C
    near = -ACCURACY * float(lower.min())
    logs, total = log_q, 1.0
    for _ in range(NEWTON):
        logs = log_q + c * lower
        total, first, second = (np.exp(logs) @ powers.columns).tolist()
        mean = first / total
        if abs(mean - wanted) < near:
            break
        low, high = (c, high) if mean < wanted else (low, c)
        variance = second / total - mean**2
        step = (wanted - mean) / variance if variance > 1e-12 else np.inf
        c = c + step if low < c + step < high else (low + min(high, 2 * low + 10.0)) / 2
    return logs - np.log(total), c
