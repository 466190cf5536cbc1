"""The minimum of a smooth function within bounds on other smooth functions, all with gradients."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy

from selfpaced.maths.arrays import Array

Function = Callable[[Array], tuple[float, Array]]
"""A function of the unknowns that returns its value and its gradient."""

SLACK = 1e-6  # how far a solution may miss a constraint: the solver's own accuracy


def constrained_minimum(
    objective: Function,
    start: Array,
    *,
    at_most: Sequence[tuple[Function, float]] = (),
    at_least: Sequence[tuple[Function, float]] = (),
    box: tuple[float, float] | None = None,
) -> Array | None:
    """argmin_x objective(x) such that each function keeps its bound; None if none better is found.

    SciPy's SLSQP begins at `start`. Its answer counts only if it keeps all constraints and is no
    worse than `start`. `box`: the lower and the upper bound of every unknown.
    """
    objective = _remembering(objective)
    at_most = [(_remembering(function), bound) for function, bound in at_most]
    at_least = [(_remembering(function), bound) for function, bound in at_least]
    first = objective(start)[0]
    unit = max(1.0, abs(first))  # the KL to a narrow target is thousands of nats

    def scaled(x: Array) -> float:
        return objective(x)[0] / unit

    def gradient(x: Array) -> Array:
        return objective(x)[1] / unit

    minimize: Any = scipy.optimize.minimize
    found = minimize(
        scaled,
        start,
        jac=gradient,
        bounds=None if box is None else [box] * len(start),
        constraints=_constraints(at_most, at_least),
        method="SLSQP",
        options={"maxiter": 100, "ftol": 1e-9},
    )
    x = np.asarray(found.x, dtype=float)
    kept = (
        np.isfinite(x).all()
        and all(function(x)[0] <= bound * (1 + SLACK) + SLACK for function, bound in at_most)
        and all(function(x)[0] >= bound - SLACK for function, bound in at_least)
        and objective(x)[0] <= first + SLACK
    )
    return x if kept else None


def _remembering(function: Function) -> Function:
    """`function`, which computes its result once for one x, where it is asked again and again.

    SciPy asks for values and gradients of constraints one after the other, and the answer is
    checked where the solver was last.
    """
    known: list[tuple[bytes, tuple[float, Array]]] = []

    def at(x: Array) -> tuple[float, Array]:
        key = x.tobytes()
        if not known or known[0][0] != key:
            known[:] = [(key, function(x))]
        return known[0][1]

    return at


def _constraints(
    at_most: Sequence[tuple[Function, float]], at_least: Sequence[tuple[Function, float]]
) -> Any:
    """All constraints in SciPy's form, as one function >= 0 with several values.

    SciPy takes as long for every constraint of its own as for this one.
    """
    signed = [(function, bound, -1.0) for function, bound in at_most]
    signed += [(function, bound, 1.0) for function, bound in at_least]
    if not signed:
        return ()

    def fun(x: Array) -> Array:
        return np.array([sign * (function(x)[0] - bound) for function, bound, sign in signed])

    def jac(x: Array) -> Array:
        return np.array([sign * function(x)[1] for function, _, sign in signed])

    return {"type": "ineq", "fun": fun, "jac": jac}
