"""Many runs: from names and seeds to jobs, to an engine, to results."""

import importlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from selfpaced.engines.job import Engine, Job, Watcher, describe
from selfpaced.engines.local import LocalEngine
from selfpaced.experiments import Experiment, experiment
from selfpaced.experiments.override import override
from selfpaced.experiments.setting import setting_of
from selfpaced.extras import check_installed
from selfpaced.maths.arrays import check_at_least
from selfpaced.report.data import Group, load
from selfpaced.store import (
    CHECKPOINT_SECONDS,
    ask_for,
    asked_iterations,
    check_spec,
    finished_iterations,
    is_locked,
    read_error,
    read_spec,
    recorded_iterations,
    run_folders,
    write_setting,
)
from selfpaced.suggest import named

EngineName = Literal["local", "ray"]


def seeds_from(text: str | int) -> list[int]:
    """Seeds from "40" (0 to 39), "10-19", or a mixture such as "0-4,7"."""
    words = str(text).split(",")
    if len(words) == 1 and words[0].strip().isdigit():
        return list(range(check_at_least("seeds", int(words[0]), 1)))
    seeds: list[int] = []
    for word in words:
        first, dash, last = word.strip().partition("-")
        if (
            not first.isdigit()
            or (dash and not last.isdigit())
            or (dash and int(last) < int(first))
        ):
            raise ValueError(f"seeds must be a count (40) or ranges (10-19 or 0-4,7); got {text!r}")
        seeds += range(int(first), int(last if dash else first) + 1)
    return sorted(set(seeds))


def shard_from(text: str) -> tuple[int, int]:
    """ "2/8" as (2, 8): the second of eight parts."""
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"shard must be i/n with 1 <= i <= n, such as 2/8; got {text!r}")
    return int(part), int(parts)


def find_experiment(name: str | Experiment) -> Experiment:
    """A registered experiment by its name, or your own by "module:NAME"."""
    if isinstance(name, Experiment):
        return name
    module, colon, attribute = name.partition(":")
    if not colon:
        return experiment(name)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"experiment {name!r} must name an Experiment; {error}") from error
    if not isinstance(found, Experiment):
        raise ValueError(f"experiment {name!r} must name an Experiment; got {found!r}")
    return found


def plan(
    experiments: Sequence[str | Experiment],
    algorithms: Sequence[str] | None,
    seeds: Sequence[int],
    out: Path,
    *,
    iterations: int | None = None,
    overrides: Mapping[str, str] | None = None,
    shard: tuple[int, int] = (1, 1),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> list[Job]:
    """The jobs that were asked for; every name, number and folder is checked before any runs.

    Without `algorithms` all that the experiment knows. `overrides` maps "algorithm.number" to
    text. With a `shard` (i, n) every n-th job from the i-th on.
    """
    if not experiments or not seeds:
        raise ValueError("experiments and seeds must name at least one each; got none")
    seeds = [check_at_least("seeds", seed, 0) for seed in seeds]
    if not checkpoint_seconds >= 0.0:
        raise ValueError(f"checkpoint_seconds must be at least 0; got {checkpoint_seconds}")
    overrides = overrides or {}
    found = [find_experiment(name) for name in experiments]
    chosen = {e.name: list(algorithms or e.algorithms) for e in found}
    known = {algorithm for e in found for algorithm in chosen[e.name]}
    for path in overrides:
        named("algorithm of an override", path.partition(".")[0], known)
    out = out.absolute()
    jobs: list[Job] = []
    for e, reference in zip(found, experiments, strict=True):
        made = e.problem()
        check_installed(made.task)
        problem = describe(e, made)
        length = check_at_least("iterations", e.iterations if iterations is None else iterations, 1)
        for name in chosen[e.name]:
            numbers = e.algorithm(name)
            for path, text in overrides.items():
                algorithm, _, number = path.partition(".")
                if algorithm == name:
                    numbers = override(numbers, number, text)
            check_installed(numbers)
            jobs += [
                Job(
                    *(e, name, numbers, seed, length, out, problem, checkpoint_seconds),
                    reference if isinstance(reference, str) else "",
                )
                for seed in seeds
            ]
    for job in jobs:
        _check_siblings(job)
    for job in jobs[:: len(seeds)]:
        _check_portable(job)
    part, parts = shard
    return jobs[part - 1 :: parts]


def _check_siblings(job: Job) -> None:
    """All seeds of an algorithm in one folder have the same numbers."""
    check_spec(job.folder, job.spec)
    for sibling in sorted(job.folder.parent.glob("seed-*/spec.json"))[:1]:
        check_spec(sibling.parent, {**job.spec, "seed": read_spec(sibling.parent)["seed"]})


def _check_portable(job: Job) -> None:
    """A job can be sent to other processes and its spec be written down."""
    try:
        pickle.dumps(job)  # only to see whether it can be: nothing is ever loaded from a file
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"experiment {job.experiment.name!r} must be made of things that other processes can "
            f"import, defined at the top of a module; {error}"
        ) from error


