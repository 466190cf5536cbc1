"""The array types of the library, and the checks at its public edge."""

import math
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dtrtrs

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


def as_floats(name: str, array: ArrayLike) -> Array:
    """`array` of floats, or a ValueError that names it."""
    try:
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        got = reprlib.repr(array)
        raise ValueError(f"{name} must be numbers in rows of one length; got {got}") from None


def check_rows(name: str, array: ArrayLike, columns: int) -> Array:
    """`array` as float (n, columns), or a ValueError that names the fault."""
    rows = as_floats(name, array)
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise ValueError(f"{name} must be (n, {columns}), one row per rollout; got {rows.shape}")
    return _finite_rows(name, rows)


def check_column(name: str, array: ArrayLike, rows: int) -> Array:
    """`array` as float (rows,), or a ValueError that names the fault."""
    column = as_floats(name, array)
    if column.shape != (rows,):
        raise ValueError(f"{name} must be ({rows},), one value per rollout; got {column.shape}")
    return _finite_rows(name, column)


def check_vector(name: str, array: ArrayLike, length: int | None = None) -> Array:
    """`array` as float (length,), finite; any length of at least 1 when none is given."""
    vector = as_floats(name, array)
    expected = "one-dimensional and not empty" if length is None else f"({length},)"
    if vector.ndim != 1 or vector.size == 0 or (length is not None and vector.size != length):
        raise ValueError(f"{name} must be {expected}; got shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must be finite; got {vector.tolist()}")
    return vector


def check_covariance(name: str, array: ArrayLike, dimension: int) -> tuple[Array, Array]:
    """`array` as a symmetric positive definite matrix, with its lower Cholesky factor."""
    matrix = as_floats(name, array)
    if matrix.shape != (dimension, dimension):
        raise ValueError(f"{name} must be ({dimension}, {dimension}); got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} must be finite; got {matrix.tolist()}")
    if np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
        raise ValueError(f"{name} must be symmetric; got {matrix.tolist()}")
    try:
        return matrix, cholesky(matrix)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(matrix)[0]
        raise ValueError(
            f"{name} must be positive definite; its smallest eigenvalue is {smallest:.3g}"
        ) from None


def check_positive(name: str, value: object) -> float:
    """`value` as a float above zero and finite."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name} must be above 0 and finite; got {value!r}")
    return float(value)


def check_number(name: str, value: object) -> float:
    """`value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number; got {value!r}")
    return float(value)


def check_at_least(name: str, value: object, least: int) -> int:
    """`value` as an int that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def check_kind(name: str, value: object, kind: type) -> None:
    """That `value` is what it is taken for."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}; got {value!r}")


def has_method(value: object, name: str) -> bool:
    """Whether `value` has that method, and is not a class that somebody forgot to call."""
    return not isinstance(value, type) and callable(getattr(value, name, None))


def mean_of_known(values: Array) -> float:
    """The mean of what is not nan; nan where nothing is known."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def frozen(array: ArrayLike | Sequence[float]) -> Array:
    """A float copy that cannot be written to: values are replaced, never edited."""
    copy = np.array(
        array, dtype=float, order="C"
    )  # one layout, so that restored values add up alike
    copy.setflags(write=False)
    return copy


def cholesky(matrix: Array) -> Array:
    """The lower Cholesky factor; numpy.linalg.LinAlgError if `matrix` is not positive definite."""
    return np.asarray(np.linalg.cholesky(matrix), dtype=float)


def solve_lower(chol: Array, right: Array) -> Array:
    """chol^-1 right for a lower triangular `chol`; LAPACK directly, for these systems are small."""
    solution, info = dtrtrs(chol, right, lower=1)
    if info:
        raise np.linalg.LinAlgError("singular triangular matrix")
    return solution


def _finite_rows(name: str, array: Array) -> Array:
    finite = np.isfinite(array)
    if not finite.all():
        bad = np.flatnonzero(~(finite if array.ndim == 1 else finite.all(axis=1)))
        raise ValueError(
            f"{name} must be finite; {bad.size} of {len(array)} rows are not, "
            f"first row {bad[0]}: {array[bad[0]].tolist()}"
        )
    return array
