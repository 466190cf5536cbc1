"""Array types, checks of what users pass in, and triangular solves.

A check returns its argument in the type that the library works with, or raises a ValueError that
names the argument, the rule and the value.
"""

import dataclasses
import math
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used: reading results needs none of them
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
"""An array of floats, the type of nearly all arrays of the library."""
BoolArray = NDArray[np.bool_]
"""An array of truth values, mostly a mask over rows."""
IntArray = NDArray[np.int64]
"""An array of integers."""


def as_floats(name: str, array: ArrayLike) -> Array:
    """`array` as an array of floats; raise a ValueError if it cannot be one."""
    try:
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        got = reprlib.repr(array)
        raise ValueError(f"{name} must be numbers in rows of one length; got {got}") from None


def check_rows(name: str, array: ArrayLike, columns: int) -> Array:
    """`array` as finite floats (n, columns); raise a ValueError otherwise."""
    rows = as_floats(name, array)
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise ValueError(f"{name} must be (n, {columns}), one row per rollout; got {rows.shape}")
    return _finite_rows(name, rows)


def check_column(name: str, array: ArrayLike, rows: int) -> Array:
    """`array` as finite floats (rows,); raise a ValueError otherwise."""
    column = as_floats(name, array)
    if column.shape != (rows,):
        raise ValueError(f"{name} must be ({rows},), one value per rollout; got {column.shape}")
    return _finite_rows(name, column)


def check_vector(name: str, array: ArrayLike, length: int | None = None) -> Array:
    """`array` as finite floats (length,); raise a ValueError otherwise.

    Without a `length`, any length of at least 1 will do.
    """
    vector = as_floats(name, array)
    expected = "one-dimensional and not empty" if length is None else f"({length},)"
    if vector.ndim != 1 or vector.size == 0 or (length is not None and vector.size != length):
        raise ValueError(f"{name} must be {expected}; got shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must be finite; got {vector.tolist()}")
    return vector


def check_covariance(name: str, array: ArrayLike, dimension: int) -> tuple[Array, Array]:
    """`array` as a matrix (dimension, dimension), and its lower Cholesky factor.

    Raise a ValueError unless the matrix is finite, symmetric and positive definite.
    """
    matrix = as_floats(name, array)
    if matrix.ndim < 2 and dimension > 0:
        what = f"the number {matrix}" if matrix.ndim == 0 else f"the vector {matrix.tolist()}"
        size = f"{matrix} * np.eye({dimension})" if matrix.ndim == 0 else f"np.diag({array})"
        raise ValueError(
            f"{name} must be a matrix ({dimension}, {dimension}), such as {size}; got {what}"
        )
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
    """`value` as a float; raise a ValueError unless it is a number above 0 and finite."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name} must be above 0 and finite; got {value!r}")
    return float(value)


def check_share(name: str, value: object, whole: str) -> float:
    """`value` as a float; raise a ValueError unless it is above 0 and at most 1.

    The message says what 1 stands for: the `whole`, such as "the width of the box".
    """
    share = check_positive(name, value)
    if share > 1.0:
        raise ValueError(f"{name} must be at most 1, {whole}; got {value}")
    return share


def check_number(name: str, value: object) -> float:
    """`value` as a float; raise a ValueError unless it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number; got {value!r}")
    return float(value)


def check_at_least(name: str, value: object, least: int) -> int:
    """`value` as an int; raise a ValueError unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise a ValueError unless `value` is an instance of `kind`."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}; got {value!r}")


def has_method(value: object, name: str) -> bool:
    """True if `value` has a method called `name`.

    False for a class: then somebody forgot the brackets, as in `algorithm=SPRL`.
    """
    return not isinstance(value, type) and callable(getattr(value, name, None))


class ComparedByFields:
    """A dataclass whose values are equal if they are of one class and all their fields are equal.

    Arrays are equal if all their entries are. Equal values have the same hash.
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _fields_of(self) == _fields_of(other)

    def __hash__(self) -> int:
        return hash((type(self), _fields_of(self)))


