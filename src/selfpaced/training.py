"""The loop: advance a training to the end of its budget, measuring on the target on the way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from selfpaced.experiments import Experiment, find_experiment
from selfpaced.experiments.experiment import MEASUREMENTS, check_algorithm
from selfpaced.experiments.optional_packages import check_installed
from selfpaced.maths.arrays import Array, check_at_least, mean_of_known
from selfpaced.maths.randomness import Streams, measuring, streams_of
from selfpaced.names import named
from selfpaced.tasks.threads import processors, sharing_threads
from selfpaced.types import Algorithm, Final, Outcomes, Problem, Record, Training

FINAL_TRAJECTORIES = 10  # trajectories of the final policy that every run keeps for figures


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long a run is, and how it is measured."""

    iterations: int
    """Updates of the run."""
    measure_every: int = 1
    """Iterations between two measurements on the target."""
    measure_rollouts: int = 100
    """Rollouts of every measurement on the target."""
    final_rollouts: int = 500
    """Rollouts of the last measurement."""


class Recorder(Protocol):
    """Where the loop writes a run: memory, or files."""

    @property
    def next_iteration(self) -> int:
        """The iteration to do next; the first one is 1."""
        ...

    def record(self, record: Record) -> None:
        """Keep the record of one iteration."""
        ...

    def checkpoint_if_due(self, training: Training) -> None:
        """Save the training if it is time to."""
        ...


def _ignore(record: Record) -> None:
    """Do nothing with the record: nobody follows the progress."""


def train_to_end(
    training: Training,
    problem: Problem,
    streams: Streams,
    budget: Budget,
    recorder: Recorder,
    progress: Callable[[Record], None] = _ignore,
    *,
    threads: int = 1,
) -> Final:
    """Advance `training` to the end of its budget, and record what tables and figures need.

    Simulations may use `threads` threads, which changes no result.
    """
    # Linear algebra gets one thread: on matrices this small a second thread only waits, and it
    # waits long if other runs use the processors.
    with threadpool_limits(1, user_api="blas"), sharing_threads(threads):
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
    """The policy's outcomes on n contexts of the target."""
    return training.measure(problem.target.sample(n, rng, problem.task.context_space), rng)


def _final(training: Training, problem: Problem, rng: np.random.Generator, n: int) -> Final:
    outcomes = measure_on_target(training, problem, n, rng)
    contexts = problem.target.sample(FINAL_TRAJECTORIES, rng, problem.task.context_space)
    trajectories = training.trajectories(contexts, rng)
    at_mean = training.measure(np.tile(problem.target.mean, (n, 1)), rng)
    rescored: dict[str, Outcomes] = {}
    for name, task in problem.final_tasks.items():
        again = problem.target.sample(n, rng, problem.task.context_space)
        rescored[name] = training.measure(again, rng, task)
    return Final(outcomes, at_mean, contexts, trajectories, rescored)


@dataclass(frozen=True)
class Run:
    """A finished run, in memory."""

    policy: Any
    """A `LinearGaussianPolicy`, or a `NetworkPolicy` if the algorithm acts at every step (PPO)."""
    records: list[Record]
    """One per iteration; `column` gives one metric of all."""
    final: Final
    """The last measurement on the target."""
    cpu_seconds: float
    """CPU time that learning took."""

    def __repr__(self) -> str:
        return (
            f"Run({len(self.records)} iterations, success {self.success:.2f} and mean reward "
            f"{self.reward:.4g} on the target, {self.cpu_seconds:.1f} CPU s)"
        )

    @property
    def success(self) -> float:
        """Final success rate on the target; nan where the task does not define success."""
        return mean_of_known(self.final.outcomes.successes)

    @property
    def reward(self) -> float:
        """Final mean reward on the target."""
        return float(self.final.outcomes.rewards.mean())

    def column(self, name: str) -> Array:
        """(iterations,): one metric, such as "kl_to_target"; nan where it was not recorded."""
        named("metric", name, {known for record in self.records for known in record})
        return np.array([record.get(name, np.nan) for record in self.records], dtype=float)


@dataclass
class MemoryRecorder:
    """A recorder that keeps everything in a list."""

    records: list[Record] = field(default_factory=lambda: list[Record]())
    """One per iteration."""

    @property
    def next_iteration(self) -> int:
        """The iteration to do next; the first one is 1."""
        return len(self.records) + 1

    def record(self, record: Record) -> None:
        """Keep the record of one iteration."""
        self.records.append(record)

    def checkpoint_if_due(self, training: Training) -> None:
        """Do nothing: memory needs no checkpoints."""


def train(
    problem: str | Experiment | Problem,
    algorithm: str | Algorithm,
    *,
    seed: int = 0,
    iterations: int | None = None,
    progress: Callable[[Record], None] = _ignore,
    threads: int | None = None,
) -> Run:
    """Run one training in this process and keep its results in memory.

    `problem` is a problem of your own, an experiment, or the name of a registered one. `algorithm`
    is a configuration such as `SPRL(epsilon=0.3)`, or a name that the experiment knows.
    `iterations` must be given for a problem of your own. `progress` is called with the record of
    every iteration. Tasks that can simulate rows side by side (those in MuJoCo) use `threads`
    threads, by default all processors; results do not depend on the number.
    """
    found = find_experiment(problem) if isinstance(problem, str) else problem
    if isinstance(found, Experiment):
        config = found.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
        budget = budget_of(found, found.iterations if iterations is None else iterations)
        built = found.built_problem()
    else:
        if isinstance(algorithm, str):
            raise ValueError(
                "algorithm must be a configuration such as SPRL() for a problem of your own; "
                f"got the name {algorithm!r}"
            )
        if iterations is None:
            raise ValueError("iterations must be given for a problem of your own; got None")
        config, built = algorithm, found
        length = check_at_least("iterations", iterations, 1)
        budget = Budget(iterations=length, measure_every=max(1, length // MEASUREMENTS))
    check_algorithm("algorithm", config)
    check_installed(built.task)
    check_installed(config)
    streams = streams_of(check_at_least("seed", seed, 0))
    threads = processors() if threads is None else check_at_least("threads", threads, 1)
    started = time.process_time()
    training = config.start(built, streams)
    recorder = MemoryRecorder()
    final = train_to_end(training, built, streams, budget, recorder, progress, threads=threads)
    return Run(training.policy, recorder.records, final, time.process_time() - started)


def budget_of(experiment: Experiment, iterations: int) -> Budget:
    """A run of `iterations`, measured as `experiment` says."""
    return Budget(
        iterations=check_at_least("iterations", iterations, 1),
        measure_every=experiment.measure_every,
        measure_rollouts=experiment.measure_rollouts,
        final_rollouts=experiment.final_rollouts,
    )
