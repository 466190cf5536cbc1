"""The networks of SAC (Haarnoja et al., 2018) and one gradient step of them, in NumPy.

It is the step of Stable-Baselines3's SAC: two critics with slow copies, a squashed Gaussian
policy, and a temperature alpha that keeps the policy's entropy near a target.
"""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.perceptron import Adam, Floats
from selfpaced.maths.policy_gradient import HALF_LOG_2_PI
from selfpaced.maths.relu_networks import ReluNetworks, Scratch
from selfpaced.maths.squashed_network import LEAST_LOG_STD, MOST_LOG_STD
from selfpaced.types import State

TAU = 0.005  # share by which the slow critics follow in every step
EPSILON = 1e-8  # of Adam, as torch has it
LEAST_SLOPE = 1e-6  # is added to 1 - a^2 in the log-density, as in Stable-Baselines3


class Transitions(NamedTuple):
    """A batch for one gradient step, one transition per row."""

    observations: Floats
    """(n, o)"""
    actions: Floats
    """(n, d): in [-1, 1]."""
    rewards: Floats
    """(n,)"""
    following: Floats
    """(n, o): what was observed after the step."""
    ended: Floats
    """(n,): 1 where the step ended the episode, other than by a time limit; else 0."""


class Losses(NamedTuple):
    """What a gradient step was about."""

    critic: float
    """Half the mean squared errors of both critics."""
    actor: float
    """The mean of alpha log pi(a) - Q(a)."""
    temperature: float
    """alpha, before the step."""


class _Drawn(NamedTuple):
    """Actions of the policy, and how they came about."""

    outputs: list[Floats]
    """Those of the layers."""
    deviations: Floats
    """(n, d): exp(l)."""
    free: Floats
    """(n, d): 1 where l is within its bounds, so that it has a gradient; else 0."""
    actions: Floats
    """(n, d): a = tanh(m + exp(l) noise)."""
    slopes: Floats
    """(n, d): 1 - a^2."""
    log_probabilities: Floats
    """(n,): log pi(a)."""


