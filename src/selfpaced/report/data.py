"""Stored runs as arrays: one group per experiment and algorithm, one row per seed."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from selfpaced.experiments import EXPERIMENTS
from selfpaced.experiments.setting import Setting, setting_from_spec, setting_of
from selfpaced.files import differences
from selfpaced.maths.arrays import Array
from selfpaced.packed import packed_setting, read_packed
from selfpaced.store import StoredRun, finished_runs, read_settings

LOW, MEDIAN, HIGH = 0.1, 0.5, 0.9  # the paper's band
ORDER = (
    "sprl",
    "sprl-ready",
    "creps",
    "cmaes",
    "goalgan",
    "saggriac",
    "ppo",
)  # in tables and legends


@dataclass(frozen=True)
class Group:
    """The finished runs of one algorithm on one experiment."""

    experiment: str
    algorithm: str
    runs: tuple[StoredRun, ...]

    @property
    def success(self) -> Array:
        """(seeds,): final success on the target."""
        return np.array([run.result["target_success"] for run in self.runs], dtype=float)

    @property
    def reward(self) -> Array:
        """(seeds,): final mean reward on the target."""
        return np.array([run.result["target_reward"] for run in self.runs], dtype=float)

    @property
    def success_at_mean(self) -> Array:
        """(seeds,): final success at the target's mean."""
        return np.array([run.result["success_at_mean"] for run in self.runs], dtype=float)

    @property
    def reward_at_mean(self) -> Array:
        """(seeds,): final mean reward at the target's mean."""
        return np.array([run.result["reward_at_mean"] for run in self.runs], dtype=float)

    @property
    def rescored_success(self) -> Array:
        """(seeds,): final success in the task's truer version; nan where there is none."""
        return np.array([run.result.get("rescored_success", np.nan) for run in self.runs])

    def iterations_to(self, success: float) -> Array:
        """(seeds,): first measurement at or above `success`; infinity where there is none."""
        return np.array([_first(run, success) for run in self.runs])

    def curve(self, name: str) -> tuple[Array, Array]:
        """Iterations (k,) and values (seeds, k) of a metric where every run recorded it."""
        columns: list[dict[int, float]] = [
            {r["iteration"]: r[name] for r in run.records if name in r} for run in self.runs
        ]
        shared = [i for i in columns[0] if all(i in column for column in columns)]
        values = [[column[iteration] for iteration in shared] for column in columns]
        return np.array(shared, dtype=float), np.array(values, dtype=float)


def groups(runs: list[StoredRun]) -> list[Group]:
    """`runs` by experiment and algorithm; the paper's in its order, then others."""
    by_name: dict[tuple[str, str], list[StoredRun]] = {}
    for run in runs:
        by_name.setdefault((run.experiment, run.algorithm), []).append(run)

    registered = list(EXPERIMENTS)

    def rank(name: tuple[str, str]) -> tuple[int, str, int, str]:
        experiment, algorithm = name
        place = registered.index(experiment) if experiment in registered else len(registered)
        known = ORDER.index(algorithm) if algorithm in ORDER else len(ORDER)
        return place, experiment, known, algorithm

    return [Group(*name, tuple(by_name[name])) for name in sorted(by_name, key=rank)]


def stored_runs(*paths: str | Path) -> list[StoredRun]:
    """All finished runs in stores (folders) and packed results (files)."""
    runs: list[StoredRun] = []
    for path in map(Path, paths):
        if not path.exists():
            raise ValueError(f"no such folder or packed file: {path}")
        if path.is_file():
            runs += read_packed(path)
        else:
            runs += finished_runs(path)
            for file in sorted(path.glob("*.packed")):
                runs += read_packed(file)
    first: dict[tuple[str, str], StoredRun] = {}
    for run in runs:
        other = first.setdefault((run.experiment, run.algorithm), run)
        if found := list(differences({**run.spec, "seed": other.seed}, other.spec)):
            raise ValueError(
                f"runs of {run.algorithm} on {run.experiment} with different specs do not go into "
                f"one table: {'; '.join(found)}"
            )
    return list({(r.experiment, r.algorithm, r.seed): r for r in runs}.values())


def settings(runs: list[StoredRun], *paths: str | Path) -> dict[str, Setting]:
    """What is known of each experiment of `runs`: registered, stored beside them, or guessed."""
    found: dict[str, Setting] = {}
    for path in map(Path, paths):
        if path.is_file():
            packed = [packed_setting(path)]
        else:
            found |= read_settings(path)
            packed = [packed_setting(file) for file in sorted(path.glob("*.packed"))]
        found |= {setting.name: setting for setting in packed if setting is not None}
    for run in runs:
        if run.experiment in EXPERIMENTS:
            registered = EXPERIMENTS[run.experiment]
            found[run.experiment] = setting_of(registered, run.experiment)
        elif run.experiment not in found:
            length = int(run.result["iterations"])
            found[run.experiment] = setting_from_spec(run.spec, length)
    return found


def load(*paths: str | Path) -> dict[str, dict[str, Group]]:
    """Finished runs by experiment and algorithm, from folders of runs or packed files.

    `load("runs")["gate-precision"]["sprl"].success` holds one final success rate per seed.
    """
    found: dict[str, dict[str, Group]] = {}
    for group in groups(stored_runs(*paths)):
        found.setdefault(group.experiment, {})[group.algorithm] = group
    return found


def quantiles(values: Array) -> tuple[Array, Array, Array]:
    """10%, 50% and 90% over the first axis.

    Between a number and infinity ("never") there is no mean: half the seeds is not enough for a
    median.
    """
    levels = [LOW, MEDIAN, HIGH]
    with np.errstate(invalid="ignore"):
        between = np.quantile(values, levels, axis=0)
    above = np.quantile(values, levels, axis=0, method="higher")
    low, middle, high = np.where(np.isinf(above) | np.isnan(between), above, between)
    return low, middle, high


def _first(run: StoredRun, success: float) -> float:
    measured = [(r["iteration"], r["target_success"]) for r in run.records if "target_success" in r]
    measured.append((run.result["iterations"], run.result["target_success"]))
    return min((i for i, rate in measured if rate >= success), default=np.inf)
