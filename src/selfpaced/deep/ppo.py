"""Stable-Baselines3's PPO (extra `sb3`), with any teacher, as a training like the others."""

# Stable-Baselines3 and torch load when a training starts, and are partly untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from selfpaced.deep.adam_state import adam_tensors, begin_adam
from selfpaced.deep.context_record import context_record
from selfpaced.deep.global_random_state import GlobalGenerators
from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.categorical_network import CategoricalNetworkPolicy
from selfpaced.maths.network import NetworkPolicy
from selfpaced.maths.randomness import Streams
from selfpaced.targets.target import central_context
from selfpaced.teachers.torch_threads import one_torch_thread
from selfpaced.types import (
    Outcomes,
    Problem,
    Spent,
    State,
    StepTask,
    Task,
    TeacherConfig,
    part_of,
    prefixed,
)

Statistics = tuple[str, Any]
"""A name, and running moments (mean, var, count) of Stable-Baselines3's `VecNormalize`."""


@dataclass(frozen=True, kw_only=True)
class PPO:
    """PPO on contexts that a teacher chooses, or at the mean of the target.

    The defaults are the paper's (appendix, "Reacher Experiment"; where it gives none, the defaults
    of the library that it used). An iteration is as many updates as it takes to spend `n_samples`
    rollouts, where a rollout is an episode's worth of steps. The first iteration also spends the
    `buffer_size - 1` batches with which other learners fill their buffers. Every update begins
    with new episodes, so that a state between two updates consists of arrays. Episodes that an
    update cuts short are not reported to the teacher, so choose `steps` as a multiple of an
    episode's length.
    """

    needs: ClassVar[tuple[str, ...]] = ("gymnasium", "stable_baselines3", "torch")
    """Packages that must be installed."""
    environment: str
    """Name of the Gymnasium environment, with the module that registers it ("module:Mine-v0")."""
    environments: int = 8
    """Environments that are simulated in parallel."""
    steps: int = 450
    """Steps of each environment per update, at least those of an episode.

    8 environments with 450 steps each make the appendix's 3600 steps per update.
    """
    minibatches: int = 5
    """Minibatches per epoch (appendix); must divide the steps of an update."""
    epochs: int = 15
    """Passes over the steps of an update (appendix)."""
    hidden: tuple[int, ...] = (164, 164)
    """Units of each hidden layer (tanh), for the policy and again for the value function.

    The sizes are the appendix's, where both networks shared the hidden layers.
    """
    gamma: float = 0.999
    """Discount factor per step, from 0 to 1 (appendix)."""
    gae_lambda: float = 1.0
    """lambda of the generalised advantage estimates, from 0 to 1 (appendix)."""
    entropy_weight: float = 1e-3
    """Weight of the entropy, in nats, in the loss (appendix)."""
    learning_rate: float = 2.5e-4
    """Step size of Adam (default of the paper's library)."""
    clip: float = 0.2
    """Largest change of the probability ratio, away from 1 (default of the paper's library)."""
    value_weight: float = 0.5
    """Weight of the value function's error in the loss (default of the paper's library)."""
    max_gradient_norm: float = 0.5
    """Largest norm of a gradient; longer ones are scaled down (default of the paper's library)."""
    n_samples: int = 50
    """Rollouts per iteration (Table 1, Reacher)."""
    buffer_size: int = 10
    """Batches of `n_samples` rollouts in the first iteration (Table 1, Reacher)."""
    teacher: TeacherConfig | None = None
    """What chooses the contexts; None: every episode is at the mean of the target."""

    def __post_init__(self) -> None:
        names = ("environments", "steps", "minibatches", "epochs", "n_samples", "buffer_size")
        for name in names:
            check_at_least(name, getattr(self, name), 1)
        for units in self.hidden:
            check_at_least("hidden", units, 1)
        check_positive("learning_rate", self.learning_rate)
        if self.environments * self.steps % self.minibatches:
            raise ValueError(
                f"minibatches must divide the {self.environments * self.steps} steps of an update; "
                f"got {self.minibatches}"
            )

    def __repr__(self) -> str:
        teacher = "no teacher" if self.teacher is None else type(self.teacher).__name__
        steps = f"{self.environments} x {self.steps} steps per update"
        return f"PPO({_short_name(self.environment)}, {teacher}, {steps})"

    def start(self, problem: Problem, streams: Streams) -> "PPOTraining":
        """A new training on `problem` that draws from `streams`."""
        return PPOTraining(self, problem, _checked_step_task(problem.task), streams)


