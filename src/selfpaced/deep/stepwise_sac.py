"""Stable-Baselines3's SAC (extra `sb3`) on stepwise tasks, with any teacher, as a training."""

# Stable-Baselines3 and torch load when a training starts, and are partly untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from selfpaced.deep.adam_state import adam_tensors, begin_adam
from selfpaced.deep.global_random_state import GlobalGenerators
from selfpaced.deep.stepwise_training import StepwiseTraining, checked_stepwise
from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.blas import one_blas_thread
from selfpaced.maths.randomness import Streams
from selfpaced.maths.squashed_network import SquashedNetworkPolicy
from selfpaced.tasks.stepwise_task import StepwiseTask
from selfpaced.teachers.target import TargetTeacher
from selfpaced.teachers.torch_threads import one_torch_thread
from selfpaced.types import Problem, State, TeacherConfig, part_of, prefixed

REPLAYED = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


@dataclass(frozen=True, kw_only=True)
class StepwiseSAC:
    """SAC on contexts that a teacher chooses, for tasks that are a `StepwiseTask`.

    Networks, losses, optimisers and the replay buffer are those of Stable-Baselines3. All
    environments step at once, and then there is one gradient step. A state holds the replay
    buffer and the episodes as they are, so that a restored training continues exactly.

    >>> from selfpaced import Problem, StepwiseSAC, Uniform, UniformTeacher
    >>> from selfpaced.tasks.goal_reaching import GoalReaching
    >>> target = Uniform(low=[-9, -9, 0.05], high=[9, 9, 0.05])
    >>> problem = Problem(GoalReaching(), target)
    >>> StepwiseSAC(hidden=(64, 64), teacher=UniformTeacher())
    StepwiseSAC(UniformTeacher, 5 environments, 10000 steps per iteration)
    """

    needs: ClassVar[tuple[str, ...]] = ("gymnasium", "stable_baselines3", "torch")
    """Packages that must be installed."""
    environments: int = 5
    """Environments that step at once; as many steps there are per gradient step."""
    steps: int = 10_000
    """Steps of all environments together in one iteration."""
    hidden: tuple[int, ...] = (128, 128, 128)
    """Units of each hidden layer (ReLU), for the policy and for each of the two critics."""
    gamma: float = 0.995
    """Discount factor per step, from 0 to 1."""
    learning_rate: float = 3e-4
    """Step size of Adam."""
    buffer_size: int = 200_000
    """Transitions that the replay buffer holds."""
    random_steps: int = 1_000
    """Steps of all environments together with random actions, before learning starts."""
    batch_size: int = 512
    """Transitions of a gradient step."""
    teacher: TeacherConfig = field(default_factory=TargetTeacher)
    """What chooses the contexts."""

    def __post_init__(self) -> None:
        for name in ("environments", "steps", "buffer_size", "random_steps", "batch_size"):
            check_at_least(name, getattr(self, name), 1)
        for units in self.hidden:
            check_at_least("hidden", units, 1)
        check_positive("learning_rate", self.learning_rate)
        for name in ("steps", "buffer_size"):
            if getattr(self, name) % self.environments:
                raise ValueError(
                    f"environments must divide {name}, {getattr(self, name)}; "
                    f"got {self.environments}"
                )

    def __repr__(self) -> str:
        counts = f"{self.environments} environments, {self.steps} steps per iteration"
        return f"StepwiseSAC({type(self.teacher).__name__}, {counts})"

    def start(self, problem: Problem, streams: Streams) -> "StepwiseSACTraining":
        """A new training on `problem` that draws from `streams`."""
        return StepwiseSACTraining(self, problem, streams)


