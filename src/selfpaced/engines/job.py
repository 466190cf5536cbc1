"""One run that was asked for, and how every engine executes it."""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from selfpaced.experiments.experiment import Experiment
from selfpaced.experiments.fingerprint import code_fingerprint
from selfpaced.maths.randomness import streams_of
from selfpaced.store.files import FORMAT, plain
from selfpaced.store.reading import finished_iterations
from selfpaced.store.spec import asked_iterations, edited_code, run_folder
from selfpaced.store.writing import CHECKPOINT_SECONDS, RunWriter
from selfpaced.targets.stored import storable
from selfpaced.training import budget_of, train_to_end
from selfpaced.types import Algorithm, Problem, Record, Task

# Limits on the threads that numerical libraries would start in every worker.
THREAD_COUNTS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD: dict[str, str] = dict.fromkeys(THREAD_COUNTS, "1")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run to execute: an algorithm on an experiment, with a seed and a number of iterations."""

    experiment: Experiment
    """What to learn on."""
    algorithm: str
    """The algorithm's name within the experiment."""
    config: Algorithm
    """The algorithm's configuration, with overridden fields."""
    seed: int
    """The run's seed, from which all its randomness comes."""
    iterations: int
    """Updates that were asked for."""
    out: Path
    """Folder of the results."""
    problem: dict[str, Any]
    """What `describe` says of the experiment's problem."""
    code: dict[str, Any] | None
    """Fingerprints of the user's own code; None if there is none."""
    accept_edited_code: bool = False
    """Continue a run, or join runs, that were made by other code."""
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    """Time between two checkpoints, in seconds."""
    plain_config: dict[str, Any] | None = None
    """The configuration as plain data, if it was computed before, once for many seeds."""
    reference: str = ""
    """How to import the experiment: its registered name or module:NAME; empty if unknown."""

    def __repr__(self) -> str:
        return f"Job({self.name}, {self.iterations} iterations)"

    @property
    def name(self) -> str:
        """Experiment, algorithm and seed."""
        return f"{self.experiment.name} {self.algorithm} seed {self.seed}"

    @property
    def folder(self) -> Path:
        """Where the run's files are."""
        return run_folder(self.out, self.experiment.name, self.algorithm, self.seed)

    @property
    def spec(self) -> dict[str, Any]:
        """What identifies the run; see `store/spec.py`."""
        return {
            "format": FORMAT,
            "experiment": self.experiment.name,
            "algorithm": self.algorithm,
            "config": plain(self.config) if self.plain_config is None else self.plain_config,
            "problem": self.problem,
            "seed": self.seed,
            **({} if self.code is None else {"code": self.code}),
        }

    def is_done(self) -> bool:
        """True if the files hold a finished run that is long enough; reads and checks them all."""
        return finished_iterations(self.folder) >= self.iterations


def describe(experiment: Experiment, problem: Problem) -> dict[str, Any]:
    """What identifies the experiment's problem and how it is measured, as plain data."""
    finals = {name: _name(task) for name, task in problem.final_tasks.items()}
    return {
        "task": _name(problem.task),
        "contexts": plain(problem.task.context_space),
        "thetas": _short(plain(problem.task.theta_space)),
        "target": plain(storable(problem.target, problem.task.context_space)),
        "initial_contexts": plain(problem.initial_contexts),
        "initial_policy": _short(plain(problem.initial_policy.arrays())),
        "value_features": _short(problem.value_features.spec()),
        "reward_shift": problem.reward_shift,
        "measure": [
            experiment.measure_every,
            experiment.measure_rollouts,
            experiment.final_rollouts,
        ],
        **({"final_tasks": finals} if finals else {}),
    }


def _name(task: Task) -> str:
    """The `name` of a task, or that of its class if it has none."""
    return getattr(task, "name", type(task).__name__)


def _short(value: Any) -> Any:
    """`value` itself, or a checksum of it if it is long as text."""
    text = json.dumps(value)
    return value if len(text) < 200 else f"crc32 {zlib.crc32(text.encode()):08x}"


def _check_code(job: Job, problem: Problem) -> None:
    """Raise a ValueError if the user's code is no longer the code that the job was planned with."""
    if job.code is None:
        return
    code = code_fingerprint(job.experiment.problem, problem, job.config)
    if edited := edited_code({"code": code}, {"code": job.code}):
        raise ValueError(
            f"your code has been edited since the sweep began: {'; '.join(edited)}. "
            "Start it again in another folder"
        )


class Stopped(Exception):
    """Raised when a run was asked to stop, after it has written a checkpoint."""


def execute(
    job: Job,
    progress: Callable[[Record], None] = lambda record: None,
    stopping: Callable[[], bool] = lambda: False,
    *,
    threads: int = 1,
) -> list[str]:
    """Run `job` to its end, from its last checkpoint if it has one; return damage that was noticed.

    After each iteration `progress` gets its record, and `stopping` is asked. Simulations may use
    `threads` threads, which changes no result. Raise `Locked` if another process works on the run,
    and `Stopped` once `stopping()` is true.
    """
    files = RunWriter(job.folder, job.spec, job.checkpoint_seconds)
    try:
        if job.is_done():  # finished by another process in the meantime
            return []
        problem = job.experiment.built_problem()
        _check_code(job, problem)
        training = files.begin(lambda: job.config.start(problem, streams_of(job.seed)))

        def after_iteration(record: Record) -> None:
            progress(record)
            if stopping():
                files.checkpoint(training)
                raise Stopped

        # Another launcher may have asked for more iterations than this job. The longer run is done
        # in any case, so that the result does not depend on which launcher executes it.
        length = max(job.iterations, asked_iterations(job.folder))
        budget = budget_of(job.experiment, length)
        streams = streams_of(job.seed)  # of which only that of measurements is used here
        final = train_to_end(
            training, problem, streams, budget, files, after_iteration, threads=threads
        )
        files.finish(training, final)
        return files.problems
    finally:
        files.close()


class Watcher(Protocol):
    """Is told by a sweep and its engine how the jobs get on."""

    def planned(self, jobs: int, done: int) -> None:
        """`jobs` jobs were asked for, of which `done` are finished already."""
        ...

    def started(self, job: Job) -> None:
        """A process has started to work on the job."""
        ...

    def progressed(self, job: Job, iteration: int, success: float | None) -> None:
        """An iteration is over; `success` is the rate on the target, None if not measured."""
        ...

    def finished(self, job: Job, problems: list[str]) -> None:
        """The job is finished; `problems` describe damaged files that it noticed and replaced."""
        ...

    def elsewhere(self, job: Job) -> None:
        """Another launcher works on the job."""
        ...

    def retried(self, job: Job, reason: str) -> None:
        """The job's process died for a `reason`, and a new one takes over."""
        ...

    def failed(self, job: Job, error: str) -> None:
        """The job ended with an `error`, which may be a whole traceback."""
        ...


class Engine(Protocol):
    """Executes jobs."""

    def run(self, jobs: list[Job], watcher: Watcher) -> None:
        """Execute `jobs` and tell `watcher`; return when none is left to execute here."""
        ...