class PPOTraining:
    """Stable-Baselines3's PPO between two updates."""

    def __init__(self, config: PPO, problem: Problem, task: StepTask, streams: Streams) -> None:
        import torch
        from stable_baselines3.common.callbacks import ConvertCallback

        from selfpaced.deep.sb3_model import make_model

        self._callback_from = ConvertCallback
        self._config, self._problem, self._task, self._torch = config, problem, task, torch
        self._rollouts_per_update = 0.0
        self._updates = self._iteration = 0
        self._random = GlobalGenerators(torch, streams.learn)
        self._curriculum: Any = None  # the callback, if there is a teacher
        if config.teacher is not None:
            from selfpaced.deep.curriculum_callback import CurriculumCallback

            teacher = config.teacher.start(problem.task.context_space, problem.target)
            self._curriculum = CurriculumCallback(teacher, seed=streams.world)
        with self._isolated():
            middle = central_context(problem.target, problem.task.context_space)
            self._environment, self._model, episode = make_model(config, middle)
            if self._curriculum is not None:
                self._curriculum.attach(self._environment)
        self._rollouts_per_update = config.environments * config.steps / episode

    def __repr__(self) -> str:
        name = _short_name(self._config.environment)
        spent = f"{self.spent.rollouts} rollouts, {self.spent.steps} steps"
        return f"PPOTraining({name}, {self._iteration} iterations, {spent})"

    @property
    def spent(self) -> Spent:
        """Rollouts (an episode's worth of steps each) and steps used so far."""
        steps = self._updates * self._config.environments * self._config.steps
        return Spent(round(self._updates * self._rollouts_per_update), steps)

    def advance(self) -> dict[str, Any]:
        """One iteration: updates until its rollouts are spent; return what to record of it."""
        config = self._config
        ended: list[dict[str, Any]] = []
        with self._isolated():
            while self.spent.rollouts < (self._iteration + config.buffer_size) * config.n_samples:
                ended += self._update()
        self._iteration += 1
        logged: dict[str, Any] = self._model.logger.name_to_value
        return {
            "rollouts": self.spent.rollouts,
            **_episode_metrics(ended),
            "entropy": self.policy.entropy,
            **self._context_record(ended),
            "updates": self._updates,
            "kl_update": float(logged.get("train/approx_kl", np.nan)),
            "clipped": float(logged.get("train/clip_fraction", np.nan)),
            "explained_variance": float(logged.get("train/explained_variance", np.nan)),
        }

    def _context_record(self, ended: list[dict[str, Any]]) -> dict[str, Any]:
        """Mean and covariance of the contexts; with a Gaussian teacher, its KL to the target."""
        target = self._problem.target
        if self._curriculum is None:
            mean = central_context(target, self._problem.task.context_space)
            all_equal = np.zeros((len(mean), len(mean)))
            return {"context_mean": mean.tolist(), "context_covariance": all_equal.tolist()}
        drawn = [info["context"] for info in ended]
        if not drawn:
            drawn = np.concatenate(self._curriculum.waiting_contexts)
        return context_record(self._curriculum.curriculum, target, np.array(drawn))

    def _update(self) -> list[dict[str, Any]]:
        """Do one update; return the last `info` of every episode that ended."""
        ended: list[dict[str, Any]] = []

        def collect(variables: dict[str, Any], _: dict[str, Any]) -> bool:
            ended.extend(info for info in variables["infos"] if "episode" in info)
            return True

        if getattr(self._task, "noisy", False):  # the seed, too, comes from this training
            self._environment.seed(int(np.random.randint(2**31)))  # noqa: NPY002
        self._model.set_env(self._environment, force_reset=True)
        callbacks: list[Any] = [self._callback_from(collect)]
        if self._curriculum is not None:
            self._curriculum.resume()  # before learn() resets
            callbacks.append(self._curriculum)
        steps = self._config.environments * self._config.steps
        self._model.learn(steps, callback=callbacks, log_interval=None, reset_num_timesteps=False)
        self._updates += 1
        return ended

    @property
    def policy(self) -> NetworkPolicy:
        """The policy learned so far, as NumPy arrays."""
        network = self._model.policy
        layers = [*network.mlp_extractor.policy_net, network.action_net]
        linear = [layer for layer in layers if hasattr(layer, "weight")]
        observed = self._environment.obs_rms
        discrete = not hasattr(network, "log_std")  # then actions have scores, and no deviations
        std = np.zeros(0) if discrete else np.exp(network.log_std.detach().numpy().astype(float))
        kind = CategoricalNetworkPolicy if discrete else NetworkPolicy
        return kind(
            weights=tuple(layer.weight.detach().numpy().T.astype(float) for layer in linear),
            biases=tuple(layer.bias.detach().numpy().astype(float) for layer in linear),
            std=std,
            observation_mean=observed.mean.astype(float),
            observation_variance=observed.var.astype(float),
        )

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        """Score the stochastic policy on `contexts`, in the problem's task or another one.

        Rewards and ends are the task's, which may differ from the training environment's.
        """
        policy, chosen = self.policy, _checked_step_task(task or self._task)
        return chosen.simulate_policy(contexts, lambda seen: policy.sample(seen, rng), rng)[0]

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array:
        """(n, t, d): what the stochastic policy does over time."""
        policy, task = self.policy, self._task
        return task.simulate_policy(contexts, lambda seen: policy.sample(seen, rng), rng)[1]

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        tensors = {f"tensor.{i}": t.numpy().copy() for i, t in enumerate(self._tensors())}
        moments: State = {}
        for name, found in self._moments():
            moments[f"{name}.mean"], moments[f"{name}.var"] = np.array(found.mean), found.var
            moments[f"{name}.count"] = np.array(found.count)
        counts = {
            "updates": np.array(self._updates),
            "iteration": np.array(self._iteration),
            "adam": np.array(len(self._model.policy.optimizer.state)),
        }
        curriculum: State = {} if self._curriculum is None else self._curriculum.state()
        return {
            **counts,
            **tensors,
            **moments,
            **self._random.state(),
            **prefixed("curriculum.", curriculum),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._updates, self._iteration = int(state["updates"]), int(state["iteration"])
        self._model.num_timesteps = self.spent.steps
        begin_adam(self._torch, self._model.policy.optimizer, used=bool(state["adam"]))
        for i, tensor in enumerate(self._tensors()):
            tensor.copy_(self._torch.from_numpy(np.array(state[f"tensor.{i}"])))
        for name, found in self._moments():
            found.mean, found.var = np.array(state[f"{name}.mean"]), np.array(state[f"{name}.var"])
            found.count = float(state[f"{name}.count"])
        self._random.restore(state)
        if self._curriculum is not None:
            self._curriculum.restore(part_of(state, "curriculum."))

    def _tensors(self) -> list[Any]:
        """All tensors that an update changes, in a fixed order: weights, then Adam's moments."""
        policy = self._model.policy
        found = [tensor.detach() for tensor in policy.state_dict().values()]
        return found + adam_tensors(policy.optimizer)

    def _moments(self) -> tuple[Statistics, Statistics]:
        """Running moments by which observations and rewards are normalised."""
        return ("observations", self._environment.obs_rms), ("returns", self._environment.ret_rms)

    @contextlib.contextmanager
    def _isolated(self) -> Generator[None, None, None]:
        """Run Stable-Baselines3 with this training's random generators and one torch thread."""
        with one_torch_thread(self._torch), self._random.in_place():
            yield


def _checked_step_task(task: Task | StepTask) -> StepTask:
    """`task`; raise a ValueError unless it can be simulated step by step."""
    if not isinstance(task, StepTask):
        raise ValueError(
            f"task must be one that can be simulated step by step for PPO; "
            f"{type(task).__name__} cannot"
        )
    return task


def _short_name(environment: str) -> str:
    """The name of an environment without the module that registers it."""
    return environment.rpartition(":")[2]


def _episode_metrics(ended: list[dict[str, Any]]) -> dict[str, float]:
    """Success rate, reward per step and length of the episodes that ended; nan if none did."""
    if not ended:
        return {"success": np.nan, "step_reward": np.nan, "episode_steps": np.nan}
    steps = sum(info["episode"]["l"] for info in ended)
    return {
        "success": float(np.mean([info["episode_success"] for info in ended])),
        "step_reward": float(sum(info["episode"]["r"] for info in ended) / steps),
        "episode_steps": float(steps / len(ended)),
    }
