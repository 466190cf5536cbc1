"""How far every run of a store is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from selfpaced.store.health import Finding, findings
from selfpaced.store.locking import is_locked
from selfpaced.store.reading import (
    finished_iterations,
    policy_dimension,
    read_error,
    recorded,
    recorded_iterations,
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

    @property
    def name(self) -> str:
        """Experiment, algorithm and seed."""
        return f"{self.spec['experiment']} {self.spec['algorithm']} seed {self.spec['seed']}"

    def health(self) -> list[Finding]:
        """What is wrong with the run, judged by its records so far."""
        return findings(recorded(self.folder), policy_dimension(self.folder))


def status(out: Path) -> list[RunStatus]:
    """The status of every run that was ever asked for in `out`."""
    return [_status(folder) for folder in run_folders(out)]


def _status(folder: Path) -> RunStatus:
    try:
        spec, asked = read_spec(folder), asked_iterations(folder)
    except ValueError as error:  # the folder's path still names experiment, algorithm and seed
        name = {"experiment": folder.parents[1].name, "algorithm": folder.parent.name}
        spec = {**name, "seed": folder.name.removeprefix("seed-").lstrip("0") or "0"}
        return RunStatus(folder, spec, "failed", 0, 0, str(error))
    finished, error = finished_iterations(folder), None
    if finished and finished >= asked:
        state, iteration = "done", finished
    else:
        error, iteration = read_error(folder), recorded_iterations(folder)
        state = "running" if is_locked(folder) else "failed" if error else "missing"
    return RunStatus(folder, spec, state, iteration, asked, error)
