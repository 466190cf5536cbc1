"""What a target is: the protocol, its checks, and samples in a space."""

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, BoolArray, as_floats, check_vector, has_method
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.spaces.constrained import TRIES
from selfpaced.spaces.space import checked_space

CHECKED = 500  # samples by which a target is checked against its space
LEAST_INSIDE = 0.02  # share of them that must exist and be feasible
OUTSIDE = 20.0  # nats below the uniform density, which counts where the target's own is 0


class Target(Protocol):
    """A distribution of contexts. A density, `log_prob(contexts)`, may be missing.

    >>> import numpy as np
    >>> class LogUniform:
    ...     def sample(self, n, rng):
    ...         return 10 ** rng.uniform(-2, 0, size=(n, 1))
    >>> LogUniform().sample(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): contexts, one per row."""
        ...


def has_density(target: Any) -> bool:
    """True if `target` has a density with respect to the volume of the space."""
    return has_method(target, "log_prob") and bool(getattr(target, "has_density", True))


class FlooredDensity:
    """The density of a target; where it is 0, one that is `OUTSIDE` nats below the uniform one.

    So a Gaussian, which reaches beyond a target with bounds, still has a KL to it.
    """

    def __init__(self, target: Any, space: Box) -> None:
        self._target = target
        self._least = -float(np.log(space.width).sum()) - OUTSIDE

    def __repr__(self) -> str:
        return f"FlooredDensity({self._target!r})"

    def log_prob(self, contexts: Array) -> Array:
        """(n,): log-densities of `contexts` (n, d), all finite."""
        logs = np.asarray(self._target.log_prob(contexts), dtype=float)
        return np.where(np.isneginf(logs), self._least, logs)


def density_of(target: Any, space: Box) -> Gaussian | FlooredDensity:
    """What has the log-densities of `target`: a Gaussian itself, others with finite ones only."""
    return target if isinstance(target, Gaussian) else FlooredDensity(target, space)


def require_density(target: Any, who: str, instead: str) -> None:
    """Raise a ValueError that names an alternative unless `target` has a density."""
    if not has_density(target):
        raise ValueError(
            f"target must have a density (a method log_prob) for {who}; use {instead}, which only "
            f"needs samples; got {target!r}"
        )


def samples_in(target: Any, n: int, rng: np.random.Generator, space: Box) -> Array:
    """(n, d): samples of `target`, truncated to what exists and is feasible in `space`."""
    if isinstance(target, Gaussian):
        return target.sample(n, rng, space)
    rows = _drawn(target, n, rng, space)
    bad = np.flatnonzero(~_inside(rows, space))
    for _ in range(TRIES):
        if bad.size == 0:
            return rows
        rows[bad] = _drawn(target, len(bad), rng, space)
        bad = bad[~_inside(rows[bad], space)]
    good = np.setdiff1d(np.arange(n), bad)
    if good.size == 0:
        raise ValueError(f"target must have samples in {space}; none of {TRIES * n} was; {target}")
    rows[bad] = rows[rng.choice(good, size=bad.size)]
    return rows


def _drawn(target: Any, n: int, rng: np.random.Generator, space: Box) -> Array:
    """(n, d): what the target's `sample` returns; raise a ValueError unless it is an array."""
    rows = as_floats("samples of the target", target.sample(n, rng))
    if rows.shape != (n, space.dimension):
        raise ValueError(
            f"target must have {space.dimension} dimensions, so that {n} samples are "
            f"({n}, {space.dimension}); got {rows.shape}"
        )
    return np.array(rows)


def _inside(rows: Array, space: Box) -> BoolArray:
    inside = space.contains(rows)
    inside[inside] = space.feasible(rows[inside])
    return inside


def checked_target(target: Any, context_space: Any) -> Any:
    """`target`; raise a ValueError unless it is a distribution over contexts of `context_space`."""
    space = checked_space(context_space)
    if not has_method(target, "sample"):
        raise ValueError(
            "target must be a distribution, such as a Gaussian, or have a method "
            f"sample(n, rng); got {target!r}"
        )
    dimension = getattr(target, "dimension", space.dimension)
    if dimension != space.dimension:
        raise ValueError(f"target must have {space.dimension} dimensions; got {dimension}")
    if isinstance(target, Gaussian):
        return _checked_gaussian(target, space)
    rows = _drawn(target, CHECKED, np.random.default_rng(0), space)
    if not np.isfinite(rows).all():
        raise ValueError(f"target must have finite samples; got {target!r}")
    share = float(_inside(rows, space).mean())
    if share < LEAST_INSIDE:
        raise ValueError(
            f"target must lie in {space}; only {share:.1%} of its samples do; got {target!r}"
        )
    return target


def checked_place(context_space: Any, target: Any) -> tuple[Box, Any]:
    """Space and target that a teacher is started with; raise a ValueError unless they fit."""
    space = checked_space(context_space)
    return space, checked_target(target, space)


def _checked_gaussian(target: Gaussian, space: Box) -> Gaussian:
    if not space.contains(space.snapped(target.mean[None]))[0] or not Box(
        space.low, space.high
    ).contains(target.mean):
        raise ValueError(f"target must have its mean in {space}; got {target.mean.tolist()}")
    if not space.ordered:
        raise ValueError(
            f"target must not be a Gaussian over categories, which have no order; use Categorical "
            f"or Independent for {space}"
        )
    return target


def points_of(target: Any, n: int, space: Box) -> Array:
    """(n, d): contexts that stand for `target`, always the same.

    Recorded contexts stand for themselves; of other targets they are samples of a fixed seed.
    """
    points = getattr(target, "points", None)
    if points is not None and not hasattr(target, "probabilities"):
        rows = cast(Array, points)[_inside(points, space)]
        return (
            rows[np.arange(n) * len(rows) // n]
            if len(rows) > n
            else np.resize(rows, (n, rows.shape[1]))
        )
    return samples_in(target, n, np.random.default_rng(0), space)


def breadth_of(target: Any, space: Box) -> float:
    """From 0 for a single context to 1: which part of `space` the target covers.

    It is the largest over dimensions of four standard deviations, in widths of the space.
    """
    if isinstance(target, Gaussian):
        deviations = np.sqrt(np.diag(target.covariance)) / space.width
    else:
        deviations = space.embed(points_of(target, 200, space)).std(axis=0)
    return float(min(1.0, 4.0 * deviations.max()))


def central_context(target: Any, space: Box) -> Array:
    """(d,): the mean of a Gaussian; else the one of 200 samples with the least mean distance."""
    if isinstance(target, Gaussian):
        return target.mean if type(space) is Box else space.snapped(target.mean[None])[0]
    rows = points_of(target, 200, space)
    places = space.embed(rows)
    distances = np.linalg.norm(places[:, None] - places, axis=2).sum(axis=1)
    return rows[int(distances.argmin())]


def check_weights(name: str, weights: ArrayLike, count: int) -> Array:
    """`weights` (count,) as probabilities; raise a ValueError unless they are and sum to 1."""
    shares = check_vector(name, weights, count)
    if (shares < 0).any() or abs(float(shares.sum()) - 1.0) > 1e-6:
        raise ValueError(
            f"{name} must be at least 0 and sum to 1; got a sum of {float(shares.sum()):.6g}"
            + (f" and {float(shares.min()):.6g}" if (shares < 0).any() else "")
        )
    return shares / shares.sum()
