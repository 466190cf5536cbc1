"""What trainings on tasks with steps share: episodes with a teacher, records and measurements."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np

from selfpaced.deep.context_record import context_record
from selfpaced.deep.curriculum import Curriculum
from selfpaced.deep.gym_task import GymTask
from selfpaced.deep.taught_batch import TaughtBatch
from selfpaced.deep.taught_environments import TaughtEnvironments
from selfpaced.deep.taught_episodes import TaughtEpisodes
from selfpaced.maths.arrays import Array
from selfpaced.maths.network import NetworkPolicy
from selfpaced.maths.randomness import Streams
from selfpaced.maths.squashed_network import SquashedNetworkPolicy
from selfpaced.tasks.stepwise_task import StepwiseTask
from selfpaced.types import Outcomes, Problem, Spent, Task, TeacherConfig

T = TypeVar("T", bound=StepwiseTask | GymTask)


class StepwiseTraining(ABC, Generic[T]):
    """A training whose policy acts at every step of a task.

    `n`: environments that are simulated in one batch. The teacher and the noise of the task draw
    from the stream of the world.
    """

    def __init__(
        self, teacher: TeacherConfig, problem: Problem, task: T, n: int, streams: Streams
    ) -> None:
        self._problem, self._task = problem, task
        choices, noise = streams.world.integers(2**63, size=2).tolist()
        curriculum = Curriculum(teacher, task.context_space, problem.target, seed=choices)
        self._episodes = _taught(task, n, curriculum, np.random.default_rng(noise))
        self._longest = _checked_steps(task)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._task.name}, {self.spent})"

    @property
    @abstractmethod
    def policy(self) -> NetworkPolicy | SquashedNetworkPolicy:
        """The policy learned so far."""

    @property
    @abstractmethod
    def _steps(self) -> int:
        """Steps of environments so far."""

    @property
    def spent(self) -> Spent:
        """Rollouts (an episode's worth of steps each) and steps used so far."""
        return Spent(self._steps // self._longest, self._steps)

    @property
    def teacher_seconds(self) -> float:
        """CPU time that the teacher has taken in this process."""
        return self._episodes.teacher_seconds

    def _record(self) -> dict[str, Any]:
        """What to record of the episodes since the last iteration."""
        curriculum = self._episodes.curriculum
        threshold = getattr(
            curriculum.teacher, "found_threshold", None
        )  # infinite if none is found yet
        return {
            "rollouts": self.spent.rollouts,
            **self._episodes.metrics(),
            **context_record(curriculum, self._problem.target, self._episodes.contexts),
            **({"threshold": threshold} if threshold is not None and threshold < np.inf else {}),
        }

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        """Score the stochastic policy on `contexts`, in the problem's task or another one."""
        chosen = self._task if task is None else checked_with_steps(task)
        return self._simulated(chosen, contexts, rng)[0]

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array:
        """(n, t, d): what the stochastic policy does over time; positions in a `StepwiseTask`."""
        return self._simulated(self._task, contexts, rng)[1]

    def _simulated(
        self, task: StepwiseTask | GymTask, contexts: Array, rng: np.random.Generator
    ) -> tuple[Outcomes, Array]:
        policy = self.policy
        return task.simulate_policy(contexts, lambda seen: policy.sample(seen, rng), rng)


def checked_stepwise(task: Any) -> StepwiseTask:
    """`task`; raise a ValueError unless it is a `StepwiseTask`."""
    if not isinstance(task, StepwiseTask):
        raise ValueError(f"task must be a StepwiseTask; {type(task).__name__} is not")
    return task


def checked_with_steps(task: Any) -> StepwiseTask | GymTask:
    """`task`; raise a ValueError unless it is a `StepwiseTask` or a `GymTask`."""
    if not isinstance(task, StepwiseTask | GymTask):
        raise ValueError(f"task must be a StepwiseTask or a GymTask; {type(task).__name__} is not")
    return task


def _checked_steps(task: StepwiseTask | GymTask) -> int:
    """The steps of an episode at most; raise a ValueError if they are not known."""
    if task.steps is None:
        raise ValueError(
            f"environment must be registered with max_episode_steps; {task.name} is not"
        )
    return task.steps


def _taught(
    task: StepwiseTask | GymTask, n: int, curriculum: Curriculum, rng: np.random.Generator
) -> TaughtBatch:
    """n episodes of `task` with a curriculum."""
    if isinstance(task, GymTask):
        return TaughtEnvironments(task, n, curriculum, rng)
    return TaughtEpisodes(task, n, curriculum, rng)
