"""Feature functions phi(c) of contexts: rows (n, d) in, rows (n, m) out.

The policy's mean is linear in features, A phi(c), and so is the value function of the duals,
V(c) = phi(c)^T v. The paper uses [1, c] for the policy and radial basis functions for V.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_at_least, check_vector, frozen
from selfpaced.maths.box import Box

MOST_MONOMIALS = 1_000_000  # more would not fit into memory with a batch of contexts


class Features(Protocol):
    """A feature function phi(c). One of its features must be 1 for every context."""

    @property
    def inputs(self) -> int:
        """d: the number of context dimensions."""
        ...

    @property
    def outputs(self) -> int:
        """m: the number of features."""
        ...

    @property
    def constant(self) -> int:
        """Index of the feature that is 1 for every context."""
        ...

    def __call__(self, contexts: Array) -> Array:
        """(n, m): phi(c) of each row of `contexts` (n, d)."""
        ...

    def spec(self) -> dict[str, Any]:
        """Plain data from which `features_from` makes the same function again."""
        ...


@dataclass(frozen=True)
class PolynomialFeatures:
    """All monomials of the context up to a degree: degree 0 gives [1], degree 1 gives [1, c]."""

    inputs: int
    """d: the number of context dimensions."""
    degree: int
    """Largest degree of a monomial, 0 or more. There are binomial(d + degree, degree) of them."""
    kind: ClassVar[str] = "polynomial"
    """The name of this class in a `spec`."""

    def __post_init__(self) -> None:
        check_at_least("inputs", self.inputs, 1)
        check_at_least("degree", self.degree, 0)
        count, smaller = 1, min(self.inputs, self.degree)
        for i in range(1, smaller + 1):  # binomial(d + degree, degree), until it is too large
            count = count * (max(self.inputs, self.degree) + i) // i
            if count > MOST_MONOMIALS:
                raise ValueError(
                    f"degree must give at most {MOST_MONOMIALS} monomials; got {self.degree} "
                    f"for {self.inputs} inputs"
                )

    @property
    def outputs(self) -> int:
        """m: the number of monomials."""
        return math.comb(self.inputs + self.degree, self.degree)

    @property
    def constant(self) -> int:
        """Index of the feature that is 1 for every context."""
        return 0

    def __call__(self, contexts: Array) -> Array:
        """(n, m): the monomials of each row of `contexts` (n, d), in order of their degree."""
        features = np.ones((len(contexts), self.outputs))
        for column, factors in enumerate(_monomials(self.inputs, self.degree)):
            for dimension in factors:
                features[:, column] *= contexts[:, dimension]
        return features

    def spec(self) -> dict[str, Any]:
        """Plain data from which `features_from` makes the same function again."""
        return {"kind": self.kind, "inputs": self.inputs, "degree": self.degree}


@functools.cache
def _monomials(inputs: int, degree: int) -> list[tuple[int, ...]]:
    """For each monomial up to `degree`, the context dimensions that it multiplies."""
    return [
        factors
        for exact in range(degree + 1)
        for factors in itertools.combinations_with_replacement(range(inputs), exact)
    ]


def linear_features(inputs: int) -> PolynomialFeatures:
    """phi(c) = [1, c], the policy features of every experiment of the paper."""
    return PolynomialFeatures(inputs, 1)


def constant_features(inputs: int) -> PolynomialFeatures:
    """phi(c) = [1], for a policy that does not depend on the context."""
    return PolynomialFeatures(inputs, 0)


@dataclass(frozen=True, eq=False, repr=False)
class RBFFeatures:
    """Normalised radial basis functions, and a last feature that is 1 for every context.

    With the centres m_1, ..., m_k and the precision p, the feature of the centre m_j is

        phi_j(c) = b_j(c) / sum_l b_l(c),    b_j(c) = exp(-sum_d p_d (c_d - m_jd)^2).
    """

    centres: Array
    """(k, d): one centre per row."""
    precision: Array
    """(d,): p, above 0. At a distance of 1 / sqrt(2 p_d) along dimension d, b_j is exp(-1/2)."""
    kind: ClassVar[str] = "rbf"
    """The name of this class in a `spec`."""

    def __init__(self, centres: ArrayLike, precision: ArrayLike) -> None:
        points = np.asarray(centres, dtype=float)
        if points.ndim != 2 or points.size == 0:
            raise ValueError(f"centres must be (k, d), one row per centre; got {points.shape}")
        scale = check_vector("precision", precision, points.shape[1])
        if not (scale > 0).all():
            raise ValueError(f"precision must be above 0; got {scale.tolist()}")
        object.__setattr__(self, "centres", frozen(points))
        object.__setattr__(self, "precision", frozen(scale))

    def __repr__(self) -> str:
        return f"RBFFeatures({len(self.centres)} centres, {self.inputs} context dimensions)"

    @property
    def inputs(self) -> int:
        """d: the number of context dimensions."""
        return self.centres.shape[1]

    @property
    def outputs(self) -> int:
        """m: the number of features, one more than there are centres."""
        return len(self.centres) + 1

    @property
    def constant(self) -> int:
        """Index of the feature that is 1 for every context: the last."""
        return len(self.centres)

    @functools.cached_property
    def _scaled(self) -> tuple[Array, Array, Array]:
        """sqrt(p) (d,), the centres in units in which p is 1 (k, d), and their squared norms."""
        scale = np.sqrt(self.precision)
        m = self.centres * scale
        return scale, m, np.einsum("md,md->m", m, m)

    def __call__(self, contexts: Array) -> Array:
        """(n, m): the features of each row of `contexts` (n, d)."""
        scale, m, squares = self._scaled
        exponent = 2 * (contexts * scale) @ m.T - squares  # |c|^2 cancels when normalised
        exponent -= exponent.max(axis=1, keepdims=True)
        features = np.ones((len(contexts), self.outputs))
        np.exp(exponent, out=features[:, :-1])
        features[:, :-1] /= features[:, :-1].sum(axis=1, keepdims=True)
        return features

    def spec(self) -> dict[str, Any]:
        """Plain data from which `features_from` makes the same function again."""
        return {
            "kind": self.kind,
            "centres": self.centres.tolist(),
            "precision": self.precision.tolist(),
        }


@dataclass(frozen=True)
class CategoryFeatures:
    """Monomials of the numbers in a context, once for all and once more for each category.

    So a policy with degree 1 is linear over each category, with gains of its own. The monomials of
    a category are 0 in all others; the first category of a column has none of its own.
    """

    categories: tuple[int, ...]
    """For each context dimension the number of its categories; 0 for numbers."""
    degree: int = 1
    """Largest degree of a monomial of the numbers."""
    kind: ClassVar[str] = "category"
    """The name of this class in a `spec`."""

    def __post_init__(self) -> None:
        check_at_least("degree", self.degree, 0)
        object.__setattr__(self, "categories", tuple(int(count) for count in self.categories))
        if not self.categories or min(self.categories) < 0:
            raise ValueError(f"categories must be counts of at least 0; got {self.categories}")

    @property
    def inputs(self) -> int:
        """d: the number of context dimensions."""
        return len(self.categories)

    @property
    def _numbers(self) -> list[int]:
        """The context dimensions that hold numbers."""
        return [k for k, count in enumerate(self.categories) if count == 0]

    @property
    def outputs(self) -> int:
        """m: the number of features."""
        monomials = math.comb(len(self._numbers) + self.degree, self.degree)
        return monomials * (1 + sum(count - 1 for count in self.categories if count))

    @property
    def constant(self) -> int:
        """Index of the feature that is 1 for every context."""
        return 0

    def __call__(self, contexts: Array) -> Array:
        """(n, m): the features of each row of `contexts` (n, d)."""
        monomials = np.ones((len(contexts), 1))
        if self._numbers:
            monomials = PolynomialFeatures(len(self._numbers), self.degree)(
                contexts[:, self._numbers]
            )
        parts = [monomials]
        for k, count in enumerate(self.categories):
            parts += [monomials * (contexts[:, k] == j)[:, None] for j in range(1, count)]
        return np.concatenate(parts, axis=1)

    def spec(self) -> dict[str, Any]:
        """Plain data from which `features_from` makes the same function again."""
        return {"kind": self.kind, "categories": list(self.categories), "degree": self.degree}


def rbf_grid(
    box: Box, counts: tuple[int, ...], precision: tuple[float, ...] | None = None
) -> RBFFeatures:
    """Radial basis functions on a regular grid over `box`.

    Along dimension d the centres are the counts[d] interior points of counts[d] + 2 evenly spaced
    ones, of which the first and the last are the bounds. Without a `precision` the basis functions
    overlap as in the paper's gate task: b_j falls to exp(-1/2) at the neighbouring centre.
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


