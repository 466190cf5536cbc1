"""One run that was asked for, and how it is executed, wherever that is."""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from selfpaced.experiments.experiment import Experiment
from selfpaced.files import plain
from selfpaced.randomness import streams_of
from selfpaced.store import (
    CHECKPOINT_SECONDS,
    FORMAT,
    RunFiles,
    asked_iterations,
    finished_iterations,
    run_folder,
)
from selfpaced.training import Record, budget_of, train_to_end
from selfpaced.types import Algorithm, Problem, Task

# The libraries that would start threads of their own in every worker.
THREAD_COUNTS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD: dict[str, str] = dict.fromkeys(THREAD_COUNTS, "1")


@dataclass(frozen=True)
class Job:
    """An algorithm on an experiment with a seed, for so many iterations."""

    experiment: Experiment
    algorithm: str
    numbers: Algorithm
    seed: int
    iterations: int
    out: Path
    problem: dict[str, Any]  # what `describe` says of the experiment's problem
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    reference: str = ""  # how to import the experiment: its registered name, or module:NAME

    @property
    def name(self) -> str:
        return f"{self.experiment.name} {self.algorithm} seed {self.seed}"

    @property
    def folder(self) -> Path:
        return run_folder(self.out, self.experiment.name, self.algorithm, self.seed)

    @property
    def spec(self) -> dict[str, Any]:
        """What identifies the run. Its length does not: asking for more continues it."""
        return {
            "format": FORMAT,
            "experiment": self.experiment.name,
            "algorithm": self.algorithm,
            "numbers": plain(self.numbers),
            "problem": self.problem,
            "seed": self.seed,
        }

    @property
    def done(self) -> bool:
        return finished_iterations(self.folder) >= self.iterations


def describe(experiment: Experiment, problem: Problem) -> dict[str, Any]:
    """What identifies the experiment's problem and how it is measured, as plain data."""
    return {
        "task": _name(problem.task),
        "contexts": plain(problem.task.context_space),
        "thetas": _short(plain(problem.task.theta_space)),
        "target": plain(problem.target),
        "initial_contexts": plain(problem.initial_contexts),
        "initial_policy": _short(plain(problem.initial_policy.arrays())),
        "value_features": _short(problem.value_features.spec()),
        "reward_shift": problem.reward_shift,
        "measure": [
            experiment.measure_every,
            experiment.measure_rollouts,
            experiment.final_rollouts,
        ],
        **({} if problem.final_task is None else {"final_task": _name(problem.final_task)}),
    }


def _name(task: Task) -> str:
    """What a task calls itself, or its class."""
    return getattr(task, "name", type(task).__name__)


def _short(value: Any) -> Any:
    """`value` itself, or a checksum of it where it is long."""
    text = json.dumps(value)
    return value if len(text) < 200 else f"crc32 {zlib.crc32(text.encode()):08x}"


class Stopped(Exception):
    """The run was asked to stop; it has written a checkpoint."""


def execute(
    job: Job,
    progress: Callable[[Record], None] = lambda record: None,
    stopping: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Run `job` to its end, from its last checkpoint if it has one; damage that was noticed.

    `store.Locked` if another process works on it; `Stopped` once `stopping()` says so.
    """
    files = RunFiles(job.folder, job.spec, job.checkpoint_seconds)
    try:
        if job.done:  # by somebody else, while we waited for our turn
            return []
        streams = streams_of(job.seed)
        problem = job.experiment.problem()
        training = job.numbers.start(problem, streams)
        files.begin(training)

        def after_iteration(record: Record) -> None:
            progress(record)
            if stopping():
                files.checkpoint(training)
                raise Stopped

        # Somebody may have asked for more than we: a result must not depend on who was stopped.
        length = max(job.iterations, asked_iterations(job.folder))
        budget = budget_of(job.experiment, length)
        final = train_to_end(training, problem, streams, budget, files, after_iteration)
        files.finish(training, final)
        return files.problems
    finally:
        files.close()


class Watcher(Protocol):
    """What an engine tells while it works."""

    def started(self, job: Job) -> None: ...
    def progressed(self, job: Job, iteration: int, success: float | None) -> None: ...
    def finished(self, job: Job, problems: list[str]) -> None: ...
    def elsewhere(self, job: Job) -> None:
        """Another launcher works on it."""
        ...

    def retried(self, job: Job, reason: str) -> None: ...
    def failed(self, job: Job, error: str) -> None: ...


class Engine(Protocol):
    """Executes jobs and returns when all are finished, failed or somebody else's."""

    def run(self, jobs: list[Job], watcher: Watcher) -> None: ...
