"""The self-paced step over contexts alone, for teachers that do not know the policy.

Contexts are drawn from a Gaussian q(c). Contexts c_i were tried and are worth V_i each, such as a
return or a success. A step replaces q by a Gaussian p (the paper's tilde mu) nearer to the target
mu, in one of two forms.

The paper's form (`step_by_alpha`) weighs the KL to the target against the expected value:

    max_p  E_p[V(c)] - alpha KL(p || mu)    subject to  KL(p || q) <= epsilon.

It is SPRL's problem for a policy that stays as it is. The objective is then Eq. 2, expected reward
minus alpha times the KL to the target. The bound is Eq. 7 (eq:kl_mu), the KL bound on the contexts
alone, to which the joint bound of Eq. 3 reduces when the policy does not change.

The threshold form (`step_to_target`; Klink et al., 2020) goes as near to the target as it can
while the expected value stays at or above a threshold V_LB:

    min_p  KL(p || mu)    subject to  sum_i s_i [p(c_i) / q(c_i)] V_i >= V_LB,
                                      KL(q || p) <= epsilon.

The sum estimates E_p[V(c)] from the contexts tried: p / q is the importance weight and s_i, which
sum to 1, are the samples' shares under q (1/n each if all were drawn from q itself). Until V_LB is
reached for the first time, `step_to_value` maximises that sum under the same KL bound. Importance
weights vanish for a p that leaves the samples behind, which would make negative values rise to 0;
so values are counted from the least one, V_i - min V, and min V is added to the sum again.
"""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, inverse
from selfpaced.maths.constrained_minimum import Function, constrained_minimum
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.kl_bounded_fit import fit_gaussian
from selfpaced.maths.reps import soft_max, temperature


class ContextStep(NamedTuple):
    """The next distribution of contexts, and how it was found."""

    contexts: Gaussian
    """The Gaussian p that the next contexts are drawn from."""
    value: float
    """The expected value under p, estimated from the contexts tried by importance weights."""
    failed: bool
    """True if nothing better was found, so that the old distribution is kept."""


class TriedContexts(NamedTuple):
    """Contexts that were tried, and what each was worth."""

    contexts: Array
    """(n, d): the contexts c_i."""
    values: Array
    """(n,): the value V_i of each, such as its return or its success."""
    shares: Array
    """(n,): s_i, proportional to the density of c_i now over that when it was drawn; sum to 1."""

    @property
    def value(self) -> float:
        """The expected value under the current distribution: sum_i s_i V_i."""
        return float(self.shares @ self.values)


def step_to_target(
    old: Gaussian, target: Gaussian, tried: TriedContexts, threshold: float, epsilon: float
) -> ContextStep:
    """argmin_p KL(p || target) such that value(p) >= threshold and KL(old || p) <= epsilon.

    This is the threshold form. `threshold` is V_LB, in the unit of the values. `old`, where the
    solver starts, should reach it.
    """
    if old is target and tried.value >= threshold:
        return ContextStep(target, tried.value, False)  # contexts have arrived, and stay
    problem = _WhitenedProblem(old, target, tried)
    at_target = problem.unknowns_of_target
    value = problem.value_at(at_target)
    if problem.kl_from_old(at_target)[0] <= epsilon and value >= threshold:
        return ContextStep(target, value, False)  # there is nothing to search for
    return problem.solve(problem.kl_to_target, epsilon, threshold)


def step_to_density(
    old: Gaussian, log_target: Array, tried: TriedContexts, threshold: float, epsilon: float
) -> ContextStep:
    """As `step_to_target`, for a target mu of which only `log_target` (n,) at the samples is known.

    KL(p || mu) = -H(p) - E_p[log mu], and the expectation is estimated as that of the values is.
    """
    problem = _WhitenedProblem(old, old, tried)
    log_mu = _WhitenedProblem(old, old, tried._replace(values=log_target))
    log_mu.share_parts(problem)
    return problem.solve(log_mu.kl_to_values, epsilon, threshold)


def step_to_value(old: Gaussian, tried: TriedContexts, epsilon: float) -> ContextStep:
    """argmax_p value(p) such that KL(old || p) <= epsilon, until V_LB has been reached once."""
    problem = _WhitenedProblem(old, old, tried)
    return problem.solve(problem.loss, epsilon, None)


