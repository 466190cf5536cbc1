"""Packed results: one small file per experiment with all that tables and figures need.

Of a run it keeps the spec, the result and the policy; the metrics at the first and the last
iteration, at those with a measurement and at those where figures show the contexts; and, for the
first seeds, the final trajectories. Curves and the policy's covariance are kept to three digits,
the policy's mean to seven, and the result exactly. A folder of runs can be made from it again:
its finished runs are not repeated, but there is no checkpoint to continue them from.

The file is a zip of arrays and one JSON text, LZMA-compressed; nothing in it is pickled.
"""

import io
import json
import math
import os
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.maths.archives import DamagedFile, array_in, damage_named, zip_members
from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.store.compatibility import METRICS, upgraded_result, upgraded_spec
from selfpaced.store.experiment_info import ExperimentInfo, info_from_json, write_info
from selfpaced.store.files import DamageWarning, file_bytes, json_object, plain, write_atomically
from selfpaced.store.locking import Locked
from selfpaced.store.packed_policies import compact, pack_policies, unpack_policy
from selfpaced.store.reading import StoredRun, check_run, finished_iterations, recorded_iterations
from selfpaced.store.records import CONTEXT_ROWS, checked_record, with_nan
from selfpaced.store.spec import CODE_KEYS, ask_for, run_folder
from selfpaced.store.writing import RunWriter
from selfpaced.types import AnyArray, Record

SUFFIX = ".packed"
KIND = "a file of packed results"
FORMAT = 4  # version of the file
# Format 2 has specs of format 1, and "setting" for the experiment's info; 3 has no checksum of the
# whole file.
READABLE = (2, 3, 4)
LARGEST_PACKED = 2**27  # bytes of the members of a packed file, before they are compressed
SHOWN_SEEDS = 3  # first runs of an algorithm whose trajectories and single contexts are kept
TRAJECTORY_POINTS = 51  # points that are kept of each trajectory, at most
EXACT = ("iteration", "rollouts", "target_success")  # metrics that tables need exactly


def write_packed(runs: list[StoredRun], path: Path, info: ExperimentInfo | None = None) -> None:
    """Write `runs` of one experiment to the file `path`, with the `info` of the experiment.

    With the `info`, the records at which figures show the contexts are kept, too.
    Raise a ValueError if the runs are of several experiments.
    """
    evolution = () if info is None else info.evolution
    names = {run.experiment for run in runs}
    if len(names) != 1:
        raise ValueError(f"runs must be of one experiment; got {sorted(names)}")
    arrays: dict[str, AnyArray] = {}
    algorithms: list[dict[str, Any]] = []
    for i, name in enumerate(dict.fromkeys(run.algorithm for run in runs)):
        members = [run for run in runs if run.algorithm == name]
        about, columns = _pack_group(members, evolution)
        algorithms.append(about)
        arrays |= {f"{i}.{key}": value for key, value in columns.items()}
    about: dict[str, Any] = {
        "format": FORMAT,
        "experiment": names.pop(),
        "algorithms": algorithms,
    }
    if info is not None:
        about["experiment_info"] = info.to_json()
    content = _zipped(json.dumps(plain(about)).encode(), arrays)
    write_atomically(path, content)


def _zipped(about: bytes, arrays: dict[str, AnyArray]) -> bytes:
    """The packed file: a zip whose comment is a checksum of all that comes before it."""
    members = {"about.json": about}
    for name, array in arrays.items():
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        members[f"{name}.npy"] = content.getvalue()
    if sum(map(len, members.values())) > LARGEST_PACKED:
        raise ValueError(f"runs must take at most {LARGEST_PACKED} bytes in one packed file")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
        file.comment = b"crc32 00000000"
        for name, content in members.items():
            # The default date of ZipInfo makes equal runs give equal bytes.
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_LZMA)
    body = buffer.getvalue()[: -len("00000000")]
    return body + b"%08x" % zlib.crc32(body)


