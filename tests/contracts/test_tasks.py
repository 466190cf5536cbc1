"""Every registered task keeps the contract of tasks, and some rules of this library besides."""

import numpy as np
import pytest

from selfpaced.experiments.optional_packages import check_installed
from selfpaced.tasks import TASKS
from selfpaced.testing import check_task
from selfpaced.types import TrajectoryTask

ACTION_DIMENSIONS = {"reacher": 2, "reacher-kinematic": 2}  # of tasks that do not say so


@pytest.fixture(params=sorted(TASKS))
def name(request):
    return request.param


@pytest.fixture
def task(name):
    task = TASKS[name]()
    try:
        check_installed(task)
    except ValueError as error:
        pytest.skip(str(error))
    return task


def test_registered_tasks_keep_the_contract(task, name):
    check_task(task, action_dimension=ACTION_DIMENSIONS.get(name), strict=True)


def test_trajectories_have_one_path_per_row(task):
    if not isinstance(task, TrajectoryTask):
        pytest.skip(f"{task!r} has no trajectories")
    rng = np.random.default_rng(0)
    contexts, thetas = task.context_space.uniform(4, rng), task.theta_space.uniform(4, rng)
    paths = task.trajectories(contexts, thetas, rng)
    assert paths.shape[0] == 4
    assert np.isfinite(paths).all()


def test_registered_tasks_say_what_succeeded(task):
    rng = np.random.default_rng(0)
    contexts, thetas = task.context_space.uniform(20, rng), task.theta_space.uniform(20, rng)
    assert set(task.evaluate(contexts, thetas, rng).successes) <= {0.0, 1.0}


def test_the_first_rows_do_not_depend_on_the_size_of_the_batch(task):
    # Stricter than the contract: exact, and with noise, which the gate draws row by row.
    rng = np.random.default_rng(0)
    contexts, thetas = task.context_space.uniform(20, rng), task.theta_space.uniform(20, rng)
    many = task.evaluate(contexts, thetas, np.random.default_rng(1))
    few = task.evaluate(contexts[:3], thetas[:3], np.random.default_rng(1))
    np.testing.assert_array_equal(many.rewards[:3], few.rewards)
    np.testing.assert_array_equal(many.successes[:3], few.successes)