def step_by_alpha(
    old: Gaussian, log_target: Array, tried: TriedContexts, alpha: float, epsilon: float
) -> ContextStep:
    """The paper's form: argmax_p E_p[V] - alpha KL(p || mu) (Eq. 2) with KL(p || q) <= eps (Eq. 7).

    The optimum is Eq. 8 (eq:sprl_opt) with the values in place of the multiplier V(c),

        p(c)  proportional to  q(c) exp(beta(c) / (alpha + eta)),    beta = alpha log(mu / q) + V,

    where eta >= 0 minimises the dual eta eps + soft_max(beta, alpha + eta). Of the target mu only
    `log_target` (n,), its log-densities at the contexts tried, is needed. So the temperature
    alpha + eta is the one at which the KL is eps, or alpha where that is larger and the bound is
    inactive. A Gaussian is then fitted to the contexts with the weights exp(beta / (alpha + eta)),
    under the bound on KL(old || new) of `maths/kl_bounded_fit.py`.
    """
    contexts, values, shares = tried
    beta = values + alpha * (log_target - old.log_prob(contexts))
    if np.ptp(beta) == 0.0:
        return ContextStep(old, tried.value, True)
    # The temperature treats samples as if all were drawn from q; shares then correct the weights.
    weights = soft_max(beta, max(temperature(beta, epsilon), alpha)).weights * shares
    weights /= weights.sum()
    fit = fit_gaussian(old, contexts, weights, epsilon)
    return ContextStep(fit.gaussian, float(weights @ values), fit.kept_old)


class _Parts(NamedTuple):
    """What the unknowns of a `_WhitenedProblem` stand for."""

    mean: Array
    """(d,): m."""
    chol: Array
    """(d, d): L."""
    inverse: Array
    """(d, d): the inverse of L."""
    diagonal: Array
    """(d,): the diagonal of L."""
    log_det: float
    """log det L."""


