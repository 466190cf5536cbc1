"""RowTask: one row at a time, on processes that may die."""

import sys
import threading
import time

import numpy as np
import pytest
from row_functions import (
    forks_and_dies,
    forks_and_returns,
    fragile,
    hungry,
    picky,
    plain,
    scored,
    sleeper,
    unknown,
)

from selfpaced import SPRL, Box, FunctionTask, Gaussian, Problem, RowTask, train
from selfpaced.tasks.row_task import RowError

BOXES = Box([0.0, 0.0], [1.0, 1.0]), Box([-1.0], [1.0])


def rows(n=12):
    rng = np.random.default_rng(0)
    return rng.random((n, 2)), rng.uniform(-1, 1, (n, 1))


def test_rows_are_scored_in_their_order():
    contexts, thetas = rows()
    with RowTask(plain, *BOXES, workers=2) as task:
        outcomes = task.evaluate(contexts, thetas, np.random.default_rng(0))
        again = task.evaluate(contexts[:3], thetas[:3], np.random.default_rng(0))
    np.testing.assert_allclose(outcomes.rewards, contexts.sum(axis=1) - thetas[:, 0] ** 2)
    assert np.isnan(outcomes.successes).all()
    np.testing.assert_array_equal(again.rewards, outcomes.rewards[:3])


def test_the_result_is_the_same_for_any_worker_count():
    contexts, thetas = rows()
    found = []
    for workers in (1, 3):
        with RowTask(scored, *BOXES, workers=workers, noisy=True) as task:
            found.append(task.evaluate(contexts, thetas, np.random.default_rng(7)))
    np.testing.assert_array_equal(found[0].rewards, found[1].rewards)
    np.testing.assert_array_equal(found[0].successes, found[0].rewards > 0.5)
    assert len(set(found[0].rewards)) == len(contexts)  # every row has noise of its own


def test_an_error_names_its_row_and_shows_the_traceback():
    contexts, thetas = rows(5)
    contexts[3, 0] = 0.95
    with (
        RowTask(picky, *BOXES, workers=2) as task,
        pytest.raises(RowError, match=r"(?s)ZeroDivisionError: too far.*row 3, context \[0.95"),
    ):
        task.evaluate(contexts, thetas, np.random.default_rng(0))


def test_a_worker_that_dies_is_replaced_and_its_row_tried_again(tmp_path, monkeypatch):
    counter = tmp_path / "deaths"
    monkeypatch.setenv("SELFPACED_TEST_DEATHS", str(counter))
    contexts, thetas = np.linspace(0, 1, 12).reshape(6, 2), np.zeros((6, 1))
    with RowTask(fragile, *BOXES, workers=1) as task:  # two would race for the counter
        counter.write_text("2")
        outcomes = task.evaluate(contexts, thetas, np.random.default_rng(0))
        np.testing.assert_allclose(outcomes.rewards, contexts[:, 0])
        counter.write_text("99")
        with pytest.raises(RowError, match=r"died 3 times, at last by signal SIGKILL, on row \d"):
            task.evaluate(contexts, thetas, np.random.default_rng(0))
        counter.write_text("0")  # and it can be used again
        task.evaluate(contexts, thetas, np.random.default_rng(0))


def rows_with_a_bad_one():
    contexts, thetas = 0.8 * rows(6)[0], np.zeros((6, 1))
    contexts[2, 0] = 0.95
    return contexts, thetas


def test_a_row_that_hangs_is_tried_again_and_given_up_with_its_values():
    contexts, thetas = rows_with_a_bad_one()
    with RowTask(sleeper, *BOXES, workers=2, timeout=3.0) as task:
        task.evaluate(contexts[:2], thetas[:2], np.random.default_rng(0))  # starts the workers
        began = time.monotonic()
        with pytest.raises(
            RowError, match=r"no result within 3 s, in \d attempts?, on row 2, context \[0.95.*seed"
        ):
            task.evaluate(contexts, thetas, np.random.default_rng(0))
        assert time.monotonic() - began < 5.0


