"""Finished runs read back from their files, every one checked against its checksum."""

import json
import math
import os
import warnings
import zlib
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfpaced.maths.policy import Policy, load_policy
from selfpaced.store.compatibility import upgraded_record, upgraded_result
from selfpaced.store.files import read_json, read_npz, read_vouched_json
from selfpaced.store.spec import read_spec, run_folders
from selfpaced.types import AnyArray, Record

TAIL_BYTES = 16_384  # of the metrics that are read to find their last line


@dataclass(frozen=True)
class StoredRun:
    """A finished run, read back from its files or from packed results."""

    spec: dict[str, Any]
    """What identifies the run; see `store/spec.py`."""
    records: list[Record]
    """One per recorded iteration; packed results keep those that tables and figures need."""
    result: dict[str, Any]
    """The last measurement, the cost in rollouts and steps, and package versions."""
    cpu_seconds: float
    """CPU time of the run; nan if nobody knows."""
    policy: Policy | None
    """The learned policy; None for a training that keeps its own, see `Logbook`."""
    contexts: AnyArray
    """(10, d_c): contexts drawn from the target."""
    trajectories: AnyArray | None
    """(10, t, d): the policy on those contexts, where the task has trajectories."""

    def __repr__(self) -> str:
        success = self.result.get("target_success", math.nan)
        return (
            f"StoredRun({self.experiment}, {self.algorithm}, seed {self.seed}, "
            f"{self.result.get('iterations')} iterations, success {success:.2f})"
        )

    @property
    def experiment(self) -> str:
        """Name of the experiment."""
        return str(self.spec["experiment"])

    @property
    def algorithm(self) -> str:
        """Name of the algorithm within the experiment."""
        return str(self.spec["algorithm"])

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.spec["seed"])


def read_run(folder: Path) -> StoredRun:
    """The finished run in `folder`; a ValueError that says which file is damaged."""
    result, content = read_result(folder)
    final = read_npz(content["final.npz"])
    return StoredRun(
        spec=read_spec(folder),
        records=[_parsed(line) for line in content["metrics.jsonl"].splitlines()],
        result=_with_nan(upgraded_result(result)),
        cpu_seconds=read_cpu_seconds(folder),
        policy=load_policy(folder / "policy.npz") if "policy.npz" in content else None,
        contexts=final["contexts"],
        trajectories=final.get("trajectories"),
    )


def finished_runs(out: Path, experiments: Container[str] | None = None) -> list[StoredRun]:
    """The finished runs below `out`, of all experiments or of some, in order.

    A damaged run is left out, with a warning.
    """
    runs: list[StoredRun] = []
    for folder in run_folders(out):
        wanted = experiments is None or folder.parents[1].name in experiments
        if wanted and (folder / "result.json").exists():
            try:
                runs.append(read_run(folder))
            except ValueError as error:
                warnings.warn(f"{error}; run it again to repair it", stacklevel=2)
    return runs


def read_result(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The result in `folder`, and the files it vouches for; a ValueError if one is damaged."""
    result = read_vouched_json(folder / "result.json")
    if not {"iterations", "metrics_bytes", "crc"} <= set(result):
        raise ValueError(f"{folder / 'result.json'} is damaged: it lacks entries")
    content: dict[str, bytes] = {}
    for name, crc in result["crc"].items():
        path = folder / name
        content[name] = path.read_bytes() if path.exists() else b""
        if name == "metrics.jsonl":  # a run that goes on has more lines already
            content[name] = content[name][: result["metrics_bytes"]]
        if zlib.crc32(content[name]) != crc:
            raise ValueError(f"{path} is damaged: its checksum is not the one in result.json")
    return result, content


def finished_iterations(folder: Path) -> int:
    """Iterations of the finished run in `folder`; 0 if there is none, or a damaged one."""
    if not (folder / "result.json").exists():
        return 0
    try:
        return int(read_result(folder)[0]["iterations"])
    except ValueError:
        return 0


def recorded_iterations(folder: Path) -> int:
    """Complete lines of metrics in `folder`, even while another process writes."""
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def recorded(folder: Path) -> list[Record]:
    """The complete lines of metrics in `folder`, even while another process writes."""
    path = folder / "metrics.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    try:
        return [_parsed(line) for line in lines]
    except json.JSONDecodeError:
        return []  # damaged: the run itself says so when it goes on


def last_record(folder: Path) -> Record | None:
    """The last complete line of metrics in `folder`, even while another process writes."""
    path = folder / "metrics.jsonl"
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        lines = file.read().split(b"\n")[:-1]  # what follows the last newline is not complete
    try:
        return _parsed(lines[-1]) if lines else None
    except json.JSONDecodeError:
        return None  # a line longer than what was read


def policy_dimension(folder: Path) -> int | None:
    """Parameters that the policy of the run in `folder` draws; None before it is finished."""
    path = folder / "policy.npz"
    try:
        return load_policy(path).dimension if path.exists() else None
    except ValueError:
        return None  # damaged: the run counts as not finished


def read_cpu_seconds(folder: Path) -> float:
    """CPU time of the run so far; nan if nobody knows."""
    try:
        return float(read_json(folder / "timing.json")["cpu_seconds"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return math.nan


def read_error(folder: Path) -> str | None:
    """Why the run in `folder` failed; None if it did not."""
    path = folder / "error.json"
    return str(read_json(path).get("error", "unknown")) if path.exists() else None


def _parsed(line: bytes) -> Record:
    return upgraded_record(_with_nan(json.loads(line)))


def _with_nan(record: dict[str, Any]) -> dict[str, Any]:
    """JSON's null as nan."""
    return {name: math.nan if value is None else value for name, value in record.items()}
