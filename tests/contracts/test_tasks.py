"""What every registered task promises."""

import numpy as np
import pytest

from selfpaced.experiments import EXPERIMENTS
from selfpaced.types import TrajectoryTask


@pytest.fixture(params=sorted(EXPERIMENTS))
def task(request):
    return EXPERIMENTS[request.param].problem().task


def batch(task, n, seed=0):
    rng = np.random.default_rng(seed)
    return task.context_space.uniform(n, rng), task.theta_space.uniform(n, rng)


def test_outcomes_are_finite_and_one_per_row(task):
    outcomes = task.evaluate(*batch(task, 20), np.random.default_rng(1))
    assert outcomes.rewards.shape == outcomes.successes.shape == (20,)
    assert np.isfinite(outcomes.rewards).all()
    assert set(outcomes.successes) <= {0.0, 1.0}


def test_a_rollout_ignores_its_neighbours(task):
    contexts, thetas = batch(task, 20)
    alone = task.evaluate(contexts, thetas, np.random.default_rng(1))
    others, other_thetas = batch(task, 20, seed=5)
    others[0], other_thetas[0] = contexts[0], thetas[0]
    among = task.evaluate(others, other_thetas, np.random.default_rng(1))
    assert among.rewards[0] == alone.rewards[0]
    assert among.successes[0] == alone.successes[0]


def test_the_first_rows_do_not_depend_on_the_size_of_the_batch(task):
    contexts, thetas = batch(task, 20)
    many = task.evaluate(contexts, thetas, np.random.default_rng(1))
    few = task.evaluate(contexts[:3], thetas[:3], np.random.default_rng(1))
    np.testing.assert_array_equal(many.rewards[:3], few.rewards)


def test_the_same_generator_gives_the_same_outcomes(task):
    rows = batch(task, 10)
    first, again = (task.evaluate(*rows, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.rewards, again.rewards)


def test_arguments_are_not_edited(task):
    contexts, thetas = batch(task, 10)
    before = contexts.copy(), thetas.copy()
    task.evaluate(contexts, thetas, np.random.default_rng(0))
    np.testing.assert_array_equal(contexts, before[0])
    np.testing.assert_array_equal(thetas, before[1])


def test_trajectories_have_one_path_per_row(task):
    if isinstance(task, TrajectoryTask):
        paths = task.trajectories(*batch(task, 4), np.random.default_rng(0))
        assert paths.shape[0] == 4
        assert np.isfinite(paths).all()
