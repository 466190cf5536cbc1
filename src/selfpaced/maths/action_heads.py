"""How a network's outputs become actions: the parts of PPO that depend on the kind of action.

`GaussianHead` takes outputs for means of a Gaussian, `CategoricalHead` for scores of a softmax.
Both have a vector `log_std` beside the network's outputs, which is empty for the softmax.
"""

from typing import Protocol

import numpy as np

from selfpaced.maths.perceptron import Floats
from selfpaced.maths.policy_gradient import (
    Surrogate,
    clipped_terms,
    log_probabilities,
    mean_kl,
    surrogate,
)


class ActionHead(Protocol):
    """A family of distributions over actions, with PPO's objective for it."""

    outputs: int
    """Outputs of the network."""
    deviations: int
    """The length of `log_std`."""
    columns: int
    """Numbers of an action."""

    def noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """(*shape, outputs): the random numbers of as many actions."""
        ...

    def actions(self, outputs: Floats, log_std: Floats, noise: Floats) -> Floats:
        """(n, columns): the actions that `noise` (n, outputs) chooses."""
        ...

    def log_probabilities(self, actions: Floats, outputs: Floats, log_std: Floats) -> Floats:
        """(n,): the log-probability of each of the `actions` (n, columns)."""
        ...

    def surrogate(
        self,
        actions: Floats,
        outputs: Floats,
        log_std: Floats,
        known: Floats,
        advantages: Floats,
        clip: float,
        entropy_weight: float,
    ) -> Surrogate:
        """PPO's clipped objective with its gradients, in which the mean entropy is rewarded.

        `known` (n,): the log-probabilities before the update.
        """
        ...

    def mean_kl(
        self, old_outputs: Floats, old_log_std: Floats, outputs: Floats, log_std: Floats
    ) -> float:
        """The mean over rows of KL(old || new), in nats."""
        ...


class GaussianHead:
    """Actions a ~ N(f(s), diag(exp(2 log_std))) for the network's outputs f(s)."""

    def __init__(self, dimension: int) -> None:
        self.outputs = self.deviations = self.columns = dimension

    def __repr__(self) -> str:
        return f"GaussianHead({self.outputs})"

    def noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """(*shape, outputs): standard normal random numbers."""
        return rng.standard_normal((*shape, self.outputs), dtype=np.float32)

    def actions(self, outputs: Floats, log_std: Floats, noise: Floats) -> Floats:
        """(n, columns): the actions that `noise` (n, outputs) chooses."""
        return outputs + np.exp(log_std) * noise

    def log_probabilities(self, actions: Floats, outputs: Floats, log_std: Floats) -> Floats:
        """(n,): the log-density of each of the `actions` (n, columns)."""
        return log_probabilities(actions, outputs, log_std)

    def surrogate(
        self,
        actions: Floats,
        outputs: Floats,
        log_std: Floats,
        known: Floats,
        advantages: Floats,
        clip: float,
        entropy_weight: float,
    ) -> Surrogate:
        """PPO's clipped objective; the entropy is the sum of `log_std`, but for a constant."""
        found = surrogate(actions, outputs, log_std, known, advantages, clip)
        return found._replace(by_log_std=found.by_log_std - np.float32(entropy_weight))

    def mean_kl(
        self, old_outputs: Floats, old_log_std: Floats, outputs: Floats, log_std: Floats
    ) -> float:
        """The mean over rows of KL(old || new), in nats."""
        return mean_kl(old_outputs, old_log_std, outputs, log_std)


class CategoricalHead:
    """One of k actions, a ~ exp(f_a(s)) / sum_b exp(f_b(s)), for the network's scores f(s)."""

    def __init__(self, count: int) -> None:
        self.outputs, self.deviations, self.columns = count, 0, 1

    def __repr__(self) -> str:
        return f"CategoricalHead({self.outputs})"

    def noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """(*shape, outputs): Gumbel's noise, whose sum with the scores is largest at the action."""
        return rng.gumbel(size=(*shape, self.outputs)).astype(np.float32)

    def actions(self, outputs: Floats, log_std: Floats, noise: Floats) -> Floats:
        """(n, 1): the number of the action that `noise` (n, outputs) chooses."""
        return (outputs + noise).argmax(axis=1)[:, None].astype(np.float32)

    def log_probabilities(self, actions: Floats, outputs: Floats, log_std: Floats) -> Floats:
        """(n,): the log-probability of each of the `actions` (n, 1)."""
        return np.take_along_axis(_log_softmax(outputs), actions.astype(np.int64), axis=1)[:, 0]

    def surrogate(
        self,
        actions: Floats,
        outputs: Floats,
        log_std: Floats,
        known: Floats,
        advantages: Floats,
        clip: float,
        entropy_weight: float,
    ) -> Surrogate:
        """PPO's clipped objective with its gradient in the scores.

        d log pi(a) / d f_b = [a = b] - pi_b, and the entropy H has d H / d f_b =
        -pi_b (log pi_b + H).
        """
        log_pi = _log_softmax(outputs)
        pi = np.exp(log_pi)
        rows, chosen = np.arange(len(actions)), actions[:, 0].astype(np.int64)
        ratios = np.exp(log_pi[rows, chosen] - known)
        by_log_ratio, terms = clipped_terms(ratios, advantages, clip)
        by_scores = -by_log_ratio[:, None] * pi
        by_scores[rows, chosen] += by_log_ratio
        entropy = -np.einsum("ij,ij->i", pi, log_pi)
        by_scores += pi * (log_pi + entropy[:, None]) * pi.dtype.type(entropy_weight / len(pi))
        return Surrogate(by_scores, log_std, ratios, terms, clip)

    def mean_kl(
        self, old_outputs: Floats, old_log_std: Floats, outputs: Floats, log_std: Floats
    ) -> float:
        """The mean over rows of KL(old || new), in nats."""
        old = _log_softmax(old_outputs)
        apart = np.exp(old) * (old - _log_softmax(outputs))
        return float(apart.sum()) / len(outputs)


def _log_softmax(scores: Floats) -> Floats:
    """(n, k): log-probabilities of the softmax of `scores` (n, k)."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
