"""PPO (Schulman et al., 2017) on tasks with steps, with any teacher, in NumPy alone."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from selfpaced.deep.gym_task import GymTask
from selfpaced.deep.stepwise_training import StepwiseTraining, checked_with_steps
from selfpaced.maths.action_heads import ActionHead, CategoricalHead, GaussianHead
from selfpaced.maths.arrays import Array, BoolArray, check_at_least, check_kind, check_positive
from selfpaced.maths.blas import one_blas_thread
from selfpaced.maths.categorical_network import CategoricalNetworkPolicy
from selfpaced.maths.network import CLIP, EPSILON, NetworkPolicy
from selfpaced.maths.perceptron import Adam, Floats, Perceptron
from selfpaced.maths.policy_gradient import Surrogate, generalised_advantages
from selfpaced.maths.randomness import Streams, generator_state, restored_generator
from selfpaced.maths.running_moments import RunningMoments
from selfpaced.tasks.stepwise_task import StepwiseTask
from selfpaced.teachers.target import TargetTeacher
from selfpaced.types import Problem, State, TeacherConfig, part_of, prefixed

RATE_FACTOR = 1.5  # by which a learning rate that adapts falls and rises
POLICY_GAIN, VALUE_GAIN = 0.01, 1.0  # of the last layers at first, as in Stable-Baselines3


@dataclass(frozen=True, kw_only=True)
class StepwisePPO:
    """PPO on contexts that a teacher chooses, for tasks that are a `StepwiseTask` or a `GymTask`.

    It computes what Stable-Baselines3's PPO does, without torch. An iteration is one update.
    Episodes go on across updates. A state holds those of a `StepwiseTask` as they are, and the
    actions of those of a `GymTask`, which are played again when a training continues. The policy
    acts in the units of the task: its first standard deviation is 1, whatever the largest action
    is. Discrete actions are drawn from a softmax.

    >>> from selfpaced import Gaussian, Problem, StepwisePPO, train
    >>> from selfpaced.tasks.contextual_pointmass import ContextualPointMass
    >>> wide = Problem(ContextualPointMass(), Gaussian([0.0, 6.0], [[0.1, 0.0], [0.0, 0.1]]))
    >>> train(wide, StepwisePPO(environments=4, steps=32), iterations=2).policy
    NetworkPolicy(layers 6-64-64-2, entropy 2.8... nats)
    """

    environments: int = 32
    """Environments that are simulated in one batch."""
    steps: int = 64
    """Steps of each environment per update."""
    minibatches: int = 32
    """Minibatches per epoch; must divide the steps of an update."""
    epochs: int = 8
    """Passes over the steps of an update."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer (tanh), for the policy and again for the value function."""
    gamma: float = 0.95
    """Discount factor per step, from 0 to 1."""
    gae_lambda: float = 0.99
    """lambda of the generalised advantage estimates, from 0 to 1."""
    entropy_weight: float = 0.0
    """Weight of the entropy, in nats, in the loss."""
    learning_rate: float = 2.5e-4
    """Step size of Adam; the largest one if it adapts."""
    clip: float = 0.2
    """Largest change of the probability ratio, away from 1."""
    value_weight: float = 1.0
    """Weight of the value function's squared error in the loss."""
    max_gradient_norm: float | None = None
    """Largest norm of a gradient; longer ones are scaled down. None: no bound."""
    target_kl: float | None = None
    """An update ends once the KL from the policy before it exceeds this, in nats. None: never."""
    normalise: bool = False
    """True to divide observations and rewards by their standard deviations, as they become known.

    Observations lose their mean, too, and are those of all updates before. Rewards are divided by
    the standard deviation of the discounted sum of the rewards so far in an episode.
    """
    adapts_rate: bool = False
    """True to divide the learning rate by 1.5 whenever `target_kl` ends an update too early.

    That is within its first epoch, before every step of the update has counted. The rate is
    multiplied by 1.5, up to `learning_rate`, after an update that did not end early.
    """
    averaged_updates: int = 1
    """The policy that is measured and kept has the parameters' average over so many updates.

    The newest policy, which acts, may jump from update to update; the average does not (Polyak and
    Juditsky, 1992). It forgets exponentially after so many updates. 1: the newest policy.
    """
    teacher: TeacherConfig = field(default_factory=TargetTeacher)
    """What chooses the contexts."""

    def __post_init__(self) -> None:
        for name in ("environments", "steps", "minibatches", "epochs", "averaged_updates"):
            check_at_least(name, getattr(self, name), 1)
        for units in self.hidden:
            check_at_least("hidden", units, 1)
        for name in ("learning_rate", "clip"):
            check_positive(name, getattr(self, name))
        for name in ("max_gradient_norm", "target_kl"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        check_kind("adapts_rate", self.adapts_rate, bool)
        if self.adapts_rate and self.target_kl is None:
            raise ValueError("adapts_rate needs a target_kl, which it adapts to; got None")
        if self.environments * self.steps % self.minibatches:
            raise ValueError(
                f"minibatches must divide the {self.environments * self.steps} steps of an update; "
                f"got {self.minibatches}"
            )

    def __repr__(self) -> str:
        steps = f"{self.environments} x {self.steps} steps per update"
        return f"StepwisePPO({type(self.teacher).__name__}, {steps})"

    def start(self, problem: Problem, streams: Streams) -> "StepwisePPOTraining":
        """A new training on `problem` that draws from `streams`."""
        return StepwisePPOTraining(self, problem, streams)


class StepwisePPOTraining(StepwiseTraining[StepwiseTask | GymTask]):
    """`StepwisePPO` between two updates."""

    def __init__(self, config: StepwisePPO, problem: Problem, streams: Streams) -> None:
        task = checked_with_steps(problem.task)
        super().__init__(config.teacher, problem, task, config.environments, streams)
        self._config, self._rng, self._updates = config, streams.learn, 0
        self._head, self._inputs = _head_for(task), self._episodes.observe().shape[1]
        self._actor = Perceptron((self._inputs, *config.hidden, self._head.outputs))
        self._critic = Perceptron((self._inputs, *config.hidden, 1))
        # One array holds all: policy, value function, logarithms of the standard deviations.
        split = np.cumsum([self._actor.count, self._critic.count])
        self._parameters = np.zeros(split[1] + self._head.deviations, dtype=np.float32)
        self._gradient = np.zeros_like(self._parameters)
        actor, critic, self._log_std = np.split(self._parameters, split)
        actor[:] = self._actor.initial(self._rng, POLICY_GAIN)
        critic[:] = self._critic.initial(self._rng, VALUE_GAIN)
        self._actor_layers = self._actor.layers(actor)
        self._critic_layers = self._critic.layers(critic)
        by_actor, by_critic, self._by_log_std = np.split(self._gradient, split)
        self._by_actor = self._actor.layers(by_actor)
        self._by_critic = self._critic.layers(by_critic)
        self._adam = Adam(len(self._parameters))
        self._average = self._parameters.copy()  # of the parameters after updates
        # They stay at 0 and 1 unless `normalise` is true.
        self._observed, self._returned = RunningMoments(self._inputs), RunningMoments(1)
        self._discounted = np.zeros(config.environments)  # rewards so far in each episode
        self._rate = config.learning_rate

    @property
    def _steps(self) -> int:
        return self._updates * self._config.environments * self._config.steps

    def advance(self) -> dict[str, Any]:
        """One update; return what to record of it."""
        self._episodes.forget_finished()
        # The record is made in here as well: other threads would spin for a while after it.
        with one_blas_thread():
            metrics = self._improve(*self._collected())
            self._updates += 1
            weight = np.float32(1.0 / min(self._updates, self._config.averaged_updates))
            self._average = (1 - weight) * self._average + weight * self._parameters
            entropy = self._policy_of(self._parameters).entropy
            return {**self._record(), "entropy": entropy, "updates": self._updates, **metrics}

    def _values(self, observations: Floats) -> Floats:
        """(n,): the value function V at `observations` (n, o)."""
        return Perceptron.outputs_of(self._critic_layers, observations)[-1][:, 0]

    def _seen(self, observations: Array) -> Floats:
        """(n, o): `observations` as the networks see them."""
        if self._config.normalise:
            return self._observed.normalised(observations)
        return observations.astype(np.float32)

    def _collected(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Observations, actions, outputs of the policy, advantages and returns, row by row."""
        config, head, n = self._config, self._head, self._config.environments
        shape = (config.steps, n)
        observed = np.zeros((*shape, self._inputs))
        seen = np.zeros(observed.shape, dtype=np.float32)
        actions = np.zeros((*shape, head.columns), dtype=np.float32)
        outputs = np.zeros((*shape, head.outputs), dtype=np.float32)
        rewards, values, beyond = np.zeros((3, *shape), dtype=np.float32)
        over = np.zeros(shape, dtype=bool)
        noise = head.noise(self._rng, shape)
        for t in range(config.steps):
            observed[t] = self._episodes.observe()
            seen[t] = self._seen(observed[t])
            outputs[t] = Perceptron.outputs_of(self._actor_layers, seen[t])[-1]
            actions[t] = head.actions(outputs[t], self._log_std, noise[t])
            step = self._episodes.step(actions[t].astype(float))
            rewards[t], over[t] = step.rewards, step.over
            if step.truncated.any():  # the value of what would have followed is part of the return
                last = self._seen(step.observations[step.truncated])
                beyond[t, step.truncated] = np.float32(config.gamma) * self._values(last)
        flat = seen.reshape(-1, self._inputs)
        values[:] = self._values(flat).reshape(shape)
        following = self._values(self._seen(self._episodes.observe()))
        if config.normalise:  # the policy acted with the old moments, so new ones wait until here
            rewards = self._scaled(rewards, over)
            self._observed.add(observed.reshape(-1, self._inputs))
        advantages = generalised_advantages(
            rewards + beyond, values, following, over, config.gamma, config.gae_lambda
        )
        returns = (advantages + values).reshape(-1)
        columns = actions.reshape(-1, head.columns), outputs.reshape(-1, head.outputs)
        return flat, *columns, advantages.reshape(-1), returns

    def _scaled(self, rewards: Floats, over: BoolArray) -> Floats:
        """(T, n): rewards by the standard deviation of their discounted sums in episodes so far."""
        sums = np.zeros(rewards.shape)
        for t in range(len(rewards)):
            self._discounted = self._config.gamma * self._discounted + rewards[t]
            sums[t] = self._discounted
            self._discounted[over[t]] = 0.0
        self._returned.add(sums.reshape(-1, 1))
        scaled = rewards / np.sqrt(self._returned.variance[0] + EPSILON)
        return np.clip(scaled, -CLIP, CLIP).astype(np.float32)

    def _improve(
        self, seen: Floats, actions: Floats, outputs: Floats, advantages: Floats, returns: Floats
    ) -> dict[str, float]:
        """Epochs of minibatches, as in Stable-Baselines3; return the metrics of the last epoch."""
        config, size = self._config, len(seen) // self._config.minibatches
        before = self._values(seen)
        unexplained = float(np.var(returns - before) / max(float(np.var(returns)), 1e-30))
        log_std = self._log_std.copy()  # before the update
        known = self._head.log_probabilities(actions, outputs, log_std)
        latest = deque[tuple[Surrogate, float]](maxlen=config.minibatches)  # an epoch
        steps = 0
        for _ in range(config.epochs):
            order = self._rng.permutation(len(seen))
            columns = [a[order] for a in (seen, actions, known, advantages, returns, outputs)]
            for k in range(0, len(seen), size):
                *parts, old = (column[k : k + size] for column in columns)
                found, new = self._gradients(*parts)
                kl = self._head.mean_kl(old, log_std, new, self._log_std)
                latest.append((found, kl))
                if config.target_kl is not None and kl > config.target_kl:
                    break
                if config.max_gradient_norm is not None:
                    norm = float(np.sqrt(self._gradient @ self._gradient))
                    self._gradient *= min(1.0, config.max_gradient_norm / (norm + 1e-6))
                self._adam.step(self._parameters, self._gradient, self._rate)
                steps += 1
            else:
                continue
            break  # the policy has changed enough
        metrics = {
            "kl_update": float(np.mean([kl for _, kl in latest])),
            "clipped": float(np.mean([found.clipped for found, _ in latest])),
            "explained_variance": 1.0 - unexplained,
            "gradient_steps": steps,
            "learning_rate": self._rate,
        }
        if config.adapts_rate:
            self._adapt_rate(steps)
        return metrics

    def _adapt_rate(self, steps: int) -> None:
        """Choose the learning rate of the next update; this one took `steps` gradient steps."""
        config = self._config
        if steps < config.minibatches:
            self._rate /= RATE_FACTOR
        elif steps == config.minibatches * config.epochs:
            self._rate = min(self._rate * RATE_FACTOR, config.learning_rate)

    def _gradients(
        self, seen: Floats, actions: Floats, known: Floats, advantages: Floats, returns: Floats
    ) -> tuple[Surrogate, Floats]:
        """Write the gradient of a minibatch's loss; return the policy's part, and its outputs."""
        config = self._config
        outputs = Perceptron.outputs_of(self._actor_layers, seen)
        centred = advantages - advantages.sum() / np.float32(len(seen))
        spread = np.sqrt(centred @ centred / np.float32(len(seen) - 1))
        scaled = centred / (spread + np.float32(1e-8))
        chosen = outputs[-1]
        found = self._head.surrogate(
            actions, chosen, self._log_std, known, scaled, config.clip, config.entropy_weight
        )
        Perceptron.add_gradient(self._actor_layers, self._by_actor, outputs, found.by_means)
        self._by_log_std[:] = found.by_log_std
        outputs = Perceptron.outputs_of(self._critic_layers, seen)
        error = outputs[-1] - returns[:, None]
        error *= np.float32(2.0 * config.value_weight / len(seen))
        Perceptron.add_gradient(self._critic_layers, self._by_critic, outputs, error)
        return found, chosen

    @property
    def policy(self) -> NetworkPolicy:
        """The policy learned so far: the average over `averaged_updates`."""
        return self._policy_of(self._average)

    def _policy_of(self, parameters: Floats) -> NetworkPolicy:
        task, normalised = self._task, self._config.normalise
        discrete = isinstance(self._head, CategoricalHead)
        layers = self._actor.layers(parameters)
        log_std = parameters[len(parameters) - self._head.deviations :]
        return (CategoricalNetworkPolicy if discrete else NetworkPolicy)(
            weights=tuple(weights.astype(float) for weights, _ in layers),
            biases=tuple(biases.astype(float) for _, biases in layers),
            std=np.exp(log_std.astype(float)),
            observation_mean=self._observed.mean.copy(),
            observation_variance=self._observed.variance.copy(),
            observation_clip=CLIP if normalised else np.inf,
            action_limit=1.0 if isinstance(task, GymTask) else task.action_limit,
        )

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        return {
            "updates": np.array(self._updates),
            "parameters": self._parameters.copy(),
            "adam": np.array([self._adam.first, self._adam.second]),
            "adam_steps": np.array(self._adam.steps),
            "learning_rate": np.array(self._rate),
            "rng": generator_state(self._rng),
            **({"average": self._average.copy()} if self._config.averaged_updates > 1 else {}),
            **prefixed("episodes.", self._episodes.state()),
            **(self._moments_state() if self._config.normalise else {}),
        }

    def _moments_state(self) -> State:
        return {
            "discounted": self._discounted.copy(),
            **prefixed("observed.", self._observed.state()),
            **prefixed("returned.", self._returned.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._updates = int(state["updates"])
        self._parameters[:] = state["parameters"]
        self._average[:] = state.get("average", state["parameters"])  # equal if it is of one update
        self._adam.first, self._adam.second = np.array(state["adam"], dtype=np.float32)
        self._adam.steps = int(state["adam_steps"])
        self._rate = float(state["learning_rate"])
        self._rng = restored_generator(state["rng"])
        self._episodes.restore(part_of(state, "episodes."))
        if self._config.normalise:
            self._discounted = np.array(state["discounted"])
            self._observed.restore(part_of(state, "observed."))
            self._returned.restore(part_of(state, "returned."))


def _head_for(task: StepwiseTask | GymTask) -> ActionHead:
    """The kind of actions that `task` takes."""
    if not isinstance(task, GymTask):
        return GaussianHead(task.action_dimension)
    return CategoricalHead(task.outputs) if task.discrete else GaussianHead(task.outputs)
