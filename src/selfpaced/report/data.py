"""Stored runs as arrays: one group per experiment and algorithm, one row per seed."""

import contextlib
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from selfpaced.experiments import EXPERIMENTS
from selfpaced.experiments.optional_packages import MissingPackage
from selfpaced.experiments.report_info import info_of
from selfpaced.maths.archives import DAMAGE, DamagedFile
from selfpaced.maths.arrays import Array
from selfpaced.store.experiment_info import ExperimentInfo, info_from_spec, read_infos
from selfpaced.store.files import DamageWarning
from selfpaced.store.packed import packed_info, read_packed
from selfpaced.store.reading import StoredRun, finished_runs
from selfpaced.store.spec import differences, edited_code, without_code

LOW, MEDIAN, HIGH = 0.1, 0.5, 0.9  # quantiles over seeds, as in the paper's figures
# Order of the algorithms in tables and legends; others follow by name.
ORDER = ("sprl", "sprl-mastery", "creps", "cmaes", "goalgan", "saggriac", "ppo")


@dataclass(frozen=True)
class Group:
    """The finished runs of one algorithm on one experiment."""

    experiment: str
    """Name of the experiment."""
    algorithm: str
    """Name of the algorithm within the experiment."""
    runs: tuple[StoredRun, ...]
    """One finished run per seed."""

    def __repr__(self) -> str:
        success = f"{np.median(self.success):.2f}" if self.runs else "unknown"
        return (
            f"Group({self.experiment}, {self.algorithm}, {len(self.runs)} seeds, "
            f"median success {success})"
        )

    @property
    def success(self) -> Array:
        """(seeds,): final success rate on the target; nan where the task defines no success."""
        return self._results("target_success")

    @property
    def reward(self) -> Array:
        """(seeds,): final mean reward on the target."""
        return self._results("target_reward")

    @property
    def success_at_mean(self) -> Array:
        """(seeds,): final success rate at the target's mean."""
        return self._results("success_at_mean")

    @property
    def reward_at_mean(self) -> Array:
        """(seeds,): final mean reward at the target's mean."""
        return self._results("reward_at_mean")

    @property
    def rescored_success(self) -> dict[str, Array]:
        """(seeds,) for each of the problem's `final_tasks`: the final success rate in it."""
        names = dict.fromkeys(
            key.removeprefix("rescored_").removesuffix("_success")
            for run in self.runs
            for key in run.result
            if key.startswith("rescored_") and key.endswith("_success")
        )
        return {name: self._results(f"rescored_{name}_success") for name in names}

    @property
    def rollouts(self) -> Array:
        """(seeds,): rollouts that learning took."""
        return self._results("rollouts")

    def _results(self, name: str) -> Array:
        """(seeds,): one entry of the results; nan where it is not known."""
        return np.array([run.result.get(name, np.nan) for run in self.runs], dtype=float)

    def iterations_to(self, success: float) -> Array:
        """(seeds,): first iteration with at least this measured success rate; infinity if none.

        Of a run that was measured at its end only, as some logbooks are, it is unknown, nan.
        """
        return np.array([_first(run, success) for run in self.runs])

    def curve(self, name: str) -> tuple[Array, Array]:
        """Iterations (k,) at which every run recorded the metric `name`, and values (seeds, k)."""
        columns: list[dict[int, float]] = [
            {r["iteration"]: r[name] for r in run.records if name in r} for run in self.runs
        ]
        shared = [i for i in columns[0] if all(i in column for column in columns)]
        values = [[column[iteration] for iteration in shared] for column in columns]
        return np.array(shared, dtype=float), np.array(values, dtype=float)


def groups(runs: list[StoredRun]) -> list[Group]:
    """`runs` grouped by experiment and algorithm, in the order of tables and figures.

    Registered experiments come first, in the order of the registry; others follow by name.
    """
    members: dict[tuple[str, str], list[StoredRun]] = {}
    for run in runs:
        members.setdefault((run.experiment, run.algorithm), []).append(run)

    registered = list(EXPERIMENTS)

    def rank(name: tuple[str, str]) -> tuple[int, str, int, str]:
        experiment, algorithm = name
        place = registered.index(experiment) if experiment in registered else len(registered)
        known = ORDER.index(algorithm) if algorithm in ORDER else len(ORDER)
        return place, experiment, known, algorithm

    return [Group(*name, tuple(members[name])) for name in sorted(members, key=rank)]


def stored_runs(*paths: str | Path, for_tables: bool = False) -> list[StoredRun]:
    """All finished runs in `paths`: folders of runs, folders of packed files, or packed files.

    A run that is found twice counts once, as it was found last. What is damaged is left out, with
    a DamageWarning. Raise a ValueError if a path does not exist, or if two runs of an algorithm
    have different specs: they do not belong together. Warn if they were made by different code.
    With `for_tables` what no table shows is left out: policies, trajectories, most records.
    """
    runs: list[StoredRun] = []
    for path in map(Path, paths):
        if not path.exists():
            raise ValueError(f"no such folder or packed file: {path}")
        if not path.is_dir():
            runs += read_packed(path) if len(paths) == 1 else _packed_runs(path)
            continue
        runs += finished_runs(path, for_tables=for_tables)
        for file in sorted(path.glob("*.packed")):
            runs += _packed_runs(file)
    return unique_runs(runs)


