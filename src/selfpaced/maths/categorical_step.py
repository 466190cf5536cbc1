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

import numpy as np

from selfpaced.maths.arrays import Array

HALVINGS = 16  # halvings by which the temperature is found
SHORTER = 8  # halvings by which s is found, for each of which c is found
NEWTON = 20  # steps, at most, for the least c that reaches the threshold
ACCURACY = 1e-3  # of the threshold, as a share of the values' range
LARGEST_C = 1e6  # beyond it all probability is on the most valuable tasks


def tilted(log_p: Array, tilt: Array) -> Array:
    """(K,): the logarithm of p_k exp(tilt_k), normalised."""
    logs = log_p + tilt
    logs -= logs.max()
    return logs - np.log(np.exp(logs).sum())


def kl(log_p: Array, log_q: Array) -> float:
    """KL(p || q), in nats."""
    return float(np.exp(log_p) @ (log_p - log_q))


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
    # The KL falls as the temperature rises; it is at most 2 log K below the first bound.
    low, high = np.log(max(alpha, 1e-9 * spread)), np.log(max(alpha, spread) / epsilon + spread)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if kl(at(float(np.exp(middle))), log_p) <= epsilon else (middle, high)
        )
    return at(float(np.exp(high)))


def step_to_target(
    log_p: Array, log_mu: Array, values: Array, threshold: float, epsilon: float
) -> Array:
    """(K,): argmin of KL(p' || mu) subject to E_p'[V] >= threshold and KL(p' || p) <= epsilon.

    Where no p' within the KL bound reaches the threshold, the result is the one of highest value.
    """
    pull = log_mu - log_p
    if kl(reaching(log_p, values, threshold), log_p) > epsilon:
        return step_by_alpha(log_p, log_mu, values, 0.0, epsilon)

    def at(s: float) -> Array:
        return reaching(tilted(log_p, s * pull), values, threshold)

    return _furthest(at, log_p, epsilon)


def step_towards(log_p: Array, log_aim: Array, epsilon: float) -> Array:
    """(K,): the blend p^(1 - s) aim^s nearest to the aim with KL(p' || p) <= epsilon."""
    pull = log_aim - log_p
    return _furthest(lambda s: tilted(log_p, s * pull), log_p, epsilon)


def _furthest(at: Callable[[float], Array], log_p: Array, epsilon: float) -> Array:
    """`at(s)` for the largest s in [0, 1] with KL(at(s) || p) <= epsilon."""
    whole = at(1.0)
    if kl(whole, log_p) <= epsilon:
        return whole
    low, high, found = 0.0, 1.0, at(0.0)
    for _ in range(SHORTER):
        middle = (low + high) / 2
        there = at(middle)
        if kl(there, log_p) <= epsilon:
            low, found = middle, there
        else:
            high = middle
    return found


def reaching(log_q: Array, values: Array, threshold: float) -> Array:
    """(K,): q_k exp(c V_k), normalised, with the least c >= 0 whose expected value is `threshold`.

    Where even the most valuable task is worth less, all probability goes to such tasks.
    """
    shares = np.exp(log_q)
    mean = float(shares @ values)
    if mean >= threshold:
        return log_q
    if values.max() <= threshold:
        return tilted(log_q, LARGEST_C * (values - values.max()))
    c, low, high, logs = 0.0, 0.0, LARGEST_C, log_q
    near = ACCURACY * float(np.ptp(values))
    for _ in range(NEWTON):
        variance = float(shares @ (values - mean) ** 2)
        step = (threshold - mean) / variance if variance > 1e-12 else np.inf
        c = c + step if low < c + step < high else (low + min(high, 2 * low + 10.0)) / 2
        logs = tilted(log_q, c * values)
        shares = np.exp(logs)
        mean = float(shares @ values)
        low, high = (c, high) if mean < threshold else (low, c)
        if abs(mean - threshold) < near:
            break
    return logs
