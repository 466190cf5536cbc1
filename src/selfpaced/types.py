"""Values that pass between rooms (tasks, learners, teachers, the loop, the store) and protocols."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array, check_kind, check_number, has_method
from selfpaced.maths.box import Box
from selfpaced.maths.features import Features, default_value_features
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.particles import Particles
from selfpaced.maths.policy import LinearGaussianPolicy, Policy, default_policy
from selfpaced.maths.randomness import Streams
from selfpaced.names import checked_name
from selfpaced.spaces.space import checked_space
from selfpaced.targets.target import Target, checked_target
from selfpaced.targets.uniform import default_contexts

AnyArray = NDArray[Any]
Metrics = dict[str, float]
"""Numbers that describe one update, by name."""
Record = dict[str, Any]
"""What is stored of one iteration: metrics, and the mean and covariance of the contexts."""
State = dict[str, AnyArray]
"""A state as plain arrays by name: exact, and safe to load."""


class Outcomes(NamedTuple):
    """Rewards and successes of a batch of rollouts, one entry per row."""

    rewards: Array
    """(n,): the return of each rollout."""
    successes: Array
    """(n,): 1 for success, 0 for failure; nan where the task does not define success."""


@dataclass(frozen=True)
class Samples:
    """Rollouts to learn from, one per row."""

    contexts: Array
    """(n, d_c): the context of each rollout."""
    thetas: Array
    """(n, d_theta): the policy parameters that were tried."""
    rewards: Array
    """(n,): the return of each rollout."""
    successes: Array = None  # pyright: ignore[reportAssignmentType]
    """(n,): as in `Outcomes`; left out, all are unknown."""

    def __post_init__(self) -> None:
        if cast(Array | None, self.successes) is None:
            object.__setattr__(self, "successes", np.full(len(self.rewards), np.nan))

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        return f"Samples({len(self)} rollouts, mean reward {np.mean(self.rewards):.4g})"


class Task(Protocol):
    """Scores rows of contexts and parameters. Row i of the result depends on row i alone."""

    @property
    def context_space(self) -> Box:
        """Which contexts exist."""
        ...

    @property
    def theta_space(self) -> Box:
        """Which policy parameters may be tried."""
        ...

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Score one rollout for every row of `contexts` (n, d_c) and `thetas` (n, d_theta)."""
        ...


@runtime_checkable
class TrajectoryTask(Protocol):
    """A task that can also return what happened over time, for figures."""

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, t, d): the path of every rollout."""
        ...


@runtime_checkable
class DiagnosticTask(Protocol):
    """A task that reports metrics of its last batch, such as how many simulations diverged."""

    def diagnostics(self) -> Metrics:
        """Metrics of the last batch; `EpisodicTraining` adds them up and records them."""
        ...


@runtime_checkable
class StepTask(Protocol):
    """A task that can also be simulated step by step, by a policy that sees observations."""

    def simulate_policy(
        self,
        contexts: Array,
        act: Callable[[Array], Array],
        rng: np.random.Generator | None = None,
    ) -> tuple[Outcomes, Array]:
        """Outcomes and trajectories (n, t, d) of one episode per context.

        `act` maps the observations (k, o) of the k episodes still running to actions (k, a).
        `rng` draws the noise of tasks that have some.
        """
        ...


class Learner(Protocol):
    """Asks for the next batch of rollouts and is told what they scored."""

    @property
    def policy(self) -> LinearGaussianPolicy:
        """The policy learned so far."""
        ...

    @property
    def context_distribution(self) -> Gaussian | Particles | None:
        """What contexts are drawn from; None if they come from elsewhere."""
        ...

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Contexts (n, d_c) and parameters (n, d_theta) to try next."""
        ...

    def tell(self, samples: Samples) -> Metrics:
        """Learn from `samples` and return metrics of the update.

        An empty dictionary means that the iteration is not over: ask again (warm-up batches).
        """
        ...

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        ...

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        ...


class Teacher(Protocol):
    """Chooses contexts. It knows nothing of policy parameters, nor of who learns."""

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d_c) to practise on next."""
        ...

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes: any number of rows, in any order, repeats allowed."""
        ...

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        ...

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        ...


class TeacherConfig(Protocol):
    """A teacher's configuration, such as `CurrOT()`."""

    def start(self, context_space: Box, target: Target) -> Teacher:
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        ...


class Spent(NamedTuple):
    """What learning has cost so far."""

    rollouts: int
    """Rollouts (episodes) simulated."""
    steps: int
    """Steps of environments; 0 where a rollout is not divided into steps."""


class Training(Protocol):
    """A learning process, as the loop, the store and the engines see it."""

    @property
    def spent(self) -> Spent:
        """Rollouts and steps used so far."""
        ...

    @property
    def policy(self) -> Policy:
        """The policy learned so far."""
        ...

    def advance(self) -> Mapping[str, float | list[float] | list[list[float]]]:
        """Simulate and learn until one update is done; return what to record of it."""
        ...

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        """Score the current policy on `contexts`, in the problem's task or another one."""
        ...

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array | None:
        """(n, t, d): what the policy does over time; None if the task has no trajectories."""
        ...

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        ...

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        ...


