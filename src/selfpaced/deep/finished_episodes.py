"""Episodes that have ended, as a teacher is told of them, and checks of what loops report."""

from typing import Any, NamedTuple

import numpy as np

from selfpaced.deep.framework_arrays import as_numpy
from selfpaced.maths.arrays import Array, IntArray

MOST_ENVIRONMENTS = 10_000_000
"""Environments are numbered from 0; a larger number than this is taken for a mistake."""
FEW = 100  # environments


class Episodes(NamedTuple):
    """Finished episodes, one per row."""

    contexts: Array
    """(n, d): the context of each episode."""
    returns: Array
    """(n,): the sum of each episode's rewards."""
    successes: Array
    """(n,): 1 for success, 0 for failure; nan where the environment does not define success."""


def joined(parts: list[Episodes]) -> Episodes:
    """The episodes of all `parts`, in order."""
    return Episodes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def checked_ids(environment_ids: Any) -> IntArray:
    """`environment_ids` as integers (k,); raise a ValueError if they are not."""
    ids = as_numpy(environment_ids)
    if ids.ndim == 0:
        ids = ids[None]
    if ids.size == 0:
        return np.zeros(0, dtype=np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(
            f"environment_ids must be whole numbers (k,), one per episode (of a mask, the indices: "
            f"np.flatnonzero(mask)); got {ids.dtype} of shape {ids.shape}"
        )
    # Of few numbers, Python's functions are quicker, which matters to loops that end few episodes.
    few = ids.tolist() if ids.size < FEW else (ids.min(), ids.max())
    least, most = min(few), max(few)
    if least < 0 or most >= MOST_ENVIRONMENTS:
        raise ValueError(
            f"environment_ids must be numbers of environments from 0 to {MOST_ENVIRONMENTS - 1}; "
            f"got {least if least < 0 else most}"
        )
    return ids.astype(np.int64)


def checked_column(name: str, values: Any, rows: int) -> Array:
    """`values` as floats (rows,); raise a ValueError otherwise."""
    found = as_numpy(values).astype(float)
    if found.ndim == 0 and rows == 1:
        found = found[None]
    if found.shape != (rows,):
        raise ValueError(
            f"{name} must be ({rows},), one for each of environment_ids; got {found.shape}"
        )
    return found
