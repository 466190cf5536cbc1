"""RowTask: one row at a time, on processes that may die."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from selfpaced import SPRL, Box, Gaussian, Problem, RowTask, train
from selfpaced.tasks.row_task import RowError

BOXES = Box([0.0, 0.0], [1.0, 1.0]), Box([-1.0], [1.0])


def plain(context, theta):
    return float(context.sum() - theta[0] ** 2)


def scored(context, theta, rng):
    reward = float(context[0] + rng.normal())
    return reward, reward > 0.5


def picky(context, theta):
    if context[0] > 0.9:
        raise ZeroDivisionError("too far")
    return 0.0


def fragile(context, theta):
    """Kills its worker as often as the file named in the environment says."""
    counter = Path(os.environ["SELFPACED_TEST_DEATHS"])
    left = int(counter.read_text())
    if left and context[0] > 0.5:
        counter.write_text(str(left - 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return float(context[0])


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
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1; got -1"):
        RowTask(plain, *BOXES, workers=-1)
