"""The loop: advance a training to the end of its budget, measuring on the target on the way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from selfpaced.experiments import Experiment, find_experiment
from selfpaced.experiments.experiment import MEASUREMENTS, check_algorithm
from selfpaced.experiments.optional_packages import check_installed
from selfpaced.maths.arrays import Array, check_at_least, has_method, mean_of_known
from selfpaced.maths.blas import one_blas_thread
from selfpaced.maths.box import Box
from selfpaced.maths.randomness import Streams, measuring, streams_of
from selfpaced.names import named
from selfpaced.store.finding import Finding
from selfpaced.store.health import findings
from selfpaced.targets.target import central_context, samples_in
from selfpaced.tasks.threads import processors, sharing_threads
from selfpaced.types import Algorithm, Final, Outcomes, Problem, Record, Task, Training

FINAL_TRAJECTORIES = 10  # trajectories of the final policy that every run keeps for figures


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long a run is, and how it is measured."""

    iterations: int
    """Updates of the run."""
    measure_every: int = 1
    """Iterations between two measurements on the target."""
    measure_rollouts: int | None = 100
    """Rollouts of every measurement on the target.

    None: half as many as were learned from since the measurement before, but at most 100; with
    fewer than 10, measuring waits until more has been learned.
    """
    final_rollouts: int | None = 500
    """Rollouts of the last measurement, on the target and again at its mean.

    None: a quarter of those that were learned from, from 50 to 500.
    """

    def rollouts_of_measurement(self, learned: int) -> int:
        """Rollouts of a measurement, after `learned` rollouts since the one before; 0: wait."""
        if self.measure_rollouts is not None:
            return self.measure_rollouts
        return min(learned // 2, 100) if learned >= 20 else 0

    def rollouts_at_the_end(self, learned: int) -> int:
        """Rollouts of the last measurement, after `learned` rollouts in all."""
        if self.final_rollouts is not None:
            return self.final_rollouts
        return min(max(learned // 4, 50), 500)


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
    # On matrices this small a second thread only waits, and long if other runs use the processors.
    with one_blas_thread(), sharing_threads(threads):
        learned = training.spent.rollouts  # until the last measurement
        for iteration in range(recorder.next_iteration, budget.iterations + 1):
            record: Record = {"iteration": iteration, **training.advance()}
            spent, rollouts = training.spent.rollouts, 0
            if iteration % budget.measure_every == 0:
                rollouts = budget.rollouts_of_measurement(spent - learned)
            if rollouts:
                rng, learned = measuring(streams.measure, iteration), spent
                outcomes = measure_on_target(training, problem, rollouts, rng)
                record["target_success"] = mean_of_known(outcomes.successes)
                record["target_reward"] = float(outcomes.rewards.mean())
            recorder.record(record)
            recorder.checkpoint_if_due(training)
            progress(record)
        rollouts = budget.rollouts_at_the_end(training.spent.rollouts)
        return _final(training, problem, measuring(streams.measure, 0), rollouts)


def measure_on_target(
    training: Training, problem: Problem, n: int, rng: np.random.Generator
) -> Outcomes:
    """The policy's outcomes on n contexts of the target."""
    return training.measure(samples_in(problem.target, n, rng, _scored_space(problem)), rng)


def _scored_space(problem: Problem) -> Box:
    """The contexts that measurements may use.

    A task whose target includes contexts that cannot be solved says by `scored_space` which can.
    """
    return getattr(problem.task, "scored_space", problem.task.context_space)


def _final(training: Training, problem: Problem, rng: np.random.Generator, n: int) -> Final:
    outcomes = measure_on_target(training, problem, n, rng)
    space = _scored_space(problem)
    contexts = samples_in(problem.target, FINAL_TRAJECTORIES, rng, space)
    trajectories = training.trajectories(contexts, rng)
    middle = central_context(problem.target, space)
    at_mean = training.measure(np.tile(middle, (n, 1)), rng)
    rescored: dict[str, Outcomes] = {}
    for name, task in problem.final_tasks.items():
        again = samples_in(problem.target, n, rng, space)
        rescored[name] = training.measure(again, rng, task)
    return Final(outcomes, at_mean, contexts, trajectories, rescored)


@dataclass(frozen=True)
class Run:
    """A finished run, in memory."""

    policy: Any
    """A `LinearGaussianPolicy`, or a network's policy if it acts at every step (PPO, SAC)."""
    records: list[Record]
    """One per iteration; `column` gives one metric of all."""
    final: Final
    """The last measurement on the target."""
    cpu_seconds: float
    """CPU time that learning and measuring took."""
    rollouts: int = 0
    """Rollouts that were learned from."""
    measuring_rollouts: int = 0
    """Rollouts that measuring took, besides: on the target, at its mean, and for figures."""

    def __repr__(self) -> str:
        kinds = ", ".join(finding.kind for finding in self.health())
        trouble = f"; {kinds}: see health()" if kinds else ""
        return (
            f"Run({len(self.records)} iterations, success {self.success:.2f} and mean reward "
            f"{self.reward:.4g} on the target, {self.rollouts} rollouts and "
            f"{self.measuring_rollouts} to measure, {self.cpu_seconds:.1f} CPU s{trouble})"
        )

    def health(self) -> list[Finding]:
        """What is wrong with a run that fails on the target, and what to try; [] if nothing is."""
        dimension = getattr(self.policy, "dimension", None)
        return findings(self.records, dimension if isinstance(dimension, int) else None)

    @property
    def success(self) -> float:
        """Final success rate on the target; nan where the task does not define success."""
        return mean_of_known(self.final.outcomes.successes)

    @property
    def reward(self) -> float:
        """Final mean reward on the target."""
        return float(self.final.outcomes.rewards.mean())

    def column(self, name: str) -> Array:
        """(iterations,): one metric, such as "kl_to_target"; nan where it was not recorded.

        Raise a ValueError for a name that no record has; the KL to the target, for instance, is
        recorded by SPRL and not by C-REPS.
        """
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
    measure_every: int | None = None,
    measure_rollouts: int | None = None,
    final_rollouts: int | None = None,
    progress: Callable[[Record], None] = _ignore,
    threads: int | None = None,
) -> Run:
    """Run one training in this process and keep its results in memory.

    `problem` is a problem of your own, an experiment, or the name of a registered one. `algorithm`
    is a configuration such as `SPRL(epsilon=0.3)`, or a name that the experiment knows.
    `iterations` must be given for a problem of your own. `progress` is called with the record of
    every iteration. Tasks that can simulate rows side by side (those in MuJoCo) use `threads`
    threads, by default all processors; results do not depend on the number.

    The policy is measured on the target every `measure_every` iterations with `measure_rollouts`
    rollouts, and at the end with `final_rollouts`. Left out, they are the experiment's; for a
    problem of your own it is measured about 50 times, and measuring takes no more rollouts than
    learning, except in very short runs (see `Budget`). Measuring changes nothing that is learned.
    """
    found = find_experiment(problem) if isinstance(problem, str) else problem
    if not isinstance(found, Experiment | Problem):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            "problem must be a Problem, an experiment or its name; "
            + (
                f"write Problem({type(found).__name__}(...), target=Gaussian(...)) around a task; "
                if has_method(found, "evaluate")
                else ""
            )
            + f"got {found!r}"
        )
    if isinstance(found, Experiment):
        config = found.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
        name = algorithm if isinstance(algorithm, str) else ""
        length = found.iterations_of(name) if iterations is None else iterations
        budget = budget_of(found, length)
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
        budget = Budget(
            iterations=length,
            measure_every=max(1, length // MEASUREMENTS),
            measure_rollouts=None,
            final_rollouts=None,
        )
    given = {
        "measure_every": measure_every,
        "measure_rollouts": measure_rollouts,
        "final_rollouts": final_rollouts,
    }
    chosen = {name: check_at_least(name, n, 1) for name, n in given.items() if n is not None}
    budget = replace(budget, **chosen)
    check_algorithm("algorithm", config)
    check_installed(built.task)
    check_installed(config)
    streams = streams_of(check_at_least("seed", seed, 0))
    threads = processors() if threads is None else check_at_least("threads", threads, 1)
    started = time.process_time()
    training = config.start(built, streams)
    recorder = MemoryRecorder()
    measured = _CountedMeasurements(training)
    final = train_to_end(
        cast(Training, measured), built, streams, budget, recorder, progress, threads=threads
    )
    return Run(
        policy=training.policy,
        records=recorder.records,
        final=final,
        cpu_seconds=time.process_time() - started,
        rollouts=training.spent.rollouts,
        measuring_rollouts=measured.rollouts,
    )


class _CountedMeasurements:
    """A training that counts the rollouts of its measurements."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self.rollouts = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._training, name)

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        self.rollouts += len(contexts)
        return self._training.measure(contexts, rng, task)

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array | None:
        found = self._training.trajectories(contexts, rng)
        self.rollouts += 0 if found is None else len(contexts)
        return found


def budget_of(experiment: Experiment, iterations: int) -> Budget:
    """A run of `iterations`, measured as `experiment` says."""
    return Budget(
        iterations=check_at_least("iterations", iterations, 1),
        measure_every=experiment.measure_every,
        measure_rollouts=experiment.measure_rollouts,
        final_rollouts=experiment.final_rollouts,
    )