class Algorithm(Protocol):
    """A learning algorithm's configuration, such as `SPRL()`."""

    def start(self, problem: "Problem", streams: Streams) -> Training:
        """A new training on `problem` that draws from `streams`."""
        ...


class Final(NamedTuple):
    """The last measurement of a run, and what the policy does then."""

    outcomes: Outcomes
    """On contexts drawn from the target."""
    at_mean: Outcomes
    """At the target's mean (its most central sample if not Gaussian), where CMA-ES learns."""
    contexts: Array
    """(10, d_c): contexts drawn from the target, for the trajectories."""
    trajectories: Array | None
    """(10, t, d): the policy on those contexts; None if the task has no trajectories."""
    rescored: Mapping[str, Outcomes] = {}
    """On contexts drawn from the target in each of the problem's `final_tasks`, by name."""


def prefixed(prefix: str, state: State) -> State:
    """`state` with `prefix` before every name, so that several states fit into one."""
    return {f"{prefix}{name}": value for name, value in state.items()}


def part_of(state: State, prefix: str) -> State:
    """The inverse of `prefixed`: the entries whose names start with `prefix`, without it."""
    return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}


@dataclass(frozen=True)
class Problem:
    """A task, and the distribution of contexts on which it shall be mastered.

    Only the task and the target must be given; everything else has a default.

    >>> import numpy as np
    >>> from selfpaced import Box, FunctionTask, Gaussian, Problem
    >>> def reach(contexts, thetas):
    ...     return -np.abs(thetas - contexts).sum(axis=1)
    >>> task = FunctionTask(reach, Box([-1, -1], [1, 1]), Box([-2, -2], [2, 2]))
    >>> Problem(task, target=Gaussian([0.8, 0.8], 0.01 * np.eye(2)))
    Problem(FunctionTask(reach, 2 context dimensions, 2 parameters), target mean [0.8, 0.8])
    """

    task: Task
    """What scores rollouts."""
    target: Target
    """Distribution of the contexts on which the policy shall succeed in the end."""
    initial_contexts: Target
    """Distribution of SPRL's first contexts.

    By default it is a Gaussian, centred in the context space, with standard deviations of a quarter
    of its width; in a space with categories, it is uniform.
    """
    initial_policy: LinearGaussianPolicy
    """The policy before learning; by default it covers the middle of the parameter space."""
    value_features: Features
    """Features of the value function V(c) in the duals; by default a grid of at most 65."""
    reward_shift: float
    """Constant that is added to the rewards that learners see, but not in tables and figures.

    Schedules that use the mean reward itself, as the paper's does, depend on where zero lies.
    """
    final_tasks: Mapping[str, Task]
    """Other versions of the task, by name, in which the final policy is scored once more.

    For example a finer simulation, or one whose physics is random.
    """

    def __init__(
        self,
        task: Task,
        target: Target,
        *,
        initial_contexts: Target | None = None,
        initial_policy: LinearGaussianPolicy | None = None,
        value_features: Features | None = None,
        reward_shift: float = 0.0,
        final_tasks: Mapping[str, Task] | None = None,
    ) -> None:
        if not has_method(task, "evaluate"):
            raise ValueError(f"task must have a method evaluate; got {task!r}")
        box = checked_space(task.context_space)
        if initial_contexts is not None and not has_method(initial_contexts, "sample"):
            raise ValueError(f"initial_contexts must be a distribution; got {initial_contexts!r}")
        if initial_policy is not None:
            check_kind("initial_policy", initial_policy, LinearGaussianPolicy)
        set_ = object.__setattr__
        set_(self, "task", task)
        set_(self, "target", target)
        set_(self, "initial_contexts", initial_contexts or default_contexts(box))
        policy = initial_policy or default_policy(task.theta_space, box)
        set_(self, "initial_policy", policy)
        set_(self, "value_features", value_features or default_value_features(box))
        set_(self, "reward_shift", check_number("reward_shift", reward_shift))
        set_(self, "final_tasks", dict(final_tasks or {}))
        self._check()

    def _check(self) -> None:
        d, d_theta = self.task.context_space.dimension, self.task.theta_space.dimension
        checked_target(self.target, self.task.context_space)
        for name, other in self.final_tasks.items():
            checked_name(name)
            if not has_method(other, "evaluate"):
                raise ValueError(
                    f"final_tasks[{name!r}] must have a method evaluate; got {other!r}"
                )
        if (got := getattr(self.initial_contexts, "dimension", d)) != d:
            raise ValueError(f"initial_contexts must have {d} dimensions; got {got}")
        policy = self.initial_policy
        if (policy.features.inputs, policy.dimension) != (d, d_theta):
            raise ValueError(
                f"initial_policy must map {d} context dimensions to {d_theta} parameters; "
                f"got {policy.features.inputs} to {policy.dimension}"
            )
        if (inputs := self.value_features.inputs) != d:
            raise ValueError(f"value_features must take {d} dimensions; got {inputs}")

    def __repr__(self) -> str:
        mean = getattr(self.target, "mean", None)
        where = type(self.target).__name__ if mean is None else f"mean {mean.tolist()}"
        return f"Problem({self.task!r}, target {where})"
