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
import lzma
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.policy import Policy, policy_from
from selfpaced.store.compatibility import METRICS, upgraded_result, upgraded_spec
from selfpaced.store.experiment_info import ExperimentInfo, info_from_json, write_info
from selfpaced.store.files import plain
from selfpaced.store.locking import Locked
from selfpaced.store.reading import StoredRun, finished_iterations, recorded_iterations
from selfpaced.store.spec import CODE_KEYS, ask_for, run_folder
from selfpaced.store.writing import RunWriter
from selfpaced.types import AnyArray, Record

SUFFIX = ".packed"
FORMAT = 3  # version of the file
READABLE = (2, 3)  # format 2: specs of format 1, and "setting" for the experiment's info
SHOWN_SEEDS = 3  # first runs of an algorithm whose trajectories and single contexts are kept
TRAJECTORY_POINTS = 51  # points that are kept of each trajectory, at most
LARGEST = 2.0**15  # largest entry of a packed Cholesky factor: half of what float16 can hold
DAMAGE = (  # what reading a damaged file may raise
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError),
    *(KeyError, IndexError, TypeError, ValueError),
)
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
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
        file.writestr(zipfile.ZipInfo("about.json"), json.dumps(plain(about)), zipfile.ZIP_LZMA)
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            # The default date of ZipInfo makes equal runs give equal bytes.
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), zipfile.ZIP_LZMA)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(buffer.getvalue())
    temporary.replace(path)


def read_packed(path: Path) -> list[StoredRun]:
    """The runs in the packed file `path`; a ValueError if it is damaged or no packed file."""
    try:
        with zipfile.ZipFile(path) as file:
            about = json.loads(file.read("about.json"))
            arrays = {
                name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name)), allow_pickle=False)
                for name in file.namelist()
                if name.endswith(".npy")
            }
        if about["format"] not in READABLE:
            raise ValueError(f"its format is {about['format']}, this version reads {READABLE}")
        runs: list[StoredRun] = []
        for i, group in enumerate(about["algorithms"]):
            prefix = f"{i}."
            columns = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            runs += _unpack_group(group, columns)
        return runs
    except DAMAGE as error:
        raise ValueError(f"{path} must be a file of packed results; {error!r}") from error


def packed_info(path: Path) -> ExperimentInfo | None:
    """The experiment's info in the packed file `path`; None if it holds none."""
    try:
        with zipfile.ZipFile(path) as file:
            about = json.loads(file.read("about.json"))
        found = about.get("experiment_info", about.get("setting"))
        return None if found is None else info_from_json(found)
    except DAMAGE as error:
        raise ValueError(f"{path} is no packed result: {error}") from error


def records_always_kept(records: list[Record]) -> list[Record]:
    """The records that are always kept: the first, those with a measurement, and the last."""
    ends = (0, len(records) - 1)
    return [r for k, r in enumerate(records) if k in ends or "target_reward" in r]


def restore_store(path: Path, out: Path) -> tuple[int, int]:
    """Write the runs in the packed file `path` as folders of runs below `out`.

    Return how many were restored, and how many were left as they are, because the run there is
    under way, or already as long.
    """
    restored = left = 0
    info = packed_info(path)
    if info is not None:
        write_info(out, info)
    for run in read_packed(path):
        folder = run_folder(out, run.experiment, run.algorithm, run.seed)
        length = int(run.result["iterations"])
        if max(finished_iterations(folder), recorded_iterations(folder)) >= length:
            left += 1
            continue
        ask_for(folder, run.spec, length)
        try:
            files = RunWriter(folder, run.spec)
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
        if name == "context_sample":  # figures draw those of the first seeds only
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
        "spec": {k: v for k, v in runs[0].spec.items() if k not in ("seed", *CODE_KEYS)},
        "code": [{k: run.spec[k] for k in CODE_KEYS if k in run.spec} for run in runs],
        "seeds": [run.seed for run in runs],
        "results": [run.result for run in runs],
        "cpu_seconds": [round(run.cpu_seconds, 2) for run in runs],
    }
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
                spec=upgraded_spec({**about["spec"], "seed": seed, **codes[i]}),
                records=records,
                result={
                    k: math.nan if v is None else v for k, v in upgraded_result(result).items()
                },
                cpu_seconds=about["cpu_seconds"][i],
                policy=_unpack_policy(columns, i),
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


def _pack_policies(policies: list[Policy]) -> dict[str, AnyArray]:
    """Policies of one algorithm as arrays with one row per run."""
    columns: dict[str, AnyArray] = {}
    rows = [policy.arrays() for policy in policies]
    for name, first in rows[0].items():
        if first.dtype.kind == "U":  # the format and the features, which all runs share
            columns[f"policy.{name}"] = first
        elif name == "covariance":
            columns |= _pack_covariances(np.array([row[name] for row in rows]))
        else:
            kind = np.float16 if name.startswith("weights.") else np.float32  # of a network
            columns[f"policy.{name}"] = np.array([row[name] for row in rows], dtype=kind)
    return columns


def _pack_covariances(covariances: Array) -> dict[str, AnyArray]:
    """Covariances (n, d, d) as lower Cholesky factors, each divided by a unit of its own (n,).

    The unit makes the largest entry LARGEST, so that float16 keeps three digits of small entries,
    too. float32 is used where that fails for an entry of the diagonal. Off the diagonal, an entry
    then errs by no larger a share of itself, or of the diagonal entry of its row.
    """
    chols = np.linalg.cholesky(covariances)
    units = (np.abs(chols).max(axis=(1, 2)) / LARGEST).astype(np.float32)
    counted = chols / units[:, None, None]
    kind = _compact(np.diagonal(counted, axis1=1, axis2=2), exact=False).dtype
    rows, columns = np.tril_indices(covariances.shape[1])
    return {"policy.chol": counted[:, rows, columns].astype(kind), "policy.unit": units}


def _unpack_policy(columns: dict[str, AnyArray], i: int) -> Policy | None:
    """The policy of run `i`; None if policies were not packed."""
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
    """`values` as float16 (three digits), as float32 where that is too small, or `exact` as is."""
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
