"""Runs on this machine, one after the other."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from selfpaced.experiments import experiment
from selfpaced.randomness import streams_of
from selfpaced.store import RunFiles, finished_iterations, run_folder, spec_of
from selfpaced.training import Record, budget_of, train_to_end
from selfpaced.types import Algorithm


@dataclass(frozen=True)
class Job:
    """One run that was asked for."""

    experiment: str
    algorithm: str
    numbers: Algorithm
    seed: int
    iterations: int
    out: Path

    @property
    def folder(self) -> Path:
        return run_folder(self.out, self.experiment, self.algorithm, self.seed)

    @property
    def done(self) -> bool:
        return finished_iterations(self.folder) >= self.iterations


def execute(job: Job, progress: Callable[[Record], None] = lambda record: None) -> None:
    """Run `job` to its end, from its last checkpoint if it has one."""
    setting = experiment(job.experiment)
    files = RunFiles(job.folder, spec_of(job.experiment, job.algorithm, job.numbers, job.seed))
    if job.done:
        return
    started = time.process_time()
    streams = streams_of(job.seed)
    problem = setting.problem()
    training = job.numbers.start(problem, streams)
    try:
        files.begin(training)
        budget = budget_of(setting, job.iterations)
        final = train_to_end(training, problem, streams, budget, files, progress)
        files.finish(training, final, time.process_time() - started)
    finally:
        files.close()