def _fields_of(value: Any) -> tuple[Any, ...]:
    """The fields of a dataclass as values that compare and hash, arrays by shape and bytes."""
    return tuple(_hashable(getattr(value, field.name)) for field in dataclasses.fields(value))


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        array: Array = np.asarray(value, dtype=float) + 0.0  # so that -0.0 equals 0.0
        return array.shape, array.tobytes()
    return value


def mean_of_known(values: Array) -> float:
    """The mean of those `values` that are not nan; nan if all are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def deviation_of(values: Array) -> float:
    """The standard deviation of `values` (n,), as NumPy computes it, in half of the time."""
    apart = values - np.add.reduce(values) / len(values)
    apart *= apart
    return math.sqrt(np.add.reduce(apart) / len(values))


def frozen(array: ArrayLike | Sequence[float]) -> Array:
    """A copy as floats that cannot be written to: values are replaced, never edited.

    Its memory layout is always C, so that sums over restored values round as they did before.
    """
    copy = np.array(array, dtype=float, order="C")
    copy.setflags(write=False)
    return copy


def cholesky(matrix: Array) -> Array:
    """The lower triangular L with L L^T = `matrix`.

    LAPACK is called directly, as in `solve_lower`. Raise a numpy.linalg.LinAlgError if `matrix` is
    not positive definite.
    """
    chol, info = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    if info:
        raise np.linalg.LinAlgError("matrix is not positive definite")
    return chol


def factor_of(matrix: Array) -> Array | None:
    """As `cholesky`, of a symmetric `matrix`; None if it is not finite or not positive definite."""
    try:
        chol = cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return chol if np.isfinite(matrix).all() else None


def solve_lower(chol: Array, right: Array, *, overwrite: bool = False) -> Array:
    """chol^-1 right, for a lower triangular `chol`; `right` may be lost if it says `overwrite`.

    LAPACK is called directly: for systems this small, SciPy's own checks would take most of the
    time.
    """
    solution, info = scipy.linalg.lapack.dtrtrs(chol, right, lower=1, overwrite_b=overwrite)
    if info:
        raise np.linalg.LinAlgError("singular triangular matrix")
    return solution


def inverse_lower(chol: Array) -> Array:
    """The inverse of a lower triangular `chol`, whose entries above the diagonal are 0.

    A product with it costs half of what `solve_lower` does for many columns.
    """
    found, info = scipy.linalg.lapack.dtrtri(chol, lower=1)
    if info:
        raise np.linalg.LinAlgError("singular triangular matrix")
    return found


def eigen(matrix: Array) -> tuple[Array, Array]:
    """The eigenvalues (d,) of a small symmetric `matrix`, in ascending order, and eigenvectors.

    Column i of the vectors (d, d) belongs to value i. LAPACK is called directly, as in
    `solve_lower`. Raise a numpy.linalg.LinAlgError if it finds none.
    """
    values, vectors, info = scipy.linalg.lapack.dsyevd(matrix, lower=1)
    if info:
        raise np.linalg.LinAlgError("eigenvalues did not converge")
    return values, vectors


def inverse(matrix: Array) -> Array:
    """The inverse of a small square `matrix`, as NumPy computes it, in a quarter of the time.

    Raise a numpy.linalg.LinAlgError if it is singular.
    """
    _, _, found, info = scipy.linalg.lapack.dgesv(matrix, np.eye(len(matrix)))
    if info:
        raise np.linalg.LinAlgError("singular matrix")
    return np.ascontiguousarray(found)


def _finite_rows(name: str, array: Array) -> Array:
    """`array`; raise a ValueError that shows the first row that is not finite."""
    finite = np.isfinite(array)
    if not finite.all():
        bad = np.flatnonzero(~(finite if array.ndim == 1 else finite.all(axis=1)))
        raise ValueError(
            f"{name} must be finite; {bad.size} of {len(array)} rows are not, "
            f"first row {bad[0]}: {array[bad[0]].tolist()}"
        )
    return array
