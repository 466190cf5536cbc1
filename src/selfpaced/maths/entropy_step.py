"""The step of DORAEMON: the widest distribution of contexts on which enough still succeeds.

From the contexts c_i that were tried, with values V_i (successes), shares s_i and the distribution
q that they count as drawn from, the value of another distribution p is estimated by importance
weights (Tiboni et al., ICLR 2024),

    value(p) = sum_i s_i [p(c_i) / q(c_i)] V_i.

p and q are independent Beta distributions, so the weights and their gradients are those of an
exponential family. The unknowns x are the logarithms of the exponents (a, b).
"""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.beta import IndependentBeta, beta_entropy, beta_kl, log_normaliser
from selfpaced.maths.constrained_minimum import constrained_minimum
from selfpaced.maths.context_step import TriedContexts

BOUNDS = (0.0, float(np.log(1e6)))  # of log a and log b; a = 1 at least: see IndependentBeta


class EntropyStep(NamedTuple):
    """The next distribution of contexts, and how it was found."""

    contexts: IndependentBeta
    """The distribution p that the next contexts are drawn from."""
    value: float
    """The expected value under p, estimated from the contexts tried."""
    failed: bool
    """True if nothing better was found, so that the old distribution is kept."""


def step_to_entropy(
    old: IndependentBeta, tried: TriedContexts, least: float, epsilon: float
) -> EntropyStep:
    """argmax_p entropy(p) such that value(p) >= least and KL(p || old) <= epsilon.

    If the value of `old` is below `least`, the value is maximised first, under the same KL bound.
    If it then reaches `least`, the entropy is maximised from there, else that p is the answer.
    """
    problem = EntropyProblem(old, tried)
    start = problem.start
    close = [(problem.kl_from_old, epsilon)]
    if problem.value(start)[0] < least:
        rescued = constrained_minimum(problem.loss, start, at_most=close, box=BOUNDS)
        if rescued is None or problem.value(rescued)[0] <= problem.value(start)[0]:
            return EntropyStep(old, problem.value(start)[0], True)
        start = rescued
    found = start
    if problem.value(start)[0] >= least:
        enough = [(problem.value, least)]
        widest = constrained_minimum(
            problem.narrowness, start, at_most=close, at_least=enough, box=BOUNDS
        )
        found = start if widest is None else widest
    contexts = IndependentBeta(old.box, *np.maximum(problem.exponents(found), 1.0))
    return EntropyStep(contexts, problem.value(found)[0], found is problem.start)


class EntropyProblem:
    """The functions of the unknowns x = (log a, log b); each returns its value and its gradient."""

    def __init__(self, old: IndependentBeta, tried: TriedContexts) -> None:
        counted = tried.values != 0.0  # other samples add 0 to the sum
        self._old = old
        self._statistics = old.statistics(tried.contexts[counted])  # (k, 2 d)
        self._old_log_prob = old.log_prob(tried.contexts[counted])
        self._values = tried.values[counted] * tried.shares[counted]
        self.start: Array = np.log(np.concatenate([old.a, old.b]))

    def exponents(self, x: Array) -> tuple[Array, Array]:
        """(d,) and (d,): the exponents a and b that `x` (2 d,) stands for."""
        a, b = np.split(np.exp(np.clip(x, -BOUNDS[1], BOUNDS[1])), 2)
        return a, b

    def value(self, x: Array) -> tuple[float, Array]:
        """sum_i s_i [p(c_i) / q(c_i)] V_i."""
        a, b = self.exponents(x)
        both = np.concatenate([a, b])
        log_B, mean_statistics = log_normaliser(a, b)
        log_ratio = self._statistics @ (both - 1.0) - log_B - self._old_log_prob
        weighted = np.exp(np.minimum(log_ratio, 50.0)) * self._values
        total = float(weighted.sum())
        return total, both * (weighted @ self._statistics - total * mean_statistics)

    def loss(self, x: Array) -> tuple[float, Array]:
        """Minus the value, for minimising."""
        value, gradient = self.value(x)
        return -value, -gradient

    def narrowness(self, x: Array) -> tuple[float, Array]:
        """Minus the entropy of p, for minimising."""
        a, b = self.exponents(x)
        entropy, gradient = beta_entropy(a, b)
        return -entropy, -gradient * np.concatenate([a, b])

    def kl_from_old(self, x: Array) -> tuple[float, Array]:
        """KL(p || q)."""
        a, b = self.exponents(x)
        kl, gradient = beta_kl(a, b, self._old.a, self._old.b)
        return kl, gradient * np.concatenate([a, b])
