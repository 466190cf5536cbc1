"""Packed results: one small file per experiment with all that tables and figures need.

Kept of a run are its spec, result, policy, the metrics at its first and last iteration, where it
was measured and where figures show the contexts, and, for the first seeds, the last trajectories.
Curves and the policy's covariance are kept to three digits, its mean to seven, final numbers
exactly. A store can be made from it again: its finished runs are not repeated, but they have no
checkpoint to continue from.

The file is a zip of arrays and one JSON text, LZMA-compressed; nothing in it is pickled.
"""

import io
import json
import lzma
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.experiments.setting import Setting, setting_from
from selfpaced.files import plain
from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.policy import Policy, policy_from
from selfpaced.store import (
    Locked,
    Record,
    RunFiles,
    StoredRun,
    ask_for,
    finished_iterations,
    recorded_iterations,
    run_folder,
    write_setting,
)
from selfpaced.types import AnyArray

SUFFIX = ".packed"
FORMAT = 2
SHOWN_SEEDS = 3  # of an algorithm whose trajectories and single contexts are kept
TRAJECTORY_POINTS = 51  # of each trajectory, at most
LARGEST = 2.0**15  # entry of a covariance's factor in its unit: well below float16's largest number
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError),
    *(KeyError, IndexError, TypeError, ValueError),
)
EXACT = ("iteration", "rollouts", "target_success")  # what tables count with


def write_packed(runs: list[StoredRun], path: Path, setting: Setting | None = None) -> None:
    """Write `runs` of one experiment to `path`, and its `setting`, where it is known.

    Kept besides what `lasting` says are the iterations at which figures show the contexts.
    """
    evolution = () if setting is None else setting.evolution
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
    if setting is not None:
        about["setting"] = setting.arrays()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
        file.writestr(zipfile.ZipInfo("about.json"), json.dumps(plain(about)), zipfile.ZIP_LZMA)
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            # ZipInfo with its default date: the same runs give the same bytes
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), zipfile.ZIP_LZMA)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(buffer.getvalue())
    temporary.replace(path)


def read_packed(path: Path) -> list[StoredRun]:
    """The runs in a packed file; a ValueError if it is none."""
    try:
        with zipfile.ZipFile(path) as file:
            about = json.loads(file.read("about.json"))
            arrays = {
                name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name)), allow_pickle=False)
                for name in file.namelist()
                if name.endswith(".npy")
            }
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']}, this version reads {FORMAT}")
        runs: list[StoredRun] = []
        for i, group in enumerate(about["algorithms"]):
            prefix = f"{i}."
            columns = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            runs += _unpack_group(group, columns)
        return runs
    except DAMAGE as error:
        raise ValueError(f"{path} must be a file of packed results; {error!r}") from error


def packed_setting(path: Path) -> Setting | None:
    """The setting in a packed file, if it holds one."""
    try:
        with zipfile.ZipFile(path) as file:
            about = json.loads(file.read("about.json"))
        return setting_from(about["setting"]) if "setting" in about else None
    except DAMAGE as error:
        raise ValueError(f"{path} is no packed result: {error}") from error


def lasting(records: list[Record]) -> list[Record]:
    """The records that are kept whatever else is: the first, those measured, and the last."""
    ends = (0, len(records) - 1)
    return [r for k, r in enumerate(records) if k in ends or "target_reward" in r]


def restore_store(path: Path, out: Path) -> tuple[int, int]:
    """Make the runs in the packed file `path` a store below `out`.

    How many were restored, and how many were left as they are: as long or longer already,
    or under way.
    """
    restored = left = 0
    setting = packed_setting(path)
    if setting is not None:
        write_setting(out, setting)
    for run in read_packed(path):
        folder = run_folder(out, run.experiment, run.algorithm, run.seed)
        length = int(run.result["iterations"])
        if max(finished_iterations(folder), recorded_iterations(folder)) >= length:
            left += 1
            continue
        ask_for(folder, run.spec, length)
        try:
            files = RunFiles(folder, run.spec)
        except Locked:
            left += 1
            continue
        try:
            files.write_finished(run)
        finally:
            files.close()
        restored += 1
    return restored, left