def _members(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The JSON text of the packed file `path`, and its arrays as bytes, all checked.

    Before format 4 there was no checksum of the whole file, only one for each member.
    """
    content = file_bytes(path)
    members = zip_members(content, LARGEST_PACKED, (zipfile.ZIP_LZMA, zipfile.ZIP_STORED))
    about = json_object(members.pop("about.json"))
    if about["format"] not in READABLE:
        raise ValueError(f"its format is {about['format']}, this version reads {READABLE}")
    if about["format"] >= 4 and content[-8:] != b"%08x" % zlib.crc32(content[:-8]):
        raise ValueError("its checksum does not fit its content")
    return about, members


def read_packed(path: Path) -> list[StoredRun]:
    """The runs in the packed file `path`; a DamagedFile if it is damaged or no packed file."""
    with damage_named(path, KIND):
        about, members = _members(path)
        columns: dict[str, dict[str, AnyArray]] = {}
        for name, content in members.items():
            if not name.endswith(".npy"):
                raise ValueError(f"its member {name!r} is no array")
            group, _, column = name.removesuffix(".npy").partition(".")
            columns.setdefault(group, {})[column] = array_in(content)
        runs: list[StoredRun] = []
        for i, group in enumerate(about["algorithms"]):
            found = _unpack_group(group, columns.get(str(i), {}))
            for run in found:
                check_run(run)
                if run.experiment != about["experiment"]:
                    raise ValueError(f"it holds a run of {run.experiment}")
            runs += found
        return runs


def packed_info(path: Path) -> ExperimentInfo | None:
    """The experiment's info in the packed file `path`; None if it holds none."""
    with damage_named(path, KIND):
        about, _ = _members(path)
        found = about.get("experiment_info", about.get("setting"))
        if found is None:
            return None
        info = info_from_json(found)
        if info.name != about["experiment"]:
            raise ValueError(f"it describes {info.name}")
        return info


def records_always_kept(records: list[Record]) -> list[Record]:
    """The records that are always kept: the first, those with a measurement, and the last."""
    ends = (0, len(records) - 1)
    return [r for k, r in enumerate(records) if k in ends or "target_reward" in r]


def restore_store(path: Path, out: Path) -> tuple[int, int]:
    """Write the runs in the packed file `path` as folders of runs below `out`.

    Return how many were restored, and how many were left as they are, because the run there is
    under way, already as long, or damaged (with a warning). Files are synced once, at the end: a
    loss of power before that may damage runs, which are then restored by unpacking again.
    """
    restored = left = 0
    info = packed_info(path)
    if info is not None:
        write_info(out, info)
    for run in read_packed(path):
        folder = run_folder(out, run.experiment, run.algorithm, run.seed)
        length = int(run.result["iterations"])
        under_way = (folder / "checkpoint.npz").exists()  # without one a run starts again
        recorded = recorded_iterations(folder) if under_way else 0
        if max(finished_iterations(folder), recorded) >= length:
            left += 1
            continue
        try:
            ask_for(folder, run.spec, length)
            files = RunWriter(folder, run.spec, durable=False)
        except Locked:
            left += 1
            continue
        except DamagedFile as error:
            warnings.warn(str(error), DamageWarning, stacklevel=2)
            left += 1
            continue
        try:
            files.write_finished(run, durable=False)
        finally:
            files.close()
        restored += 1
    os.sync()  # once for all: syncing each file of each run would take thirty times as long
    return restored, left


def _pack_group(
    runs: list[StoredRun], evolution: tuple[int, ...]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """One algorithm's runs as JSON and as arrays with one row per run."""
    recorded = {record["iteration"] for run in runs for record in run.records}
    always = {record["iteration"] for run in runs for record in records_always_kept(run.records)}
    kept = sorted(always | (recorded & set(evolution)))
    index = {iteration: k for k, iteration in enumerate(kept)}
    columns: dict[str, AnyArray] = {"kept": np.array(kept, dtype=np.int32)}
    rows = [[r for r in run.records if r["iteration"] in index] for run in runs]
    names = sorted({name for row in rows for record in row for name in record} - {"iteration"})
    for name in names:
        found = {
            (i, index[r["iteration"]]): np.array(r[name], dtype=float)
            for i, row in enumerate(rows)
            for r in row
            if name in r
        }
        if name in CONTEXT_ROWS:  # figures draw those of the first seeds only
            found = {(i, k): value for (i, k), value in found.items() if i < SHOWN_SEEDS}
        values = _stacked(found, (len(runs), len(kept)))
        columns[f"metric.{name}"] = compact(values, exact=name in EXACT)
    policies = [run.policy for run in runs if run.policy is not None]
    if len(policies) == len(runs):
        columns |= pack_policies(policies)
    columns["contexts"] = np.array([run.contexts for run in runs], dtype=np.float32)
    paths = [
        _thinned(run.trajectories) for run in runs[:SHOWN_SEEDS] if run.trajectories is not None
    ]
    if paths and len({path.shape for path in paths}) == 1:
        columns["trajectories"] = compact(np.array(paths), exact=False)
    about = {
        "spec": {k: v for k, v in runs[0].spec.items() if k not in ("seed", *CODE_KEYS)},
        "code": [{k: run.spec[k] for k in CODE_KEYS if k in run.spec} for run in runs],
        "seeds": [run.seed for run in runs],
        "results": [run.result for run in runs],
        "cpu_seconds": [round(run.cpu_seconds, 2) for run in runs],
    }
    if not all(math.isnan(run.teacher_seconds) for run in runs):
        about["teacher_seconds"] = [round(run.teacher_seconds, 3) for run in runs]
    return about, columns


def _stacked(found: dict[tuple[int, int], Array], shape: tuple[int, int]) -> Array:
    """The arrays in `found`, by indices of run and iteration, as one; nan where there is none.

    Records may hold different numbers of contexts: missing rows are nan, too.
    """
    largest = max((value.shape for value in found.values() if value.size), default=())
    stacked = np.full((*shape, *largest), np.nan)
    for (i, k), value in found.items():
        if value.size:
            stacked[i, k, *(slice(size) for size in value.shape)] = value
    return stacked


def _unpack_group(about: dict[str, Any], columns: dict[str, AnyArray]) -> list[StoredRun]:
    """One algorithm's runs, as `_pack_group` has packed them."""
    stored = {
        name.removeprefix("metric."): values.astype(float)
        for name, values in columns.items()
        if name.startswith("metric.")
    }
    metrics = {METRICS.get(name, name): values for name, values in stored.items()}
    known = {name: _is_known(values) for name, values in metrics.items()}
    codes: list[dict[str, Any]] = about.get("code") or [{}] * len(about["seeds"])
    teaching: list[Any] = about.get("teacher_seconds") or [math.nan] * len(about["seeds"])
    count, iterations = len(about["seeds"]), columns["kept"].tolist()
    for name, values in metrics.items():
        if values.shape[:2] != (count, len(iterations)):
            raise ValueError(f"{name} has no value for every run and iteration")
    if columns["kept"].dtype.kind not in "iu" or not metrics:
        iterations = iterations[:0]  # records of nothing
    runs: list[StoredRun] = []
    for i, (seed, result) in enumerate(zip(about["seeds"], about["results"], strict=True)):
        records: list[Record] = []
        columns_of_run = [
            (name, values[i].tolist(), known[name][i].tolist()) for name, values in metrics.items()
        ]
        for k, iteration in enumerate(iterations):
            record: Record = {"iteration": iteration}
            for name, values, is_known in columns_of_run:
                if is_known[k]:
                    record[name] = values[k]
            for name in CONTEXT_ROWS:
                if name in record:
                    record[name] = [row for row in record[name] if not math.isnan(row[0])]
            if len(record) > 1:
                records.append(checked_record(record))
        paths = columns.get("trajectories")
        runs.append(
            StoredRun(
                spec=upgraded_spec({**about["spec"], "seed": seed, **codes[i]}),
                records=records,
                result=with_nan(upgraded_result(result)),
                cpu_seconds=float(with_nan({"": about["cpu_seconds"][i]})[""]),
                teacher_seconds=float(with_nan({"": teaching[i]})[""]),
                policy=unpack_policy(columns, i),
                contexts=columns["contexts"][i].astype(float),
                trajectories=(
                    paths[i].astype(float) if paths is not None and i < len(paths) else None
                ),
            )
        )
    return runs


def _is_known(values: Array) -> BoolArray:
    """(runs, iterations): where `values` (runs, iterations, ...) hold anything but nan."""
    known: BoolArray = ~np.isnan(values.reshape(*values.shape[:2], -1))
    return np.logical_or.reduce(known, axis=2)


def _thinned(trajectories: AnyArray) -> AnyArray:
    """At most TRAJECTORY_POINTS points of each path, the last one among them."""
    points = trajectories.shape[1]
    keep = np.linspace(0, points - 1, min(points, TRAJECTORY_POINTS), dtype=np.int64)
    return trajectories[:, keep]