def default_policy_features(box: Box) -> Features:
    """Policy features for contexts in `box`: [1, c], or [1, c] over each category if it has any."""
    if box.ordered:
        return linear_features(box.dimension)
    return CategoryFeatures(box.category_counts)


def default_value_features(box: Box) -> Features:
    """Value features for contexts in `box`, where nobody has tuned any.

    With categories they are all monomials up to degree 2 over each category. Without:
    Up to three dimensions they are a grid of at most 64 radial basis functions and the constant.
    In more dimensions a grid would be too large, and all monomials up to degree 2 are used.
    """
    if not box.ordered:
        return CategoryFeatures(box.category_counts, degree=2)
    grids = {1: (20,), 2: (8, 8), 3: (4, 4, 4)}
    if box.dimension in grids:
        return rbf_grid(box, grids[box.dimension])
    return PolynomialFeatures(box.dimension, 2)


_KINDS: dict[str, Callable[..., Features]] = {
    PolynomialFeatures.kind: PolynomialFeatures,
    RBFFeatures.kind: RBFFeatures,
    CategoryFeatures.kind: CategoryFeatures,
}


def features_from(spec: dict[str, Any]) -> Features:
    """The feature function whose `spec` this is."""
    arguments = dict(spec)
    kind = arguments.pop("kind", None)
    if kind not in _KINDS:
        raise ValueError(f"features must be one of {sorted(_KINDS)}; got {kind!r}")
    return _KINDS[kind](**arguments)
