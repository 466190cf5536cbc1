"""How far every run of a store is."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from selfpaced.maths.archives import DamagedFile
from selfpaced.store.finding import Finding
from selfpaced.store.health import SOLVED, findings
from selfpaced.store.locking import is_locked
from selfpaced.store.reading import (
    last_success,
    policy_dimension,
    read_error,
    read_result,
    recorded,
    recorded_metrics,
)
from selfpaced.store.spec import asked_iterations, read_spec, run_folders


@dataclass(frozen=True)
class RunStatus:
    """How far one run is."""

    folder: Path
    """The run's folder."""
    spec: dict[str, Any]
    """What identifies the run."""
    state: Literal["done", "running", "failed", "missing"]
    """A "missing" run was asked for, is not finished, and nobody works on it."""
    iteration: int
    """Iterations that are recorded."""
    iterations: int
    """Iterations that were asked for."""
    error: str | None
    """Why the run failed, if it did."""
    target_success: float = math.nan
    """The last success rate on the target that is recorded; nan if none is."""
    damaged: bool = False
    """True if files of the run are damaged or missing."""
    final_success: float = math.nan
    """Success rate on the target at the end, as tables show it; nan if it is not known."""

    @property
    def name(self) -> str:
        """Experiment, algorithm and seed."""
        return f"{self.spec['experiment']} {self.spec['algorithm']} seed {self.spec['seed']}"

    def health(self) -> list[Finding]:
        """What is wrong with the run, judged by its records so far."""
        if self.target_success >= SOLVED:
            return []  # as `findings` says of such runs, without reading all their records
        return findings(
            recorded(self.folder, for_health=True),
            policy_dimension(self.folder),
            finished=self.state == "done",
        )


def status(out: Path) -> list[RunStatus]:
    """The status of every run that was ever asked for in `out`."""
    return [_status(folder) for folder in run_folders(out)]


def _status(folder: Path) -> RunStatus:
    try:
        spec = read_spec(folder)
    except DamagedFile as error:  # the folder's path still names experiment, algorithm and seed
        name = {"experiment": folder.parents[1].name, "algorithm": folder.parent.name}
        spec = {**name, "seed": folder.name.removeprefix("seed-").lstrip("0") or "0"}
        return RunStatus(folder, spec, "failed", 0, 0, str(error), damaged=True)
    asked, error = asked_iterations(folder), None
    try:
        result, content = read_result(folder)
        if 0 < result["iterations"] >= asked:
            success = last_success(content["metrics.jsonl"])
            done, final = result["iterations"], result.get("target_success")
            final = float(final) if isinstance(final, int | float) else math.nan
            return RunStatus(folder, spec, "done", done, asked, None, success, final_success=final)
    except FileNotFoundError:
        pass  # not finished yet
    except DamagedFile as damage:
        error = f"{damage}; run it again to repair it"
    damaged = error is not None
    error = error or read_error(folder)
    state = "running" if _is_running(folder) else "failed" if error else "missing"
    metrics = recorded_metrics(folder)
    done, success = metrics.count(b"\n"), last_success(metrics)
    return RunStatus(folder, spec, state, done, asked, error, success, damaged)


def _is_running(folder: Path) -> bool:
    try:
        return is_locked(folder)
    except DamagedFile:
        return False
