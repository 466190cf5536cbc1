"""The zoo of studies/: every task is solvable, scores rows alone, and the table runs."""

import numpy as np
import pytest

from selfpaced import SPRL
from studies.zoo import ZOO
from studies.zoo.development import DEVELOPMENT
from studies.zoo.fresh import FRESH
from studies.zoo.proof import PROOF
from studies.zoo.table import row_text, run
from studies.zoo.unseen import UNSEEN


def test_a_quarter_is_for_development_and_the_rest_for_proof():
    assert len(DEVELOPMENT) == len(PROOF) == len(FRESH) == len(UNSEEN) == 7
    assert len(ZOO) == 28
    for tasks in (ZOO.values(), UNSEEN):
        assert {task.contexts.dimension for task in tasks} == {1, 2, 3, 4, 5, 6}
        dimensions = [task.thetas.dimension for task in tasks]
        assert (min(dimensions), max(dimensions)) == (2, 40)


@pytest.mark.parametrize("name", ZOO)
def test_a_linear_policy_solves_the_target(name):
    zoo, rng = ZOO[name], np.random.default_rng(0)
    contexts = zoo.target.sample(1000, rng, zoo.contexts)
    thetas = zoo.solving_policy().sample(contexts, rng, zoo.thetas)
    assert zoo.task(True).evaluate(contexts, thetas, rng).successes.mean() >= 0.98


@pytest.mark.parametrize("name", ZOO)
def test_the_initial_policy_does_not(name):
    problem, rng = ZOO[name].problem(True), np.random.default_rng(0)
    contexts = problem.target.sample(500, rng, problem.task.context_space)
    thetas = problem.initial_policy.sample(contexts, rng, problem.task.theta_space)
    assert problem.task.evaluate(contexts, thetas, rng).successes.mean() < 0.1


@pytest.mark.parametrize("name", ZOO)
def test_without_the_flag_only_rewards_are_told(name):
    zoo, rng = ZOO[name], np.random.default_rng(0)
    rows = zoo.contexts.uniform(20, rng), zoo.thetas.uniform(20, rng)
    with_flag = zoo.task(True).evaluate(*rows, np.random.default_rng(1))
    without = zoo.task(False).evaluate(*rows, np.random.default_rng(1))
    np.testing.assert_array_equal(with_flag.rewards, without.rewards)
    assert np.isnan(without.successes).all()
    assert set(np.unique(with_flag.successes)) <= {0.0, 1.0}


def test_one_run_of_the_table():
    found = run("masses", True, SPRL(), 500, 10_000)
    assert found.success >= 0.9
    assert found.rollouts < 10_000
    assert "1 of 1" in row_text("masses", True, [found])
