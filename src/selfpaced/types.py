"""What passes between tasks, learners, teachers and the loop: values and protocols."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array, check_kind, check_number, has_method
from selfpaced.maths.box import Box
from selfpaced.maths.features import Features, default_value_features
from selfpaced.maths.gaussian import Gaussian, checked_target, gaussian_over
from selfpaced.maths.policy import LinearGaussianPolicy, Policy, default_policy

Metrics = dict[str, float]
AnyArray = NDArray[Any]
State = dict[str, AnyArray]  # plain arrays by name: exact, and safe to load


class Outcomes(NamedTuple):
    """What a batch scored, one entry per row."""

    rewards: Array  # (n,)
    successes: Array  # (n,): 1 or 0; nan where the task has no notion of success


@dataclass(frozen=True)
class Samples:
    """Rollouts, one per row."""

    contexts: Array  # (n, d_c)
    thetas: Array  # (n, d_theta)
    rewards: Array  # (n,)
    successes: Array  # (n,), as in Outcomes

    def __len__(self) -> int:
        return len(self.rewards)


class Task(Protocol):
    """Scores rows. Row i of the result depends only on row i and its own noise."""

    @property
    def context_space(self) -> Box: ...
    @property
    def theta_space(self) -> Box: ...
    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes: ...


@runtime_checkable
class TrajectoryTask(Protocol):
    """A task that can also return what happened over time, for figures."""

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array: ...


@runtime_checkable
class NotingTask(Protocol):
    """A task that has something to tell of its last batch, such as simulations that blew up."""

    def notes(self) -> Metrics: ...


@runtime_checkable
class StepTask(Protocol):
    """A task that can also be played step by step, by a policy that sees its state."""

    def follow(self, contexts: Array, act: Callable[[Array], Array]) -> tuple[Outcomes, Array]:
        """Outcomes and trajectories; `act` maps observations (k, o) to actions (k, d)."""
        ...


class Learner(Protocol):
    """Asks for the next batch of rollouts and is told what they scored."""

    @property
    def policy(self) -> LinearGaussianPolicy: ...
    @property
    def context_distribution(self) -> Gaussian | None:
        """What contexts are drawn from, if that is a Gaussian."""
        ...

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Contexts (n, d_c) and thetas (n, d_theta) to try next."""
        ...

    def tell(self, samples: Samples) -> Metrics:
        """What the update did; nothing at all while the iteration goes on (warm-up batches)."""
        ...

    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


class Teacher(Protocol):
    """Chooses contexts. Knows nothing of thetas or of who learns."""

    def ask(self, n: int, rng: np.random.Generator) -> Array: ...
    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Any number of rows, in any order, repeats allowed."""
        ...

    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


class TeacherNumbers(Protocol):
    """A teacher as its frozen numbers; `start` makes the one that asks and is told."""

    def start(self, context_space: Box, target: Gaussian) -> Teacher: ...


class Spent(NamedTuple):
    """What learning has cost so far."""

    rollouts: int
    steps: int  # of the environment; 0 where a rollout is all there is


class Training(Protocol):
    """All that the loop, the store and the engines know of learning."""

    @property
    def spent(self) -> Spent: ...
    @property
    def policy(self) -> Policy: ...
    def advance(self) -> Mapping[str, float | list[float] | list[list[float]]]:
        """One update and the rollouts before it; what to record of them."""
        ...

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        """The policy as learnt on `contexts`, on the problem's task if no other is given."""
        ...

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array | None:
        """(n, t, d): what the policy does over time, where the task can tell."""
        ...

    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


class Streams(NamedTuple):
    """Separate random streams, so that measuring more often changes nothing that is learned."""

    learn: np.random.Generator
    world: np.random.Generator
    measure: np.random.SeedSequence  # one generator per measurement is spawned from it


class Algorithm(Protocol):
    """A learning algorithm as its frozen numbers."""

    def start(self, problem: "Problem", streams: Streams) -> Training: ...


@dataclass(frozen=True)
class Problem:
    """A task and the contexts it shall be mastered on. All but these two have defaults.

    `reward_shift` is added to the rewards that learners see, never to those people see: rules
    that weigh the mean reward itself, as the paper's alpha, need a sensible zero. `final_task`, if
    there is one, is a truer version of the task, in which the final policy is scored once more.
    """

    task: Task
    target: Gaussian
    initial_contexts: Gaussian
    initial_policy: LinearGaussianPolicy
    value_features: Features
    reward_shift: float
    final_task: Task | None

    def __init__(
        self,
        task: Task,
        target: Gaussian,
        *,
        initial_contexts: Gaussian | None = None,
        initial_policy: LinearGaussianPolicy | None = None,
        value_features: Features | None = None,
        reward_shift: float = 0.0,
        final_task: Task | None = None,
    ) -> None:
        if not has_method(task, "evaluate"):
            raise ValueError(f"task must have a method evaluate, as FunctionTask; got {task!r}")
        check_kind("target", target, Gaussian)
        if initial_contexts is not None:
            check_kind("initial_contexts", initial_contexts, Gaussian)
        if initial_policy is not None:
            check_kind("initial_policy", initial_policy, LinearGaussianPolicy)
        box = task.context_space
        set_ = object.__setattr__
        set_(self, "task", task)
        set_(self, "target", target)
        set_(self, "initial_contexts", initial_contexts or gaussian_over(box))
        set_(
            self,
            "initial_policy",
            initial_policy or default_policy(task.theta_space, box.dimension),
        )
        set_(self, "value_features", value_features or default_value_features(box))
        set_(self, "reward_shift", check_number("reward_shift", reward_shift))
        set_(self, "final_task", final_task)
        self._check()

    def _check(self) -> None:
        d, d_theta = self.task.context_space.dimension, self.task.theta_space.dimension
        checked_target(self.target, self.task.context_space)
        if self.initial_contexts.dimension != d:
            raise ValueError(
                f"initial_contexts must have {d} dimensions; got {self.initial_contexts.dimension}"
            )
        policy = self.initial_policy
        if (policy.features.inputs, policy.dimension) != (d, d_theta):
            raise ValueError(
                f"initial_policy must map {d} context dimensions to {d_theta} parameters; "
                f"got {policy.features.inputs} to {policy.dimension}"
            )
        if self.value_features.inputs != d:
            raise ValueError(
                f"value_features must take {d} dimensions; got {self.value_features.inputs}"
            )