def execute_all(jobs: Sequence[Job], engine: Engine, watcher: Watcher) -> None:
    """Execute what is not done yet."""
    missing = [job for job in jobs if not job.done]
    for job in {job.experiment.name: job for job in missing}.values():
        write_setting(job.out, setting_of(job.experiment, job.reference))
    for job in missing:
        ask_for(job.folder, job.spec, job.iterations)
    if missing:
        engine.run(missing, watcher)


def make_engine(name: EngineName, workers: int | None, address: str | None) -> Engine:
    """The engine called `name`."""
    if name == "local":
        if address is not None:
            raise ValueError(f"address is for the ray engine only; got {address!r}")
        return LocalEngine(workers)
    from selfpaced.engines.ray import RayEngine

    return RayEngine(workers, address)


class Collector:
    """A watcher that remembers what went wrong."""

    def __init__(self) -> None:
        self.failures: list[tuple[Job, str]] = []
        self.others: list[Job] = []

    def started(self, job: Job) -> None: ...
    def progressed(self, job: Job, iteration: int, success: float | None) -> None: ...
    def finished(self, job: Job, problems: list[str]) -> None: ...
    def retried(self, job: Job, reason: str) -> None: ...

    def elsewhere(self, job: Job) -> None:
        self.others.append(job)

    def failed(self, job: Job, error: str) -> None:
        self.failures.append((job, error))


class SweepFailed(RuntimeError):
    """Some runs failed; the others are finished and stored."""


def run(
    experiments: str | Experiment | Sequence[str | Experiment],
    algorithms: Sequence[str] | None = None,
    *,
    seeds: int | str | Sequence[int] = 5,
    iterations: int | None = None,
    out: str | Path = "runs",
    workers: int | None = None,
    engine: EngineName = "local",
    address: str | None = None,
    overrides: Mapping[str, str] | None = None,
) -> dict[str, dict[str, Group]]:
    """Train, in parallel and stored in `out`; what `load(out)` returns of these experiments.

    As the command `selfpaced run`. Finished runs found in `out` are not repeated.
    """
    several = [experiments] if isinstance(experiments, str | Experiment) else list(experiments)
    numbers = seeds_from(seeds) if isinstance(seeds, str | int) else list(seeds)
    jobs = plan(several, algorithms, numbers, Path(out), iterations=iterations, overrides=overrides)
    watcher = Collector()
    execute_all(jobs, make_engine(engine, workers, address), watcher)
    if watcher.failures:
        job, error = watcher.failures[0]
        raise SweepFailed(
            f"{len(watcher.failures)} of {len(jobs)} runs failed; {job.name}: {error}"
        )
    unfinished = [job for job in jobs if not job.done]
    if unfinished:
        raise SweepFailed(
            f"{len(unfinished)} of {len(jobs)} runs are not finished: another launcher has them"
        )
    wanted = {job.experiment.name for job in jobs}
    return {name: found for name, found in load(out).items() if name in wanted}


@dataclass(frozen=True)
class Status:
    """How far one run is."""

    folder: Path
    spec: dict[str, object]
    state: Literal["done", "running", "failed", "missing"]
    iteration: int
    iterations: int
    error: str | None


def status(out: Path) -> list[Status]:
    """The state of every run that was ever asked for in `out`."""
    found: list[Status] = []
    for folder in run_folders(out):
        asked, finished, error = asked_iterations(folder), finished_iterations(folder), None
        if finished and finished >= asked:
            state, iteration = "done", finished
        else:
            error = read_error(folder)
            iteration = recorded_iterations(folder)
            state = "running" if is_locked(folder) else "failed" if error else "missing"
        found.append(Status(folder, read_spec(folder), state, iteration, asked, error))
    return found
