"""Many runs: from names and seeds to jobs, to an engine, to results."""

import contextlib
import pickle
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from selfpaced.engines.job import Engine, Job, describe
from selfpaced.engines.local import LocalEngine
from selfpaced.experiments import Experiment, find_experiment
from selfpaced.experiments.fingerprint import code_fingerprint
from selfpaced.experiments.optional_packages import check_installed
from selfpaced.experiments.override import override
from selfpaced.experiments.report_info import info_of
from selfpaced.maths.archives import DamagedFile
from selfpaced.maths.arrays import check_at_least
from selfpaced.names import named
from selfpaced.report.data import Group, by_name, groups, unique_runs
from selfpaced.store.experiment_info import write_info
from selfpaced.store.files import plain
from selfpaced.store.reading import finished_runs
from selfpaced.store.spec import ask_for, check_spec
from selfpaced.store.writing import CHECKPOINT_SECONDS
from selfpaced.types import Algorithm

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
    """The pair (2, 8) from "2/8": the second of eight parts."""
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"shard must be i/n with 1 <= i <= n, such as 2/8; got {text!r}")
    return int(part), int(parts)


def plan(
    experiments: Sequence[str | Experiment],
    algorithms: str | Sequence[str] | None,
    seeds: Sequence[int],
    out: Path,
    *,
    iterations: int | None = None,
    overrides: Mapping[str, str] | None = None,
    shard: tuple[int, int] = (1, 1),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    accept_edited_code: bool = False,
) -> list[Job]:
    """The jobs that were asked for; every name, value and folder is checked before any runs.

    Without `algorithms`, all that an experiment knows. `overrides` maps "algorithm.field" to text.
    With a `shard` (i, n), every n-th job from the i-th on.
    """
    if not experiments or not seeds:
        raise ValueError("experiments and seeds must name at least one each; got none")
    seeds = [check_at_least("seeds", seed, 0) for seed in seeds]
    if not checkpoint_seconds >= 0.0:
        raise ValueError(f"checkpoint_seconds must be at least 0; got {checkpoint_seconds}")
    overrides = overrides or {}
    found = [find_experiment(name) for name in experiments]
    algorithms = [algorithms] if isinstance(algorithms, str) else algorithms
    chosen = {e.name: list(algorithms or e.algorithms) for e in found}
    known = {algorithm for e in found for algorithm in chosen[e.name]}
    for path in overrides:
        named("algorithm of an override", path.partition(".")[0], known)
    jobs: list[Job] = []
    for experiment, reference in zip(found, experiments, strict=True):
        problem = experiment.built_problem()
        check_installed(problem.task)
        description = describe(experiment, problem)
        for name in chosen[experiment.name]:
            length = experiment.iterations_of(name) if iterations is None else iterations
            config = _overridden(name, experiment.algorithm(name), overrides)
            check_installed(config)
            code = code_fingerprint(experiment.problem, problem, config)
            plain_config = plain(config)
            alike = [
                Job(
                    experiment=experiment,
                    algorithm=name,
                    config=config,
                    plain_config=plain_config,
                    seed=seed,
                    iterations=check_at_least("iterations", length, 1),
                    out=out.absolute(),
                    problem=description,
                    code=code,
                    accept_edited_code=accept_edited_code,
                    checkpoint_seconds=checkpoint_seconds,
                    reference=reference if isinstance(reference, str) else "",
                )
                for seed in seeds
            ]
            _check_folders(alike)
            _check_portable(alike[0])
            jobs += alike
    part, parts = shard
    return jobs[part - 1 :: parts]


def _overridden(name: str, config: Algorithm, overrides: Mapping[str, str]) -> Algorithm:
    """The configuration of the algorithm called `name` with its overrides."""
    for path, text in overrides.items():
        algorithm, _, field = path.partition(".")
        if algorithm == name:
            config = override(config, field, text)
    return config


def _check_folders(alike: Sequence[Job]) -> None:
    """All seeds of an algorithm in one folder have the same spec, those of earlier sweeps too.

    A damaged run is no reason to refuse the others: `run_jobs` says so if it is asked for.
    """
    first, spec = alike[0], alike[0].spec
    for folder in sorted(first.folder.parent.glob("seed-*")):
        digits = folder.name.removeprefix("seed-")
        if digits.isdecimal():
            accept = first.accept_edited_code
            with contextlib.suppress(DamagedFile):
                check_spec(folder, {**spec, "seed": int(digits)}, accept_edited_code=accept)


def _check_portable(job: Job) -> None:
    """Raise a ValueError if the job cannot be sent to other processes."""
    try:
        pickle.dumps(job)  # only to see whether it can be: nothing is ever loaded from a file
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"experiment {job.experiment.name!r} must be made of things that other processes can "
            f"import, defined at the top of a module; {error}"
        ) from error