def _pack_group(
    runs: list[StoredRun], evolution: tuple[int, ...]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """One algorithm's runs as JSON and as arrays with one row per run."""
    recorded = {record["iteration"] for run in runs for record in run.records}
    always = {record["iteration"] for run in runs for record in lasting(run.records)}
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
        if name == "context_sample":  # drawn in figures, of the same seeds as the trajectories
            found = {(i, k): value for (i, k), value in found.items() if i < SHOWN_SEEDS}
        values = _stacked(found, (len(runs), len(kept)))
        columns[f"metric.{name}"] = _compact(values, exact=name in EXACT)
    policies = [run.policy for run in runs if run.policy is not None]
    if len(policies) == len(runs):
        columns |= _pack_policies(policies)
    columns["contexts"] = np.array([run.contexts for run in runs], dtype=np.float32)
    paths = [
        _thinned(run.trajectories) for run in runs[:SHOWN_SEEDS] if run.trajectories is not None
    ]
    if paths and len({path.shape for path in paths}) == 1:
        columns["trajectories"] = _compact(np.array(paths), exact=False)
    about = {
        "spec": {k: v for k, v in runs[0].spec.items() if k != "seed"},
        "seeds": [run.seed for run in runs],
        "results": [run.result for run in runs],
        "cpu_seconds": [round(run.cpu_seconds, 2) for run in runs],
    }
    return about, columns


def _stacked(found: dict[tuple[int, int], Array], shape: tuple[int, int]) -> Array:
    """The arrays in `found` by run and iteration as one, with nan where there is none.

    A sample of contexts may have more rows in one record than in another: the rest is nan, too.
    """
    largest = max((value.shape for value in found.values() if value.size), default=())
    stacked = np.full((*shape, *largest), np.nan)
    for (i, k), value in found.items():
        if value.size:
            stacked[i, k, *(slice(size) for size in value.shape)] = value
    return stacked


def _unpack_group(about: dict[str, Any], columns: dict[str, AnyArray]) -> list[StoredRun]:
    metrics = {
        name.removeprefix("metric."): values.astype(float)
        for name, values in columns.items()
        if name.startswith("metric.")
    }
    known = {name: _is_known(values) for name, values in metrics.items()}
    runs: list[StoredRun] = []
    for i, (seed, result) in enumerate(zip(about["seeds"], about["results"], strict=True)):
        records: list[Record] = []
        for k, iteration in enumerate(columns["kept"].tolist()):
            record: Record = {"iteration": iteration}
            for name, values in metrics.items():
                if known[name][i, k]:
                    record[name] = values[i, k].tolist()
            if "context_sample" in record:
                record["context_sample"] = [
                    row for row in record["context_sample"] if not math.isnan(row[0])
                ]
            if len(record) > 1:
                records.append(record)
        paths = columns.get("trajectories")
        runs.append(
            StoredRun(
                {**about["spec"], "seed": seed},
                records,
                {k: math.nan if v is None else v for k, v in result.items()},
                about["cpu_seconds"][i],
                _unpack_policy(columns, i),
                columns["contexts"][i].astype(float),
                paths[i].astype(float) if paths is not None and i < len(paths) else None,
            )
        )
    return runs


def _is_known(values: Array) -> BoolArray:
    """(runs, iterations): where `values` (runs, iterations, ...) hold anything but nan."""
    known: BoolArray = ~np.isnan(values.reshape(*values.shape[:2], -1))
    return np.logical_or.reduce(known, axis=2)


def _pack_policies(policies: list[Policy]) -> dict[str, AnyArray]:
    """Policies of one algorithm as arrays with one row per run."""
    columns: dict[str, AnyArray] = {}
    rows = [policy.arrays() for policy in policies]
    for name, first in rows[0].items():
        if first.dtype.kind == "U":  # the format, the features: the same for all
            columns[f"policy.{name}"] = first
        elif name == "covariance":
            columns |= _pack_covariances(np.array([row[name] for row in rows]))
        else:
            kind = np.float16 if name.startswith("weights.") else np.float32  # of a network
            columns[f"policy.{name}"] = np.array([row[name] for row in rows], dtype=kind)
    return columns


def _pack_covariances(covariances: Array) -> dict[str, AnyArray]:
    """Covariances (n, d, d) as lower Cholesky factors, each in a unit of its own (n,).

    The unit makes the largest entry LARGEST, so that float16 has three digits of small ones, too.
    The diagonal decides whether it has: other entries then err by no larger a share of themselves,
    or of the diagonal of their row.
    """
    chols = np.linalg.cholesky(covariances)
    units = (np.abs(chols).max(axis=(1, 2)) / LARGEST).astype(np.float32)
    counted = chols / units[:, None, None]
    kind = _compact(np.diagonal(counted, axis1=1, axis2=2), exact=False).dtype
    rows, columns = np.tril_indices(covariances.shape[1])
    return {"policy.chol": counted[:, rows, columns].astype(kind), "policy.unit": units}


def _unpack_policy(columns: dict[str, AnyArray], i: int) -> Policy | None:
    if not any(column.startswith("policy.") for column in columns):
        return None
    arrays: dict[str, AnyArray] = {}
    for column, values in columns.items():
        name = column.removeprefix("policy.")
        if name in (column, "unit"):
            continue
        if values.dtype.kind == "U":
            arrays[name] = values
        elif name == "chol":
            d = columns["policy.A"].shape[1]
            unit = columns["policy.unit"][i] if "policy.unit" in columns else 1.0  # older files
            chol = np.zeros((d, d))
            chol[np.tril_indices(d)] = unit * values[i].astype(float)
            arrays["covariance"] = chol @ chol.T
        else:
            arrays[name] = values[i].astype(float)
    return policy_from(arrays)


def _compact(values: Array, *, exact: bool) -> AnyArray:
    """`values` to three digits, or to seven where that is not enough; nan stays nan."""
    if exact:
        return values
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    half = np.finfo(np.float16)
    fits = sizes.size == 0 or (sizes.max() < half.max and sizes.min() > half.smallest_normal)
    return values.astype(np.float16 if fits else np.float32)


def _thinned(trajectories: AnyArray) -> AnyArray:
    """At most TRAJECTORY_POINTS points of each path, the last one among them."""
    points = trajectories.shape[1]
    keep = np.linspace(0, points - 1, min(points, TRAJECTORY_POINTS), dtype=np.int64)
    return trajectories[:, keep]