class _WhitenedProblem:
    """The threshold form in coordinates u = L_old^-1 (c - mean_old), where q is N(0, I).

    The unknowns x are the mean m of p and the lower triangle of its Cholesky factor L, with the
    logarithm of the diagonal in place of the diagonal itself, so that p is N(m, L L^T) for every
    x. Each of the functions of x returns its value and its gradient.
    """

    def __init__(self, old: Gaussian, target: Gaussian, tried: TriedContexts) -> None:
        self._old = old
        self._d = d = old.dimension
        self._rows, self._columns = np.tril_indices(d)
        self._on_diagonal = np.flatnonzero(self._rows == self._columns)
        self._diagonal = d + self._on_diagonal
        self._triangle = self._rows * d + self._columns  # places of the lower triangle, row by row
        self._known: list[tuple[bytes, _Parts]] = []  # one entry: the last x and its parts
        self._eye = np.eye(d)
        # Values are counted from the least one: see the module's docstring.
        self._least = float(tried.values.min())
        above = tried.values - self._least
        counted = above > 0.0  # other samples add 0 to the sum
        self._u = np.linalg.solve(old.chol, (tried.contexts[counted] - old.mean).T).T  # (k, d)
        self._half_squares = 0.5 * (self._u**2).sum(axis=1)
        # They are scaled to [0, 1], so that the solver's steps do not depend on their unit.
        self._scale = float(above.max()) or 1.0
        self._values = above[counted] * tried.shares[counted] / self._scale
        whitening = inverse(old.chol)
        self._aim = whitening @ (target.mean - old.mean)
        self._spread = spread = whitening @ target.chol  # lower triangular, as both are
        self._precision = inverse(spread @ spread.T)
        self._log_det = 2 * float(np.log(np.abs(np.diag(spread))).sum())

    def _parts(self, x: Array) -> "_Parts":
        """What the unknowns `x` stand for; the solver asks several functions at the same x."""
        key = x.tobytes()
        if not self._known or self._known[0][0] != key:
            L = np.zeros((self._d, self._d))
            L[self._rows, self._columns] = x[self._d :]
            diagonal = np.exp(np.minimum(np.maximum(x[self._diagonal], -30), 30))
            L.flat[:: self._d + 1] = diagonal
            log_det = np.log(diagonal).sum()
            mean = x[: self._d].copy()  # the solver changes x in place
            self._known[:] = [(key, _Parts(mean, L, inverse(L), diagonal, log_det))]
        return self._known[0][1]

    def share_parts(self, other: "_WhitenedProblem") -> None:
        """Compute the parts of an x once for both problems, which have the same `old`."""
        self._known = other._known

    def _gradient(self, by_mean: Array, by_L: Array, diagonal: Array) -> Array:
        """The gradient in x, from the gradients in m and in L."""
        found = np.concatenate([by_mean, by_L.take(self._triangle)])
        found[self._diagonal] *= diagonal  # by the logarithm of the diagonal
        return found

    def value(self, x: Array) -> tuple[float, Array]:
        """sum_i s_i [p(c_i) / q(c_i)] V_i, with the values scaled to [0, 1]."""
        m, _, L_inverse, diagonal, log_det = self._parts(x)
        z = (self._u - m) @ L_inverse.T
        squares = np.einsum("ij,ij->i", z, z)
        log_w = self._half_squares - 0.5 * squares - log_det
        share = np.exp(np.minimum(log_w, 50.0)) * self._values
        pulled, total = z @ L_inverse, share.sum()  # L^-T z of each row
        by_L = pulled.T @ (share[:, None] * z)
        by_L.flat[:: self._d + 1] -= total * (1 / diagonal)
        return float(total), self._gradient(pulled.T @ share, by_L, diagonal)

    def value_at(self, x: Array) -> float:
        """The same in the unit of the values."""
        return self._unscaled(self.value(x)[0])

    @property
    def unknowns_of_target(self) -> Array:
        """The x at which p is the target."""
        x = np.concatenate([self._aim, self._spread[self._rows, self._columns]])
        x[self._diagonal] = np.log(x[self._diagonal])
        return x

    def loss(self, x: Array) -> tuple[float, Array]:
        """Minus the value, for minimising."""
        value, gradient = self.value(x)
        return -value, -gradient

    def kl_to_target(self, x: Array) -> tuple[float, Array]:
        """KL(p || mu)."""
        m, L, _, diagonal, log_det = self._parts(x)
        P, offset = self._precision, m - self._aim
        by_L = P @ L
        trace = float(np.einsum("ij,ij->", by_L, L))
        kl = 0.5 * (trace + offset @ P @ offset - self._d + self._log_det - 2 * float(log_det))
        by_L.flat[:: self._d + 1] -= 1 / diagonal
        return float(kl), self._gradient(P @ offset, by_L, diagonal)

    def kl_to_values(self, x: Array) -> tuple[float, Array]:
        """KL(p || mu) but for a constant, where the values are log-densities of mu."""
        value, gradient = self.value(x)
        gradient = -self._scale * gradient
        gradient[self._diagonal] -= 1.0  # of the entropy, by the logarithms of the diagonal of L
        return -float(x[self._diagonal].sum()) - self._unscaled(value), gradient

    def kl_from_old(self, x: Array) -> tuple[float, Array]:
        """KL(q || p)."""
        m, _, L_inverse, diagonal, log_det = self._parts(x)
        S_inverse = L_inverse.T @ L_inverse
        product = S_inverse @ (self._eye + m[:, None] * m)
        kl = 0.5 * (float(product.trace()) - self._d + 2 * float(log_det))
        by_L = -product @ L_inverse.T
        by_L.flat[:: self._d + 1] += 1 / diagonal
        return kl, self._gradient(S_inverse @ m, by_L, diagonal)

    def solve(self, objective: Function, epsilon: float, threshold: float | None) -> ContextStep:
        """The minimum of `objective` with KL(q || p) <= epsilon and, if given, value >= threshold.

        The old distribution is kept if the solver finds no better one within the constraints.
        """
        start = np.zeros(self._d + len(self._rows))
        x = constrained_minimum(
            objective,
            start,
            at_most=[(self.kl_from_old, epsilon)],
            at_least=[] if threshold is None else [(self.value, self._scaled(threshold))],
        )
        if x is None:
            return ContextStep(self._old, self.value_at(start), True)
        m, L, *_ = self._parts(x)
        chol = self._old.chol @ L
        mean = self._old.mean + self._old.chol @ m
        return ContextStep(Gaussian(mean, chol @ chol.T), self.value_at(x), False)

    def _scaled(self, value: float) -> float:
        """`value` in the scale in which the values lie in [0, 1]."""
        return (value - self._least) / self._scale

    def _unscaled(self, value: float) -> float:
        """The inverse of `_scaled`."""
        return self._least + value * self._scale