def make_engine(
    name: EngineName,
    workers: int | None = None,
    address: str | None = None,
    threads: int | None = None,
) -> Engine:
    """The engine called `name`; without `threads`, runs share the processors."""
    if name == "local":
        if address is not None:
            raise ValueError(f"address is for the ray engine only; got {address!r}")
        return LocalEngine(workers, threads)
    from selfpaced.engines.ray import RayEngine

    return RayEngine(workers, address, threads)


class Collector:
    """A watcher that remembers how jobs ended."""

    def __init__(self) -> None:
        self.failures: list[tuple[Job, str]] = []
        self.others: list[Job] = []  # jobs that another launcher worked on
        self._finished: set[str] = set()

    def planned(self, jobs: int, done: int) -> None:
        """Nothing to remember."""

    def started(self, job: Job) -> None:
        """Nothing to remember."""

    def progressed(self, job: Job, iteration: int, success: float | None) -> None:
        """Nothing to remember."""

    def finished(self, job: Job, problems: list[str]) -> None:
        """Remember that the job is done, whoever did it."""
        self._finished.add(job.name)

    def retried(self, job: Job, reason: str) -> None:
        """Nothing to remember."""

    def elsewhere(self, job: Job) -> None:
        """Remember that another launcher works on the job."""
        self.others.append(job)

    def failed(self, job: Job, error: str) -> None:
        """Remember the job and its error."""
        self.failures.append((job, error))

    @property
    def unfinished(self) -> list[Job]:
        """Jobs that another launcher still works on."""
        return [job for job in self.others if job.name not in self._finished]


@dataclass(frozen=True)
class Sweep:
    """How a sweep ended."""

    jobs: list[Job]
    """All that were asked for."""
    failures: list[tuple[Job, str]]
    """Jobs that failed, with their errors."""
    unfinished: int
    """How many jobs other launchers still work on."""
    groups: list[Group]
    """Finished runs of the jobs' experiments, this sweep's and earlier ones."""


def run_jobs(
    jobs: list[Job], engine: Engine, watcher: Collector, *, for_tables: bool = False
) -> Sweep:
    """Execute what is not done yet, and read what is.

    With `for_tables` only what tables and learning curves show is read.
    """
    names = {job.experiment.name for job in jobs}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs = finished_runs(jobs[0].out, names, for_tables=for_tables) if jobs else []
    lengths = {(r.experiment, r.algorithm, r.seed): r.result["iterations"] for r in runs}
    missing = [
        job
        for job in jobs
        if lengths.get((job.experiment.name, job.algorithm, job.seed), 0) < job.iterations
    ]
    watcher.planned(len(jobs), len(jobs) - len(missing))
    for job in {job.experiment.name: job for job in missing}.values():
        write_info(job.out, info_of(job.experiment, job.reference))
    asked: list[Job] = []
    for job in missing:
        accept = job.accept_edited_code
        try:
            ask_for(job.folder, job.spec, job.iterations, accept_edited_code=accept)
            asked.append(job)
        except DamagedFile as error:  # costs this run, not the others
            watcher.failed(job, str(error))
    if asked:
        engine.run(asked, watcher)
    if missing:  # what was damaged may be repaired now
        runs = finished_runs(jobs[0].out, names, for_tables=for_tables)
    else:
        for warning in caught:
            warnings.warn(warning.message, stacklevel=2)
    return Sweep(jobs, watcher.failures, len(watcher.unfinished), groups(unique_runs(runs)))


class SweepFailed(RuntimeError):
    """Some runs failed; the others are finished and stored."""


def run(
    experiments: str | Experiment | Sequence[str | Experiment],
    algorithms: str | Sequence[str] | None = None,
    *,
    seeds: int | str | Sequence[int] = 5,
    iterations: int | None = None,
    out: str | Path = "runs",
    workers: int | None = None,
    threads: int | None = None,
    engine: EngineName = "local",
    address: str | None = None,
    overrides: Mapping[str, str] | None = None,
    accept_edited_code: bool = False,
) -> dict[str, dict[str, Group]]:
    """Train, in parallel and stored in `out`; return what `load(out)` says of these experiments.

    It does what the command `selfpaced run` does. Finished runs found in `out` are not repeated.
    `workers` runs execute at once, each on `threads` threads where its task can use them; by
    default one per processor, and the processors are shared out.
    """
    several = [experiments] if isinstance(experiments, str | Experiment) else list(experiments)
    chosen = seeds_from(seeds) if isinstance(seeds, str | int) else list(seeds)
    jobs = plan(
        several,
        algorithms,
        chosen,
        Path(out),
        iterations=iterations,
        overrides=overrides,
        accept_edited_code=accept_edited_code,
    )
    sweep = run_jobs(jobs, make_engine(engine, workers, address, threads), Collector())
    if sweep.failures:
        job, error = sweep.failures[0]
        raise SweepFailed(f"{len(sweep.failures)} of {len(jobs)} runs failed; {job.name}: {error}")
    if sweep.unfinished:
        raise SweepFailed(
            f"{sweep.unfinished} of {len(jobs)} runs are not finished: another `selfpaced run` is "
            "working on them"
        )
    return by_name(sweep.groups)
