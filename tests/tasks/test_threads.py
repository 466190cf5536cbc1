"""Threads inside a run: the same bytes for any number, and processors that are shared out."""

import numpy as np
import pytest

import selfpaced
from selfpaced.engines import local
from selfpaced.engines.local import LocalEngine
from selfpaced.tasks.ball_in_a_cup import ROBOT, BallInACup
from selfpaced.tasks.reacher import Reacher
from selfpaced.tasks.string_models import FAST, AnyString
from selfpaced.tasks.threads import share_rows, sharing_threads, simulation_threads

STRINGS = AnyString(links=(8, 10), damping=(0.7, 3.0), margin=0.003, substeps=1)


def test_outside_of_a_run_tasks_use_one_thread():
    assert simulation_threads() == 1
    with sharing_threads(3):
        assert simulation_threads() == 3
        with sharing_threads(2):
            assert simulation_threads() == 2
        assert simulation_threads() == 3
    assert simulation_threads() == 1


def batch(task, n):
    rng = np.random.default_rng(0)
    return task.context_space.uniform(n, rng), 0.1 * task.theta_space.uniform(n, rng)


@pytest.mark.parametrize(
    "make",
    [
        Reacher,
        lambda: BallInACup(FAST),
        lambda: BallInACup(FAST, ROBOT),
        lambda: BallInACup(STRINGS),
    ],
)
def test_the_number_of_threads_does_not_change_a_byte(make):
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    task = make()
    contexts, thetas = batch(task, 5)
    seen = set()
    for threads in (1, 2, 3, 1):
        with sharing_threads(threads):
            paths = task.trajectories(contexts, thetas, np.random.default_rng(1))
            outcomes = task.evaluate(contexts, thetas, np.random.default_rng(1))
        seen.add((paths.tobytes(), outcomes.rewards.tobytes(), outcomes.successes.tobytes()))
    assert len(seen) == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 3, 16])
def test_every_row_is_worked_on_once_by_a_thread_that_has_itself_alone(threads, n):
    done, seen = np.zeros(n, dtype=int), set()

    def work(rows):
        done[rows] += 1
        seen.add(simulation_threads())

    with sharing_threads(threads):
        share_rows(work, n, parts_per_thread=2)
    assert (done == 1).all()
    assert threads == 1 or n <= 1 or seen == {1}


def test_an_error_in_a_thread_is_raised():
    def work(rows):
        if 3 in rows:
            raise ValueError("row 3")

    with sharing_threads(2), pytest.raises(ValueError, match="row 3"):
        share_rows(work, 8)


@pytest.mark.parametrize("threads", [0, -1, 1.5])
def test_fewer_than_one_thread_is_refused_with_a_sentence(threads):
    problem = selfpaced.experiments.experiment("gate-precision").built_problem()
    with pytest.raises(ValueError, match="threads must be"):
        selfpaced.train(problem, selfpaced.SPRL(), iterations=1, threads=threads)
    with pytest.raises(ValueError, match="threads must be"):
        LocalEngine(threads=threads)


@pytest.mark.parametrize(
    ("processors", "workers", "unfinished", "share"),
    [(8, None, 1, 8), (8, None, 3, 2), (8, None, 40, 1), (8, 2, 40, 4), (2, 5, 5, 1), (6, 4, 2, 3)],
)
def test_runs_share_the_processors(monkeypatch, processors, workers, unfinished, share):
    monkeypatch.setattr(local, "processors", lambda: processors)
    engine = LocalEngine(workers)
    assert engine._share(unfinished) == share
    assert LocalEngine(workers, threads=3)._share(unfinished) == 3


def test_together_running_runs_never_have_more_threads_than_there_are_processors(monkeypatch):
    rng = np.random.default_rng(0)
    for _ in range(200):
        processors, workers, jobs = rng.integers(1, 20, size=3).tolist()
        monkeypatch.setattr(local, "processors", lambda count=processors: count)
        engine, running, waiting = LocalEngine(min(workers, processors)), [], jobs
        while waiting or running:
            while waiting and len(running) < min(workers, processors):
                running.append(engine._share(waiting + len(running)))
                waiting -= 1
            assert sum(running) <= processors
            running.pop(rng.integers(len(running)))


def test_a_run_tells_tasks_how_many_threads_they_have():
    seen = []

    def reach(contexts, thetas):
        seen.append(simulation_threads())
        return -np.abs(thetas - contexts).sum(axis=1)

    box = selfpaced.Box([-1.0], [1.0])
    task = selfpaced.FunctionTask(reach, box, selfpaced.Box([-2.0], [2.0]))
    problem = selfpaced.Problem(task, selfpaced.Gaussian([0.9], [[1e-4]]))
    selfpaced.train(problem, selfpaced.SPRL(), iterations=1, threads=3)
    assert set(seen) == {3}
