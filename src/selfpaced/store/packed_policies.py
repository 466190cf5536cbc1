"""Policies of many runs as small arrays, and numbers with no more digits than figures need."""

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.policy import Policy, policy_from
from selfpaced.types import AnyArray

LARGEST = 2.0**15  # largest entry of a packed Cholesky factor: half of what float16 can hold


def pack_policies(policies: list[Policy]) -> dict[str, AnyArray]:
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
    kind = compact(np.diagonal(counted, axis1=1, axis2=2), exact=False).dtype
    rows, columns = np.tril_indices(covariances.shape[1])
    return {"policy.chol": counted[:, rows, columns].astype(kind), "policy.unit": units}


def unpack_policy(columns: dict[str, AnyArray], i: int) -> Policy | None:
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
            if values.shape[1:] != (d * (d + 1) // 2,):
                raise ValueError(f"the policies' factors are not those of {d} parameters")
            unit = columns["policy.unit"][i] if "policy.unit" in columns else 1.0  # older files
            chol = np.zeros((d, d))
            chol[np.tril_indices(d)] = unit * values[i].astype(float)
            arrays["covariance"] = chol @ chol.T
        else:
            arrays[name] = values[i].astype(float)
    return policy_from(arrays)


def compact(values: Array, *, exact: bool) -> AnyArray:
    """`values` as float16 (three digits), as float32 where that is too small, or `exact` as is."""
    if exact:
        return values
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    half = np.finfo(np.float16)
    fits = sizes.size == 0 or (sizes.max() < half.max and sizes.min() > half.smallest_normal)
    return values.astype(np.float16 if fits else np.float32)
