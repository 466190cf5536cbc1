"""The loop: advance a training to the end of its budget, measuring on the target on the way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from selfpaced.experiments import Experiment, experiment
from selfpaced.experiments.experiment import check_algorithm
from selfpaced.extras import check_installed
from selfpaced.maths.arrays import Array, check_at_least, mean_of_known
from selfpaced.randomness import measuring, streams_of
from selfpaced.suggest import named
from selfpaced.types import Algorithm, Outcomes, Problem, Streams, Training

FINAL_TRAJECTORIES = 10  # kept of every run, for figures
Record = dict[str, Any]


@dataclass(frozen=True)
class Budget:
    """How long a run is, and how it is measured."""

    iterations: int
    measure_every: int = 1
    measure_rollouts: int = 100
    final_rollouts: int = 500


class Recorder(Protocol):
    """Where a run goes: memory, or files."""

    @property
    def next_iteration(self) -> int: ...
    def record(self, record: Record) -> None: ...
    def checkpoint_if_due(self, training: Training) -> None: ...


class Final(NamedTuple):
    """The last measurement, and what the policy does then."""

    outcomes: Outcomes  # on contexts of the target
    at_mean: Outcomes  # at the target's mean, all that a learner without contexts is made for
    contexts: Array  # (10, d_c), of the target
    trajectories: Array | None  # (10, t, d), where the task has any
    rescored: Outcomes | None = None  # on contexts of the target, in the problem's final task


def train_to_end(
    training: Training,
    problem: Problem,
    streams: Streams,
    budget: Budget,
    recorder: Recorder,
    progress: Callable[[Record], None] = lambda record: None,
) -> Final:
    """Advance `training` to the end of its budget; what a figure needs is recorded on the way."""
    # One thread: on matrices this small a second one only waits, and among other runs for long.
    with threadpool_limits(1, user_api="blas"):
        return _train_to_end(training, problem, streams, budget, recorder, progress)


def _train_to_end(
    training: Training,
    problem: Problem,
    streams: Streams,
    budget: Budget,
    recorder: Recorder,
    progress: Callable[[Record], None],
) -> Final:
    for iteration in range(recorder.next_iteration, budget.iterations + 1):
        record: Record = {"iteration": iteration, **training.advance()}
        if iteration % budget.measure_every == 0:
            rng = measuring(streams.measure, iteration)
            outcomes = measure_on_target(training, problem, budget.measure_rollouts, rng)
            record["target_success"] = mean_of_known(outcomes.successes)
            record["target_reward"] = float(outcomes.rewards.mean())
        recorder.record(record)
        recorder.checkpoint_if_due(training)
        progress(record)
    return _final(training, problem, measuring(streams.measure, 0), budget.final_rollouts)


def measure_on_target(
    training: Training, problem: Problem, n: int, rng: np.random.Generator
) -> Outcomes:
    """How the policy fares on n contexts of the target."""
    return training.measure(problem.target.sample(n, rng, problem.task.context_space), rng)


def _final(training: Training, problem: Problem, rng: np.random.Generator, n: int) -> Final:
    outcomes = measure_on_target(training, problem, n, rng)
    contexts = problem.target.sample(FINAL_TRAJECTORIES, rng, problem.task.context_space)
    trajectories = training.trajectories(contexts, rng)
    at_mean = training.measure(np.tile(problem.target.mean, (n, 1)), rng)
    rescored = None
    if problem.final_task is not None:
        again = problem.target.sample(n, rng, problem.task.context_space)
        rescored = training.measure(again, rng, problem.final_task)
    return Final(outcomes, at_mean, contexts, trajectories, rescored)


@dataclass(frozen=True)
class Run:
    """A finished run."""

    policy: Any  # LinearGaussianPolicy, or the NetworkPolicy of what learns step by step
    records: list[Record]  # one per iteration
    final: Final
    cpu_seconds: float

    @property
    def success(self) -> float:
        """Final success rate on the target; nan where the task has no notion of success."""
        return mean_of_known(self.final.outcomes.successes)

    @property
    def reward(self) -> float:
        """Final mean reward on the target."""
        return float(self.final.outcomes.rewards.mean())

    def column(self, name: str) -> Array:
        """One metric over the iterations; nan where it was not recorded."""
        named("metric", name, {known for record in self.records for known in record})
        return np.array([record.get(name, np.nan) for record in self.records], dtype=float)


@dataclass
class InMemory:
    """A recorder that keeps everything in a list."""

    records: list[Record] = field(default_factory=lambda: list[Record]())

    @property
    def next_iteration(self) -> int:
        return len(self.records) + 1

    def record(self, record: Record) -> None:
        self.records.append(record)

    def checkpoint_if_due(self, training: Training) -> None:
        """Memory needs no checkpoints."""


def train(
    problem: str | Experiment | Problem,
    algorithm: str | Algorithm,
    *,
    seed: int = 0,
    iterations: int | None = None,
    progress: Callable[[Record], None] = lambda record: None,
) -> Run:
    """Learn, in this process and in memory.

    `problem`: the name of a registered experiment, an experiment, or a problem of your own;
    `algorithm`: a name that the experiment knows, or numbers such as `SPRL(epsilon=0.3)`.
    `progress` is called with the record of every iteration.
    """
    setting = experiment(problem) if isinstance(problem, str) else problem
    if isinstance(setting, Experiment):
        numbers = setting.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
        made = setting.problem()
        iterations = setting.iterations if iterations is None else iterations
        budget = budget_of(setting, iterations)
    else:
        if isinstance(algorithm, str):
            raise ValueError(
                "algorithm must be numbers such as SPRL() for a problem of your own; "
                f"got the name {algorithm!r}"
            )
        if iterations is None:
            raise ValueError("iterations must be given for a problem of your own; got None")
        numbers, made = algorithm, setting
        check_at_least("iterations", iterations, 1)
        budget = Budget(iterations, measure_every=max(1, iterations // 50))
    check_algorithm("algorithm", numbers)
    check_installed(made.task)
    check_installed(numbers)
    streams = streams_of(check_at_least("seed", seed, 0))
    started = time.process_time()
    training = numbers.start(made, streams)
    recorder = InMemory()
    final = train_to_end(training, made, streams, budget, recorder, progress)
    cpu_seconds = time.process_time() - started
    return Run(training.policy, recorder.records, final, cpu_seconds)


def budget_of(setting: Experiment, iterations: int) -> Budget:
    """The experiment's way of measuring, over `iterations`."""
    return Budget(
        check_at_least("iterations", iterations, 1),
        setting.measure_every,
        setting.measure_rollouts,
        setting.final_rollouts,
    )