def _packed_runs(path: Path) -> list[StoredRun]:
    """The runs in the packed file `path`; none if it is damaged, with a warning."""
    try:
        return read_packed(path)
    except DamagedFile as error:
        warnings.warn(str(error), DamageWarning, stacklevel=3)
        return []


def unique_runs(runs: list[StoredRun]) -> list[StoredRun]:
    """`runs` without repetitions: of one seed the longest counts.

    Raise a ValueError if runs of one algorithm have different specs, and warn if they were made by
    different code.
    """
    first: dict[tuple[str, str], StoredRun] = {}
    longest: dict[tuple[str, str, int], StoredRun] = {}
    for run in runs:
        other = first.setdefault((run.experiment, run.algorithm), run)
        name = f"runs of {run.algorithm} on {run.experiment}"
        alike = {**run.spec, "seed": other.seed}
        if alike != other.spec and (
            found := list(differences(without_code(alike), without_code(other.spec)))
        ):
            raise ValueError(
                f"{name} with different specs do not go into one table: {'; '.join(found)}"
            )
        if edited := edited_code(run.spec, other.spec):
            warnings.warn(f"{name} were made by different code: {'; '.join(edited)}", stacklevel=2)
        if "earlier_code" in run.spec:
            warnings.warn(
                f"{run.algorithm} on {run.experiment}, seed {run.seed}, was continued after the "
                "code had been edited",
                stacklevel=2,
            )
        key = run.experiment, run.algorithm, run.seed
        known = longest.setdefault(key, run)
        if int(run.result["iterations"]) > int(known.result["iterations"]):
            longest[key] = run
    return list(longest.values())


def infos(runs: list[StoredRun], *paths: str | Path) -> dict[str, ExperimentInfo]:
    """What reports must know of each experiment of `runs`, by the experiment's name.

    Taken from the registry, else from what `paths` hold beside the runs, else from a run's spec.
    The registry says nothing of an experiment whose packages are not installed. An experiment of
    which nothing is known is left out, with a warning.
    """
    found: dict[str, ExperimentInfo] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            files = [path]
        else:
            found |= read_infos(path)
            files = sorted(path.glob("*.packed"))
        for file in files:
            with contextlib.suppress(DamagedFile):  # `stored_runs` has said so
                info = packed_info(file)
                found |= {} if info is None else {info.name: info}
    for run in {run.experiment: run for run in reversed(runs)}.values():  # the first of each
        if run.experiment in EXPERIMENTS:
            with contextlib.suppress(MissingPackage):
                found[run.experiment] = info_of(EXPERIMENTS[run.experiment], run.experiment)
                continue
        try:
            from_spec = info_from_spec(run.spec, int(run.result["iterations"]))
        except DAMAGE as error:
            text = f"the spec of {run.experiment} does not describe its problem: {error}"
            warnings.warn(f"{text}; there are no figures of it", DamageWarning, stacklevel=2)
            found.pop(run.experiment, None)
            continue
        known = found.setdefault(run.experiment, from_spec)
        if len(known.low) != len(from_spec.low):
            text = f"what is stored of {run.experiment} beside its runs does not fit them"
            warnings.warn(f"{text}; figures go without it", DamageWarning, stacklevel=2)
            found[run.experiment] = from_spec
    return found


def load(*paths: str | Path) -> dict[str, dict[str, Group]]:
    """Finished runs by experiment and algorithm, from folders of runs or packed files.

    `load("runs")["gate-precision"]["sprl"].success` holds one final success rate per seed.
    """
    return by_name(groups(stored_runs(*paths)))


def by_name(members: list[Group]) -> dict[str, dict[str, Group]]:
    """`members` in a dictionary, by experiment and then by algorithm."""
    found: dict[str, dict[str, Group]] = {}
    for group in members:
        found.setdefault(group.experiment, {})[group.algorithm] = group
    return found


def quantiles(values: Array) -> tuple[Array, Array, Array]:
    """10%, 50% and 90% quantiles of `values` over the first axis.

    Nothing can be interpolated between a number and infinity ("never"), so such a quantile is
    infinite: a median is finite only if more than half of the seeds are.
    """
    levels = [LOW, MEDIAN, HIGH]
    with np.errstate(invalid="ignore"):
        between = np.quantile(values, levels, axis=0)
    above = np.quantile(values, levels, axis=0, method="higher")
    low, middle, high = np.where(np.isinf(above) | np.isnan(between), above, between)
    return low, middle, high


def _first(run: StoredRun, success: float) -> float:
    """First iteration of `run` with at least this measured success rate; infinity if none.

    It is nan if nothing was measured on the way: success may have come at any time before the end.
    """
    measured = [(r["iteration"], r["target_success"]) for r in run.records if "target_success" in r]
    if not measured:
        return np.nan
    measured.append((run.result["iterations"], run.result.get("target_success", np.nan)))
    return min((i for i, rate in measured if rate >= success), default=np.inf)
