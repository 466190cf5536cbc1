"""Finished runs read back from their files, every one checked against its checksum."""

import io
import math
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from selfpaced.maths.archives import DAMAGE, DamagedFile, arrays_in, damage_named
from selfpaced.maths.policy import Policy, policy_from
from selfpaced.store.compatibility import upgraded_result
from selfpaced.store.files import (
    LARGEST_JSON,
    DamageWarning,
    file_bytes,
    read_vouched_json,
    vouched_json,
    vouched_object,
)
from selfpaced.store.records import (
    check_arrays,
    check_dimension,
    check_result,
    is_number,
    measured_records,
    parsed_record,
    parsed_records,
    with_nan,
)
from selfpaced.store.spec import MOST_ITERATIONS, checked_spec, read_spec, run_folders
from selfpaced.types import AnyArray, Record

TAIL_BYTES = 16_384  # of the metrics that are read to find their last line
NO_CONTEXTS = np.zeros((0, 1))  # of a run that is read for tables
SHAPE, HEADER_BYTES = re.compile(rb"'shape': \((\d{1,9}),"), 200  # in the header of an array
ATTEMPTS = 5  # to read a result that another process is replacing
VOUCHED_FILES = ("metrics.jsonl", "final.npz", "policy.npz")  # what a result may vouch for


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
    teacher_seconds: float = math.nan
    """CPU time that the teacher took, of `cpu_seconds`; nan if it was not measured."""

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


def check_run(run: StoredRun) -> None:
    """Raise a ValueError unless `run`, which was read, has all that tables and figures need."""
    checked_spec(run.spec)
    check_result(run.result)
    check_dimension(run.records, run.spec)
    check_arrays(run.contexts, run.trajectories)


def read_run(folder: Path, *, for_tables: bool = False) -> StoredRun:
    """The finished run in `folder`; a DamagedFile that says which file is damaged.

    All files that are read are checked against their checksums. With `for_tables` the policy, the
    trajectories and the records without a measurement are left out.
    """
    spec = read_spec(folder)
    result, content = read_result(folder, ("metrics.jsonl",) if for_tables else VOUCHED_FILES)
    policy, contexts, trajectories = None, NO_CONTEXTS, None
    if not for_tables:
        with damage_named(folder / "final.npz"):
            final = arrays_in(content["final.npz"])
            contexts, trajectories = final["contexts"], final.get("trajectories")
    if "policy.npz" in content and not for_tables:
        with damage_named(folder / "policy.npz"):
            policy = policy_from(arrays_in(content["policy.npz"]))
    with damage_named(folder / "metrics.jsonl"):
        lines = content["metrics.jsonl"].splitlines()
        records = measured_records(lines) if for_tables else parsed_records(lines)
    timing = read_timing(folder)
    run = StoredRun(
        spec=spec,
        records=records,
        result=with_nan(upgraded_result(result)),
        cpu_seconds=timing.cpu_seconds,
        policy=policy,
        contexts=contexts,
        trajectories=trajectories,
        teacher_seconds=timing.teacher_seconds,
    )
    with damage_named(folder / "result.json"):
        check_run(run)
    return run


def finished_runs(
    out: Path, experiments: Container[str] | None = None, *, for_tables: bool = False
) -> list[StoredRun]:
    """The finished runs below `out`, of all experiments or of some, in order.

    A damaged run is left out, with a warning. `for_tables` is that of `read_run`.
    """
    runs: list[StoredRun] = []
    for folder in run_folders(out):
        if experiments is not None and folder.parents[1].name not in experiments:
            continue
        try:
            if (folder / "result.json").exists():
                runs.append(read_run(folder, for_tables=for_tables))
            elif not (folder / "spec.json").exists():
                read_spec(folder)  # says that it is missing
        except FileNotFoundError:
            continue  # another process has just begun to replace the result
        except DamagedFile as error:
            again = "" if "run it again" in str(error) else "; run it again to repair it"
            warnings.warn(f"{error}{again}", DamageWarning, stacklevel=2)
    return runs


