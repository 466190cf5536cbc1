"""The self-paced step over a finite set: it is the optimum, and it keeps its bounds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from selfpaced.maths.categorical_step import (
    kl,
    powers_of,
    reaching,
    step_by_alpha,
    step_to_target,
    step_towards,
    tilted,
)


def problem(seed=0, tasks=6):
    rng = np.random.default_rng(seed)
    log_p, log_mu = (tilted(rng.normal(size=tasks), np.zeros(tasks)) for _ in range(2))
    return log_p, log_mu, rng.random(tasks)


def best(objective, log_p, epsilon, more=()):
    """The minimum over all distributions, by a solver that knows no closed form."""
    p = np.exp(log_p)
    constraints = [
        {"type": "eq", "fun": lambda x: x.sum() - 1.0},
        {"type": "ineq", "fun": lambda x: epsilon - x @ (np.log(x) - log_p)},
        *more,
    ]
    bounds = [(1e-9, 1.0)] * len(p)
    return minimize(objective, p, bounds=bounds, constraints=constraints, method="SLSQP").x


@pytest.mark.parametrize("alpha", [0.0, 0.05, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.02, 0.3])
def test_the_papers_step_is_the_optimum(alpha, epsilon):
    log_p, log_mu, values = problem()
    found = np.exp(step_by_alpha(log_p, log_mu, values, alpha, epsilon))

    def loss(x):
        return -x @ values + alpha * (x @ (np.log(x) - log_mu))

    exact = best(loss, log_p, epsilon)
    assert kl(np.log(found), log_p) <= epsilon * 1.001
    assert loss(found) <= loss(exact) + 5e-3 * max(1.0, alpha)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7])
def test_the_threshold_step_is_the_optimum(threshold):
    log_p, log_mu, values = problem(3)
    log_p, _ = reaching(log_p, powers_of(values), threshold)
    found = np.exp(step_to_target(log_p, log_mu, values, threshold, 0.1))
    reached = {"type": "ineq", "fun": lambda x: x @ values - threshold}

    def loss(x):
        return x @ (np.log(x) - log_mu)

    exact = best(loss, log_p, 0.1, [reached])
    assert found @ values >= threshold - 2e-3
    assert kl(np.log(found), log_p) <= 0.1 * 1.001
    assert loss(found) <= loss(exact) + 5e-3


def test_out_of_reach_the_step_goes_where_the_value_is():
    log_p, log_mu, values = problem(1)
    found = np.exp(step_to_target(log_p, log_mu, values, 0.99 * values.max(), 0.01))
    assert found @ values > np.exp(log_p) @ values
    assert kl(np.log(found), log_p) <= 0.0101


def test_a_step_towards_a_near_aim_arrives():
    log_p, log_mu, _ = problem(2)
    np.testing.assert_allclose(step_towards(log_p, log_mu, 100.0), log_mu)
    short = step_towards(log_p, log_mu, 0.01)
    assert 0.009 < kl(short, log_p) <= 0.01


def test_equal_values_without_a_pull_change_nothing():
    log_p, log_mu, _ = problem(2)
    np.testing.assert_array_equal(step_by_alpha(log_p, log_mu, np.ones(6), 0.0, 0.1), log_p)
