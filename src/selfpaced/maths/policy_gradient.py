"""The objective of PPO (Schulman et al., 2017) with its exact gradients, and advantages (GAE)."""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import BoolArray
from selfpaced.maths.perceptron import Floats

HALF_LOG_2_PI = 0.5 * float(np.log(2.0 * np.pi))


def log_probabilities(actions: Floats, means: Floats, log_std: Floats) -> Floats:
    """(n,): log N(a | mean, diag(exp(2 log_std))) of each of the `actions` (n, d)."""
    return _log_density((actions - means) / np.exp(log_std), log_std)


def _log_density(z: Floats, log_std: Floats) -> Floats:
    """(n,): log-densities of samples that are z (n, d) standard deviations away from the mean."""
    constant = log_std.sum() + len(log_std) * HALF_LOG_2_PI
    return -0.5 * np.einsum("ij,ij->i", z, z) - constant


class Surrogate(NamedTuple):
    """PPO's clipped objective on a minibatch, and its gradients."""

    by_means: Floats
    """(n, d): the gradient of the loss in the means of the actions, or in their scores."""
    by_log_std: Floats
    """(d,): the gradient of the loss in the logarithms of the standard deviations, if any."""
    ratios: Floats
    """(n,): r_i."""
    terms: Floats
    """(n,): min(r_i A_i, clip(r_i, 1 - c, 1 + c) A_i)."""
    clip: float
    """c: how far a ratio may go from 1."""

    @property
    def loss(self) -> float:
        """Minus the mean of the `terms`."""
        return -float(self.terms.mean())

    @property
    def clipped(self) -> float:
        """The share of samples whose ratio is farther than c from 1."""
        return float((np.abs(self.ratios - 1.0) > self.clip).mean())


def surrogate(
    actions: Floats,
    means: Floats,
    log_std: Floats,
    old_log_probabilities: Floats,
    advantages: Floats,
    clip: float,
) -> Surrogate:
    """PPO's loss of a Gaussian policy with the ratios r_i = pi(a_i | s_i) / pi_old(a_i | s_i)."""
    deviation = np.exp(log_std)
    z = (actions - means) / deviation
    ratios = np.exp(_log_density(z, log_std) - old_log_probabilities)
    by_log_ratio, terms = clipped_terms(ratios, advantages, clip)
    pulled = by_log_ratio[:, None] * z
    return Surrogate(
        by_means=pulled / deviation,
        by_log_std=np.einsum("ij,ij->j", pulled, z) - by_log_ratio.sum(),
        ratios=ratios,
        terms=terms,
        clip=clip,
    )


def clipped_terms(ratios: Floats, advantages: Floats, clip: float) -> tuple[Floats, Floats]:
    """(n,) each: the gradient of PPO's loss in the log-ratios, and the `Surrogate.terms`.

    A sample has no gradient where its ratio has left [1 - c, 1 + c], c = `clip`, in the direction
    that its advantage A_i asks for.
    """
    bounded = np.minimum(np.maximum(ratios, 1.0 - clip), 1.0 + clip)
    free, held = ratios * advantages, bounded * advantages
    by_log_ratio = np.where(free <= held, free, 0.0) / free.dtype.type(-len(free))
    return by_log_ratio, np.minimum(free, held)


def mean_kl(old_means: Floats, old_log_std: Floats, means: Floats, log_std: Floats) -> float:
    """The mean over rows of KL(old || new) of two Gaussian policies, in nats.

    It is exact for each row. Estimates from the actions are so noisy for small minibatches that
    a bound on them ends updates by chance.
    """
    apart = (old_means - means) / np.exp(log_std)
    shrunk = old_log_std - log_std
    squares = float(np.einsum("ij,ij->", apart, apart)) / len(means)
    return 0.5 * (squares + float((np.exp(2.0 * shrunk) - 1.0 - 2.0 * shrunk).sum()))


def generalised_advantages(
    rewards: Floats, values: Floats, last_values: Floats, over: BoolArray, gamma: float, lam: float
) -> Floats:
    """(T, n): advantages A_t = sum_k (gamma lambda)^k delta_{t+k} within each episode.

    delta_t = r_t + gamma V(s_{t+1}) - V(s_t), with V = 0 after an episode's end. `rewards`,
    `values` and `over` are (T, n): steps, then environments. `last_values` (n,) belong to the
    states after the last step. Where a time limit ended an episode, the reward must contain
    gamma V already.
    """
    advantages = np.zeros_like(values)
    running, following = np.zeros_like(last_values), last_values
    for t in range(len(rewards) - 1, -1, -1):
        goes_on = ~over[t]
        delta = rewards[t] + gamma * following * goes_on - values[t]
        running = delta + gamma * lam * goes_on * running
        advantages[t], following = running, values[t]
    return advantages