def read_result(
    folder: Path, names: Sequence[str] = VOUCHED_FILES
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The result in `folder`, and the files it vouches for; a DamagedFile if one is damaged.

    Of the files only those called `names` are read. Another process may replace a result by that
    of a longer run while this one reads. So files that do not fit are read again with the new
    result, if there is one. Raise a FileNotFoundError if there is no result.
    """
    path = folder / "result.json"
    stated = file_bytes(path, LARGEST_JSON)
    for _ in range(ATTEMPTS):
        try:
            return _read_result(folder, stated, names)
        except DamagedFile:
            again = file_bytes(path, LARGEST_JSON)
            if again == stated:
                raise
            stated = again
    return _read_result(folder, stated, names)


def _read_result(
    folder: Path, stated: bytes, names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    with damage_named(folder / "result.json"):
        result = vouched_object(stated)
        checksums, length = result["crc"], result["metrics_bytes"]
        if type(result["iterations"]) is not int or type(length) is not int:
            raise ValueError("iterations and metrics_bytes must be whole numbers")
        if not 0 <= result["iterations"] <= MOST_ITERATIONS:
            raise ValueError(f"it has {result['iterations']} iterations")
        if not {"metrics.jsonl", "final.npz"} <= set(checksums) <= set(VOUCHED_FILES):
            raise ValueError(f"it must vouch for {VOUCHED_FILES}; got {sorted(checksums)}")
    content: dict[str, bytes] = {}
    for name in (name for name in checksums if name in names):
        path = folder / name
        try:
            content[name] = file_bytes(path)
        except FileNotFoundError as error:
            raise DamagedFile(path, "it is missing") from error
        if name == "metrics.jsonl":  # a run that goes on has more lines already
            content[name] = content[name][:length]
        if zlib.crc32(content[name]) != checksums[name]:
            raise DamagedFile(path, "its checksum is not the one in result.json")
    return result, content


def finished_iterations(folder: Path) -> int:
    """Iterations of the finished run in `folder`; 0 if there is none, or a damaged one."""
    if not (folder / "result.json").exists():
        return 0
    try:
        read_spec(folder)
        return int(read_result(folder)[0]["iterations"])
    except (FileNotFoundError, DamagedFile):
        return 0


def recorded_iterations(folder: Path) -> int:
    """Complete lines of metrics in `folder`, even while another process writes."""
    return recorded_metrics(folder).count(b"\n")


def recorded(folder: Path, *, for_health: bool = False) -> list[Record]:
    """The complete lines of metrics in `folder`, even while another process writes.

    Nothing if they are damaged: the run itself says so when it goes on. With `for_health` the
    first, the last and those with a measurement, by which health is judged; all if none has one.
    """
    lines = recorded_metrics(folder).split(b"\n")[:-1]
    try:
        return parsed_records(lines, for_health)
    except DAMAGE:
        return []


def last_success(metrics: bytes) -> float:
    """The last success rate on the target in lines of `metrics`; nan if none is known."""
    for line in reversed(metrics.split(b"\n")[:-1]):
        if b'"target_success"' in line:
            try:
                return float(parsed_record(line).get("target_success", math.nan))
            except DAMAGE:
                break
    return math.nan


def last_record(folder: Path) -> Record | None:
    """The last complete line of metrics in `folder`, even while another process writes."""
    path = folder / "metrics.jsonl"
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        lines = file.read().split(b"\n")[:-1]  # what follows the last newline is not complete
    try:
        return parsed_record(lines[-1]) if lines else None
    except DAMAGE:
        return None  # damaged, or a line longer than what was read


def recorded_metrics(folder: Path) -> bytes:
    """The metrics in `folder`; nothing if there are none, or if they are no regular file."""
    try:
        return file_bytes(folder / "metrics.jsonl")
    except (FileNotFoundError, DamagedFile):
        return b""


def policy_dimension(folder: Path) -> int | None:
    """Parameters that the policy of the run in `folder` draws; None before it is finished."""
    try:
        with zipfile.ZipFile(io.BytesIO(file_bytes(folder / "policy.npz"))) as file:
            name = "A.npy" if "A.npy" in file.namelist() else "std.npy"
            with file.open(name) as member:  # its header tells, so nothing else is read
                shape = SHAPE.search(member.read(HEADER_BYTES))
        return None if shape is None else int(shape[1])
    except (FileNotFoundError, *DAMAGE):
        return None  # damaged: the run counts as not finished


class Timing(NamedTuple):
    """CPU time of a run so far; nan where nobody knows."""

    cpu_seconds: float
    """Of the whole run."""
    teacher_seconds: float
    """Of its teacher."""

    def as_json(self) -> bytes:
        """The content of `timing.json`."""
        known = {name: s for name, s in self._asdict().items() if not math.isnan(s)}
        return vouched_json(known)


def read_timing(folder: Path) -> Timing:
    """CPU time of the run in `folder` so far."""
    try:
        stored = read_vouched_json(folder / "timing.json")
    except (FileNotFoundError, DamagedFile):
        return Timing(math.nan, math.nan)
    found: list[Any] = [stored.get(name) for name in Timing._fields]
    return Timing(*(float(seconds) if is_number(seconds) else math.nan for seconds in found))


def read_error(folder: Path) -> str | None:
    """Why the run in `folder` failed; None if it did not."""
    path = folder / "error.json"
    try:
        stored = read_vouched_json(path)
        with damage_named(path):
            return str(stored["error"])
    except FileNotFoundError:
        return None
    except DamagedFile as error:
        return str(error)