class StepwiseSACTraining(StepwiseTraining[StepwiseTask]):
    """`StepwiseSAC` between two iterations."""

    def __init__(self, config: StepwiseSAC, problem: Problem, streams: Streams) -> None:
        import torch

        from selfpaced.deep.sac_model import make_sac

        task = checked_stepwise(problem.task)
        super().__init__(config.teacher, problem, task, config.environments, streams)
        self._config, self._torch = config, torch
        self._random = GlobalGenerators(torch, streams.learn)
        self._moves = 0  # steps of each environment
        with self._random.in_place(), one_torch_thread(torch):
            self._model = make_sac(config, self._task)

    @property
    def _steps(self) -> int:
        return self._moves * self._config.environments

    def advance(self) -> dict[str, Any]:
        """One iteration: steps of all environments, each with a gradient step."""
        self._episodes.forget_finished()
        with self._random.in_place(), one_torch_thread(self._torch), one_blas_thread():
            for _ in range(self._config.steps // self._config.environments):
                self._move()
                if self._steps > self._config.random_steps:
                    self._model.train(1, self._config.batch_size)
        logged: dict[str, Any] = self._model.logger.name_to_value
        return {
            **self._record(),
            "updates": self._model._n_updates,
            "temperature": float(logged.get("train/ent_coef", np.nan)),
            "critic_loss": float(logged.get("train/critic_loss", np.nan)),
            "actor_loss": float(logged.get("train/actor_loss", np.nan)),
        }

    def _move(self) -> None:
        """One step of every environment, into the replay buffer."""
        n, limit = self._config.environments, self._task.action_limit
        seen = self._episodes.observe().astype(np.float32)
        if self._steps < self._config.random_steps:
            actions: Any = np.random.uniform(-1.0, 1.0, (n, self._task.action_dimension))  # noqa: NPY002
        else:
            with self._torch.no_grad():
                actions = self._model.actor(self._torch.from_numpy(seen)).numpy()
        step = self._episodes.step(limit * actions.astype(float))
        self._model.replay_buffer.add(
            seen,
            step.observations.astype(np.float32),
            actions,
            step.rewards,
            step.over,
            [{"TimeLimit.truncated": bool(cut)} for cut in step.truncated],
        )
        self._moves += 1

    @property
    def policy(self) -> SquashedNetworkPolicy:
        """The policy learned so far, as NumPy arrays."""
        actor = self._model.actor
        hidden = [layer for layer in actor.latent_pi if hasattr(layer, "weight")]
        heads = [actor.mu, actor.log_std]
        weights = [self._numbers(layer.weight).T for layer in hidden]
        biases = [self._numbers(layer.bias) for layer in hidden]
        return SquashedNetworkPolicy(
            weights=(*weights, np.hstack([self._numbers(head.weight).T for head in heads])),
            biases=(*biases, np.hstack([self._numbers(head.bias) for head in heads])),
            action_limit=self._task.action_limit,
        )

    @staticmethod
    def _numbers(tensor: Any) -> Array:
        return tensor.detach().numpy().astype(float)

    def _tensors(self) -> list[Any]:
        """All tensors that a gradient step changes, in a fixed order."""
        model = self._model
        found = [tensor.detach() for tensor in model.policy.state_dict().values()]
        found.append(model.log_ent_coef.detach())
        for optimiser in self._optimisers():
            found += adam_tensors(optimiser)
        return found

    def _optimisers(self) -> tuple[Any, Any, Any]:
        model = self._model
        return model.actor.optimizer, model.critic.optimizer, model.ent_coef_optimizer

    def state(self) -> State:
        """Everything that later iterations depend on, as plain arrays."""
        model, buffer = self._model, self._model.replay_buffer
        held = buffer.size()
        return {
            "moves": np.array(self._moves),
            "updates": np.array(model._n_updates),
            "replay.position": np.array([buffer.pos, int(buffer.full)]),
            **{f"replay.{name}": getattr(buffer, name)[:held].copy() for name in REPLAYED},
            **{f"tensor.{i}": t.numpy().copy() for i, t in enumerate(self._tensors())},
            **prefixed("random.", self._random.state()),
            **prefixed("episodes.", self._episodes.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        model, buffer = self._model, self._model.replay_buffer
        self._moves, model._n_updates = int(state["moves"]), int(state["updates"])
        position, full = state["replay.position"].tolist()
        buffer.pos, buffer.full = position, bool(full)
        for name in REPLAYED:
            kept = state[f"replay.{name}"]
            getattr(buffer, name)[: len(kept)] = kept
        for optimiser in self._optimisers():
            begin_adam(self._torch, optimiser, used=model._n_updates > 0)
        for i, tensor in enumerate(self._tensors()):
            tensor.copy_(self._torch.from_numpy(np.array(state[f"tensor.{i}"])))
        self._random.restore(part_of(state, "random."))
        self._episodes.restore(part_of(state, "episodes."))