class SACLearner:
    """Policy, critics and temperature, with their optimisers."""

    steps: int
    """Gradient steps so far."""

    def __init__(
        self,
        observed: int,
        actions: int,
        hidden: tuple[int, ...],
        gamma: float,
        learning_rate: float,
        rng: np.random.Generator,
    ) -> None:
        self._observed, self._dimension = observed, actions
        self._gamma, self._rate = np.float32(gamma), learning_rate
        policy = ReluNetworks(1, (observed, *hidden, 2 * actions))
        critics = ReluNetworks(2, (observed + actions, *hidden, 1))
        self._policy, self._critics = policy.initial(rng), critics.initial(rng)
        self._slow = self._critics.copy()
        self._by_policy = np.zeros_like(self._policy)
        self._by_critics = np.zeros_like(self._critics)
        self.policy_layers = policy.layers(self._policy)
        self._policy_gradients = policy.layers(self._by_policy)
        self._critic_layers = critics.layers(self._critics)
        self._slow_layers = critics.layers(self._slow)
        self._critic_gradients = critics.layers(self._by_critics)
        self._log_alpha = np.zeros(1, dtype=np.float32)
        sizes = len(self._policy), len(self._critics), 1
        self._scratch = Scratch()  # of the critics
        self._now, self._after = Scratch(), Scratch()  # of the policy, for actions that it draws
        self._adams = [Adam(size, EPSILON) for size in sizes]
        self.steps = 0

    def __repr__(self) -> str:
        return f"SACLearner({self.steps} gradient steps)"

    def act(self, observations: Floats, noise: Floats) -> Floats:
        """(n, d): actions in [-1, 1] for `observations` (n, o), with normal `noise` (n, d)."""
        return self._draw(observations, noise, Scratch()).actions

    def _draw(self, observations: Floats, noise: Floats, scratch: Scratch) -> _Drawn:
        outputs = ReluNetworks.outputs(self.policy_layers, observations, scratch)
        means, logs = np.split(outputs[-1][0], 2, axis=1)
        bounded = np.minimum(np.maximum(logs, LEAST_LOG_STD), MOST_LOG_STD)
        deviations = np.exp(bounded)
        actions = np.tanh(means + deviations * noise)
        slopes = 1.0 - actions * actions
        terms = -0.5 * noise * noise - bounded - np.log(slopes + LEAST_SLOPE)
        log_probabilities = terms.sum(axis=1) - np.float32(self._dimension * HALF_LOG_2_PI)
        free = (bounded == logs).astype(np.float32)
        return _Drawn(outputs, deviations, free, actions, slopes, log_probabilities)

    def step(self, batch: Transitions, noise: Floats, noise_after: Floats) -> Losses:
        """One gradient step; `noise` (n, d) draws actions, and `noise_after` those after them."""
        drawn = self._draw(batch.observations, noise, self._now)
        alpha = np.exp(self._log_alpha[0])
        self._adapt_alpha(drawn.log_probabilities)
        critic = self._improve_critics(batch, self._aims(batch, alpha, noise_after))
        actor = self._improve_policy(batch.observations, drawn, noise, alpha)
        self._slow += np.float32(TAU) * (self._critics - self._slow)
        self.steps += 1
        return Losses(critic, actor, float(alpha))

    def _adapt_alpha(self, log_probabilities: Floats) -> None:
        """Adam on -log(alpha) (log pi + target entropy), whose target is minus the dimension."""
        gradient = -(log_probabilities.mean() - np.float32(self._dimension))
        self._adams[2].step(self._log_alpha, gradient[None], self._rate)

    def _aims(self, batch: Transitions, alpha: np.float32, noise: Floats) -> Floats:
        """(n,): what both critics should say: the reward and the value of what follows."""
        after = self._draw(batch.following, noise, self._after)
        rows = np.hstack([batch.following, after.actions])
        outputs = ReluNetworks.outputs(self._slow_layers, rows, self._scratch)
        values = outputs[-1][:, :, 0].min(axis=0)
        values -= alpha * after.log_probabilities
        return batch.rewards + (np.float32(1.0) - batch.ended) * self._gamma * values

    def _improve_critics(self, batch: Transitions, aims: Floats) -> float:
        rows = np.hstack([batch.observations, batch.actions])
        outputs = ReluNetworks.outputs(self._critic_layers, rows, self._scratch)
        errors = outputs[-1] - aims[:, None]
        loss = 0.5 * float(np.vdot(errors, errors)) / len(aims)
        errors /= np.float32(len(aims))
        layers, gradients = self._critic_layers, self._critic_gradients
        ReluNetworks.backward(layers, gradients, outputs, errors, self._scratch)
        self._adams[1].step(self._critics, self._by_critics, self._rate)
        return loss

    def _improve_policy(
        self, observations: Floats, drawn: _Drawn, noise: Floats, alpha: np.float32
    ) -> float:
        n = np.float32(len(observations))
        rows = np.hstack([observations, drawn.actions])
        outputs = ReluNetworks.outputs(self._critic_layers, rows, self._scratch)
        values = outputs[-1][:, :, 0]
        lower = values.argmin(axis=0) == np.arange(2)[:, None]  # (2, n): the critic that counts
        by_value = (lower / -n)[:, :, None]
        by_sums = ReluNetworks.backward(self._critic_layers, None, outputs, by_value, self._scratch)
        to_actions = self._critic_layers[0][0][:, self._observed :]
        by_actions = (by_sums @ to_actions.swapaxes(-1, -2)).sum(axis=0)
        by_actions += (alpha / n) * 2.0 * drawn.actions / (drawn.slopes + LEAST_SLOPE)
        by_means = by_actions * drawn.slopes
        by_logs = (by_means * drawn.deviations * noise - alpha / n) * drawn.free
        gradient = np.hstack([by_means, by_logs])[None]
        layers, gradients = self.policy_layers, self._policy_gradients
        ReluNetworks.backward(layers, gradients, drawn.outputs, gradient, self._now)
        self._adams[0].step(self._policy, self._by_policy, self._rate)
        return float((alpha * drawn.log_probabilities - values.min(axis=0)).mean())

    def state(self) -> State:
        """Everything that later steps depend on, as plain arrays."""
        moments = {f"adam.{i}": np.array([a.first, a.second]) for i, a in enumerate(self._adams)}
        return {
            "policy": self._policy.copy(),
            "critics": self._critics.copy(),
            "slow_critics": self._slow.copy(),
            "log_temperature": self._log_alpha.copy(),
            "gradient_steps": np.array(self.steps),
            **moments,
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._policy[:], self._critics[:] = state["policy"], state["critics"]
        self._slow[:], self._log_alpha[:] = state["slow_critics"], state["log_temperature"]
        self.steps = int(state["gradient_steps"])
        for i, adam in enumerate(self._adams):
            adam.first, adam.second = np.array(state[f"adam.{i}"], dtype=np.float32)
            adam.steps = self.steps
