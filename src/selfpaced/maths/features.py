"""Feature functions of a context: rows (n, d) in, rows (n, m) out."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_at_least, check_vector, frozen
from selfpaced.maths.box import Box


class Features(Protocol):
    """phi(c). `spec` is plain data from which `features_from` makes the same function again."""

    @property
    def inputs(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def constant(self) -> int:
        """Which feature is 1 for every context."""
        ...

    def __call__(self, contexts: Array) -> Array: ...
    def spec(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class PolynomialFeatures:
    """All monomials of the context up to `degree`: degree 0 is the constant, 1 is [1, c]."""

    inputs: int
    degree: int
    kind: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        check_at_least("inputs", self.inputs, 1)
        check_at_least("degree", self.degree, 0)

    @property
    def outputs(self) -> int:
        return len(self._monomials)

    @property
    def constant(self) -> int:
        return 0

    @property
    def _monomials(self) -> list[tuple[int, ...]]:
        return [
            factors
            for degree in range(self.degree + 1)
            for factors in itertools.combinations_with_replacement(range(self.inputs), degree)
        ]

    def __call__(self, contexts: Array) -> Array:
        columns = [contexts[:, list(factors)].prod(axis=1) for factors in self._monomials]
        return np.stack(columns, axis=1)

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "inputs": self.inputs, "degree": self.degree}


def linear_features(inputs: int) -> PolynomialFeatures:
    """phi(c) = [1, c], the policy features of every experiment of the paper."""
    return PolynomialFeatures(inputs, 1)


def constant_features(inputs: int) -> PolynomialFeatures:
    """phi(c) = [1]: a policy that does not look at the context."""
    return PolynomialFeatures(inputs, 0)


@dataclass(frozen=True, eq=False)
class RBFFeatures:
    """Normalised radial basis functions, and a constant one.

    Activation exp(-sum_d precision_d (c_d - centre_d)^2), divided by its sum over the centres.
    """

    centres: Array  # (m, d)
    precision: Array  # (d,), k in the facts sheet
    kind: ClassVar[str] = "rbf"

    def __init__(self, centres: ArrayLike, precision: ArrayLike) -> None:
        points = np.asarray(centres, dtype=float)
        if points.ndim != 2 or points.size == 0:
            raise ValueError(f"centres must be (m, d), one row per centre; got {points.shape}")
        scale = check_vector("precision", precision, points.shape[1])
        if not (scale > 0).all():
            raise ValueError(f"precision must be above 0; got {scale.tolist()}")
        object.__setattr__(self, "centres", frozen(points))
        object.__setattr__(self, "precision", frozen(scale))

    @property
    def inputs(self) -> int:
        return self.centres.shape[1]

    @property
    def outputs(self) -> int:
        return len(self.centres) + 1

    @property
    def constant(self) -> int:
        return len(self.centres)

    def __call__(self, contexts: Array) -> Array:
        scale = np.sqrt(self.precision)
        c, m = contexts * scale, self.centres * scale
        exponent = 2 * c @ m.T - np.einsum("md,md->m", m, m)  # |c|^2 cancels when normalised
        exponent -= exponent.max(axis=1, keepdims=True)
        features = np.ones((len(contexts), self.outputs))
        np.exp(exponent, out=features[:, :-1])
        features[:, :-1] /= features[:, :-1].sum(axis=1, keepdims=True)
        return features

    def spec(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "centres": self.centres.tolist(),
            "precision": self.precision.tolist(),
        }


def rbf_grid(
    box: Box, counts: tuple[int, ...], precision: tuple[float, ...] | None = None
) -> RBFFeatures:
    """RBFs on a regular grid: along each dimension the n interior points of n + 2 even ones.

    Without a `precision` neighbours overlap as in the paper's gate task: the activation falls
    to exp(-1/2) from one centre to the next.
    """
    if len(counts) != box.dimension:
        raise ValueError(f"counts must have {box.dimension} entries; got {counts}")
    for count in counts:
        check_at_least("counts", count, 1)
    axes: list[Array] = [
        np.linspace(low, high, count + 2)[1:-1]
        for low, high, count in zip(box.low, box.high, counts, strict=True)
    ]
    spacing = box.width / (np.array(counts) + 1)
    grid = np.array(list(itertools.product(*axes)))
    return RBFFeatures(grid, 0.5 / spacing**2 if precision is None else precision)


def default_value_features(box: Box) -> Features:
    """Value features for a context box nobody has tuned: at most 65 of them.

    A grid of RBFs up to three dimensions; beyond that a grid explodes, and a quadratic serves.
    """
    grids = {1: (20,), 2: (8, 8), 3: (4, 4, 4)}
    if box.dimension in grids:
        return rbf_grid(box, grids[box.dimension])
    return PolynomialFeatures(box.dimension, 2)


_KINDS: dict[str, Callable[..., Features]] = {
    PolynomialFeatures.kind: PolynomialFeatures,
    RBFFeatures.kind: RBFFeatures,
}


def features_from(spec: dict[str, Any]) -> Features:
    """The feature function that `spec` describes."""
    numbers = dict(spec)
    kind = numbers.pop("kind", None)
    if kind not in _KINDS:
        raise ValueError(f"features must be one of {sorted(_KINDS)}; got {kind!r}")
    return _KINDS[kind](**numbers)