def test_a_row_that_hangs_may_count_as_a_failure_and_costs_no_other_row():
    contexts, thetas = rows_with_a_bad_one()
    fails = {"on_error": "fail", "failure_reward": -7.0}
    with RowTask(sleeper, *BOXES, workers=2, timeout=2.0, **fails) as task:
        with pytest.warns(UserWarning, match="counts as a failed rollout: there was no result"):
            outcomes = task.evaluate(contexts, thetas, np.random.default_rng(0))
        assert task.failures == 1
    expected = np.where(contexts[:, 0] > 0.9, -7.0, contexts[:, 0])
    np.testing.assert_array_equal(outcomes.rewards, expected)
    assert np.isnan(outcomes.successes).all()  # the function defines no success


def test_an_error_may_count_as_a_failure():
    contexts, thetas = rows_with_a_bad_one()
    with RowTask(picky, *BOXES, workers=1, on_error="fail", failure_reward=-1.0) as task:
        with pytest.warns(UserWarning, match=r"(?s)ZeroDivisionError.*on row 2"):
            outcomes = task.evaluate(contexts, thetas, np.random.default_rng(0))
        task.evaluate(contexts, thetas, np.random.default_rng(0))  # said once
    assert outcomes.rewards.tolist() == [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("engine", [RowTask, FunctionTask])
def test_rewards_of_nan_count_as_failures_if_asked(engine):
    contexts, thetas = rows_with_a_bad_one()
    if engine is RowTask:
        task = RowTask(unknown, *BOXES, workers=1, failure_reward=-2.0)
    else:
        task = FunctionTask(nan_for_the_third, *BOXES, failure_reward=-2.0)
    outcomes = task.evaluate(contexts, thetas, np.random.default_rng(0))
    assert outcomes.rewards[2] == -2.0
    assert outcomes.successes.tolist() == [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    assert np.isfinite(outcomes.rewards).all()
    assert task.failures == 1
    if engine is RowTask:
        task.close()


def nan_for_the_third(contexts, thetas):
    return np.where(np.arange(len(contexts)) == 2, np.nan, 1.0), np.ones(len(contexts))


def test_a_row_that_forks_and_dies_hangs_nothing():
    contexts, thetas = rows_with_a_bad_one()
    with (
        RowTask(forks_and_dies, *BOXES, workers=2) as task,
        pytest.raises(RowError, match=r"died 3 times, at last by exit code 3, on row 2"),
    ):
        task.evaluate(contexts, thetas, np.random.default_rng(0))


def test_two_threads_and_copies_of_a_worker_disturb_no_row():
    contexts, thetas = 0.8 * rows(6)[0], np.zeros((6, 1))
    found = {}

    def evaluate(i, task):
        found[i] = task.evaluate(contexts + 0.01 * i, thetas, np.random.default_rng(i)).rewards

    with RowTask(forks_and_returns, *BOXES, workers=2) as task:
        threads = [threading.Thread(target=evaluate, args=(i, task)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for i in range(3):
        np.testing.assert_array_equal(found[i], contexts[:, 0] + 0.01 * i)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit address space")
def test_a_row_that_takes_too_much_memory_fails_alone():
    contexts, thetas = rows(1)
    with (
        RowTask(hungry, *BOXES, workers=1, memory_gb=3.0) as task,
        pytest.raises(RowError, match=r"(?s)MemoryError.*on row 0"),
    ):
        task.evaluate(contexts, thetas, np.random.default_rng(0))


def test_a_learner_learns_on_rows():
    with RowTask(plain, *BOXES, workers=2) as task:
        problem = Problem(task, Gaussian([0.9, 0.9], 0.01 * np.eye(2)))
        run = train(problem, SPRL(n_samples=10, buffer_size=2), iterations=4)
    assert len(run.records) == 4


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="function must be importable"):
        RowTask(lambda c, t: 0.0, *BOXES)
    with pytest.raises(ValueError, match="engine must be 'local' or 'ray'; got 'slurm'"):
        RowTask(plain, *BOXES, engine="slurm")
    with pytest.raises(ValueError, match="timeout must be above 0"):
        RowTask(plain, *BOXES, timeout=0.0)
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'fail'; got 'ignore'"):
        RowTask(plain, *BOXES, on_error="ignore")
    with pytest.raises(ValueError, match="failure_reward must be given with on_error='fail'"):
        RowTask(plain, *BOXES, on_error="fail")
    with pytest.raises(ValueError, match="failure_reward must be a finite number; got nan"):
        RowTask(plain, *BOXES, failure_reward=np.nan)
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1; got -1"):
        RowTask(plain, *BOXES, workers=-1)
