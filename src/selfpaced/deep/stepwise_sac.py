"""SAC (Haarnoja et al., 2018) on stepwise tasks, with any teacher, in NumPy alone."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from selfpaced.deep.replay_buffer import ReplayBuffer
from selfpaced.deep.sac_learner import Losses, SACLearner
from selfpaced.deep.stepwise_training import StepwiseTraining, checked_stepwise
from selfpaced.maths.arrays import check_at_least, check_positive
from selfpaced.maths.blas import one_blas_thread
from selfpaced.maths.randomness import Streams, generator_state, restored_generator
from selfpaced.maths.squashed_network import SquashedNetworkPolicy
from selfpaced.tasks.stepwise_task import StepwiseTask
from selfpaced.teachers.target import TargetTeacher
from selfpaced.types import Problem, State, TeacherConfig, part_of, prefixed


@dataclass(frozen=True, kw_only=True)
class StepwiseSAC:
    """SAC on contexts that a teacher chooses, for tasks that are a `StepwiseTask`.

    It computes what Stable-Baselines3's SAC does, without torch. All environments step at once,
    and then there is one gradient step. A state holds the replay buffer and the episodes as they
    are, so that a restored training continues exactly.

    >>> from selfpaced import Problem, StepwiseSAC, Uniform, UniformTeacher
    >>> from selfpaced.tasks.goal_reaching import GoalReaching
    >>> target = Uniform(low=[-9, -9, 0.05], high=[9, 9, 0.05])
    >>> problem = Problem(GoalReaching(), target)
    >>> StepwiseSAC(hidden=(64, 64), teacher=UniformTeacher())
    StepwiseSAC(UniformTeacher, 5 environments, 10000 steps per iteration)
    """

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
        task = checked_stepwise(problem.task)
        super().__init__(config.teacher, problem, task, config.environments, streams)
        self._config, self._rng = config, streams.learn
        observed, actions = self._task.observation_space.dimension, self._task.action_dimension
        self._learner = SACLearner(
            observed, actions, config.hidden, config.gamma, config.learning_rate, self._rng
        )
        places = config.buffer_size // config.environments
        self._replay = ReplayBuffer(places, config.environments, observed, actions)
        self._moves = 0  # steps of each environment

    @property
    def _steps(self) -> int:
        return self._moves * self._config.environments

    def advance(self) -> dict[str, Any]:
        """One iteration: steps of all environments, each with a gradient step."""
        self._episodes.forget_finished()
        losses = Losses(np.nan, np.nan, np.nan)
        with one_blas_thread():
            for _ in range(self._config.steps // self._config.environments):
                self._move()
                if self._steps > self._config.random_steps:
                    losses = self._improve()
            return {
                **self._record(),
                "updates": self._learner.steps,
                "temperature": losses.temperature,
                "critic_loss": losses.critic,
                "actor_loss": losses.actor,
            }

    def _move(self) -> None:
        """One step of every environment, into the replay buffer."""
        shape = (self._config.environments, self._task.action_dimension)
        seen = self._episodes.observe().astype(np.float32)
        if self._steps < self._config.random_steps:
            actions = self._rng.uniform(-1.0, 1.0, shape).astype(np.float32)
        else:
            actions = self._learner.act(seen, self._rng.standard_normal(shape, dtype=np.float32))
        step = self._episodes.step(self._task.action_limit * actions.astype(float))
        following = step.observations.astype(np.float32)
        ended = step.over & ~step.truncated
        self._replay.add(seen, actions, step.rewards.astype(np.float32), following, ended)
        self._moves += 1

    def _improve(self) -> Losses:
        """One gradient step on transitions of the replay buffer."""
        size = self._config.batch_size
        batch = self._replay.sample(size, self._rng)
        shape = (2, size, self._task.action_dimension)
        noise, noise_after = self._rng.standard_normal(shape, dtype=np.float32)
        return self._learner.step(batch, noise, noise_after)

    @property
    def policy(self) -> SquashedNetworkPolicy:
        """The policy learned so far."""
        layers = self._learner.policy_layers
        return SquashedNetworkPolicy(
            weights=tuple(weights[0].astype(float) for weights, _ in layers),
            biases=tuple(biases[0, 0].astype(float) for _, biases in layers),
            action_limit=self._task.action_limit,
        )

    def state(self) -> State:
        """Everything that later iterations depend on, as plain arrays."""
        return {
            "moves": np.array(self._moves),
            "rng": generator_state(self._rng),
            **prefixed("learner.", self._learner.state()),
            **prefixed("replay.", self._replay.state()),
            **prefixed("episodes.", self._episodes.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._moves = int(state["moves"])
        self._rng = restored_generator(state["rng"])
        self._learner.restore(part_of(state, "learner."))
        self._replay.restore(part_of(state, "replay."))
        self._episodes.restore(part_of(state, "episodes."))
