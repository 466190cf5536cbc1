"""The self-paced step over contexts alone, free of policies and thetas.

Contexts are drawn from a Gaussian. In the threshold form (Klink et al., 2020) the next one comes as
near to the target as it can while the expected value of what was tried, importance-weighted, stays
above a bound, within a KL step. In the paper's form the KL to the target is weighed against it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from selfpaced.maths.arrays import Array
from selfpaced.maths.fit import fit_gaussian
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.reps import soft_max, temperature

Function = Callable[[Array], tuple[float, Array]]  # value and gradient

SLACK = 1e-6  # of the constraints, relative


class Step(NamedTuple):
    """The next distribution, and how it was found."""

    contexts: Gaussian
    value: float  # expected there, importance-weighted
    failed: bool  # the solver found nothing better: the old distribution is kept


class Tried(NamedTuple):
    """What was tried, and how it went."""

    contexts: Array  # (n, d)
    values: Array  # (n,)
    shares: Array  # (n,): how likely each is now, compared with when it was drawn; sum to 1

    @property
    def value(self) -> float:
        """Expected under the distribution that is now."""
        return float(self.shares @ self.values)


def step_to_target(
    old: Gaussian, target: Gaussian, tried: Tried, bound: float, epsilon: float
) -> Step:
    """argmin KL(new || target) with value(new) >= bound and KL(old || new) <= epsilon."""
    view = _View(old, target, tried)
    return view.solve(view.kl_to_target, epsilon, bound)


def step_to_value(old: Gaussian, tried: Tried, epsilon: float) -> Step:
    """argmax value(new) with KL(old || new) <= epsilon."""
    view = _View(old, old, tried)
    return view.solve(view.loss, epsilon, None)


def weighed_step(
    old: Gaussian, target: Gaussian, tried: Tried, alpha: float, epsilon: float
) -> Step:
    """argmax value(new) - alpha KL(new || target) with KL(new || old) <= epsilon, then a fit.

    SPRL's context step (Eq. 3) for a policy that stays as it is. Its dual has one unknown eta:
    eta eps + soft_max(x, alpha + eta) with x = V + alpha (log mu - log q), so the temperature is
    that of the bound, or alpha itself where the bound is inactive.
    """
    contexts, values, shares = tried
    x = values + alpha * (target.log_prob(contexts) - old.log_prob(contexts))
    if np.ptp(x) == 0.0:
        return Step(old, tried.value, True)
    weights = soft_max(x, max(temperature(x, epsilon), alpha)).weights * shares
    weights /= weights.sum()
    fit = fit_gaussian(old, contexts, weights, epsilon)
    return Step(fit.gaussian, float(weights @ values), fit.kept_old)


class _View:
    """The problem seen from the old distribution, which is N(0, I) here.

    Unknowns x: the new mean m, and the lower triangle of L with the logarithm of its diagonal,
    L L^T being the new covariance. Every function returns its value and its gradient in x.
    """

    def __init__(self, old: Gaussian, target: Gaussian, tried: Tried) -> None:
        self._old = old
        self._d = d = old.dimension
        self._rows, self._columns = np.tril_indices(d)
        self._diagonal = d + np.flatnonzero(self._rows == self._columns)
        # Values count from the least one, so that their zero does not matter: below it, a new
        # distribution that leaves the samples behind, where weights vanish, would be worth more.
        self._least = float(tried.values.min())
        above = tried.values - self._least
        counted = above > 0.0  # the others add nothing to the expected value
        self._u = np.linalg.solve(old.chol, (tried.contexts[counted] - old.mean).T).T  # (k, d)
        self._half_squares = 0.5 * (self._u**2).sum(axis=1)
        # And they enter scaled: the solver's steps must not depend on their unit.
        self._scale = float(above.max()) or 1.0
        self._values = above[counted] * tried.shares[counted] / self._scale
        inverse = np.linalg.inv(old.chol)
        self._aim = inverse @ (target.mean - old.mean)
        spread = inverse @ target.chol
        self._precision = np.linalg.inv(spread @ spread.T)
        self._log_det = 2 * float(np.log(np.abs(np.diag(spread))).sum())

    def _parts(self, x: Array) -> tuple[Array, Array]:
        L = np.zeros((self._d, self._d))
        L[self._rows, self._columns] = x[self._d :]
        np.fill_diagonal(L, np.exp(np.clip(x[self._diagonal], -30, 30)))
        return x[: self._d], L

    def _gradient(self, by_mean: Array, by_L: Array, L: Array) -> Array:
        by_L = by_L.copy()
        by_L[np.diag_indices(self._d)] *= np.diag(L)  # its logarithm is the unknown
        return np.concatenate([by_mean, by_L[self._rows, self._columns]])

    def value(self, x: Array) -> tuple[float, Array]:
        """sum_i s_i w_i V_i, w_i = new(c_i) / old(c_i), V from its least in units of its range."""
        m, L = self._parts(x)
        inverse = np.linalg.inv(L)
        z = (self._u - m) @ inverse.T
        squares = np.einsum("ij,ij->i", z, z)
        log_w = self._half_squares - 0.5 * squares - np.log(np.diag(L)).sum()
        share = np.exp(np.minimum(log_w, 50.0)) * self._values
        pulled = z @ inverse  # L^-T z of each row
        by_L = pulled.T @ (share[:, None] * z) - share.sum() * np.diag(1 / np.diag(L))
        return float(share.sum()), self._gradient(pulled.T @ share, by_L, L)

    def loss(self, x: Array) -> tuple[float, Array]:
        """Minus the value."""
        value, gradient = self.value(x)
        return -value, -gradient

    def kl_to_target(self, x: Array) -> tuple[float, Array]:
        """KL(new || target)."""
        m, L = self._parts(x)
        P, offset = self._precision, x[: self._d] - self._aim
        log_det = 2 * float(np.log(np.diag(L)).sum())
        trace = float(np.einsum("ij,ij->", P @ L, L))
        kl = 0.5 * (trace + offset @ P @ offset - self._d + self._log_det - log_det)
        by_L = P @ L - np.diag(1 / np.diag(L))
        return float(kl), self._gradient(P @ (m - self._aim), by_L, L)

    def kl_from_old(self, x: Array) -> tuple[float, Array]:
        """KL(old || new)."""
        m, L = self._parts(x)
        inverse = np.linalg.inv(L)
        S_inverse = inverse.T @ inverse
        second = np.eye(self._d) + np.outer(m, m)
        log_det = 2 * float(np.log(np.diag(L)).sum())
        kl = 0.5 * (float(np.trace(S_inverse @ second)) - self._d + log_det)
        by_L = -S_inverse @ second @ inverse.T + np.diag(1 / np.diag(L))
        return kl, self._gradient(S_inverse @ m, by_L, L)

    def solve(self, objective: Function, epsilon: float, bound: float | None) -> Step:
        """The minimum of `objective` within the KL step and, if there is one, above the bound."""
        start = np.zeros(self._d + len(self._rows))
        constraints = [_at_least(self.kl_from_old, epsilon, sign=-1.0)]
        if bound is not None:
            constraints.append(_at_least(self.value, self._scaled(bound), sign=1.0))
        unit = max(1.0, abs(objective(start)[0]))  # a narrow target is thousands of nats away

        def scaled(x: Array) -> tuple[float, Array]:
            value, gradient = objective(x)
            return value / unit, gradient / unit

        minimize: Any = optimize.minimize
        found = minimize(
            scaled,
            start,
            jac=True,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 100, "ftol": 1e-9},
        )
        x = np.asarray(found.x, dtype=float)
        kept = (
            np.isfinite(x).all()
            and self.kl_from_old(x)[0] <= epsilon * (1 + SLACK) + SLACK
            and (bound is None or self.value(x)[0] >= self._scaled(bound) - SLACK)
            and objective(x)[0] <= objective(start)[0] + SLACK
        )
        if not kept:
            return Step(self._old, self._unscaled(self.value(start)[0]), True)
        m, L = self._parts(x)
        chol = self._old.chol @ L
        mean = self._old.mean + self._old.chol @ m
        value = self._unscaled(self.value(x)[0])
        return Step(Gaussian(mean, chol @ chol.T), value, False)

    def _scaled(self, value: float) -> float:
        return (value - self._least) / self._scale

    def _unscaled(self, value: float) -> float:
        return self._least + value * self._scale


def _at_least(function: Function, bound: float, *, sign: float) -> Any:
    """sign * function >= sign * bound, as SciPy takes it: value and gradient apart, at one x."""
    known: list[tuple[Array, tuple[float, Array]]] = []

    def at(x: Array) -> tuple[float, Array]:
        if not known or not np.array_equal(known[0][0], x):
            known[:] = [(x.copy(), function(x))]
        return known[0][1]

    def fun(x: Array) -> float:
        return sign * (at(x)[0] - bound)

    def jac(x: Array) -> Array:
        return sign * at(x)[1]

    return {"type": "ineq", "fun": fun, "jac": jac}
