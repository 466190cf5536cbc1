"""The mastery rule on a finite set with neighbours: it searches and arrives near the target."""

import numpy as np
import pytest

from selfpaced import Categorical, Categories, Integers, Product, SelfPacedMastery, TaskSet
from selfpaced.maths.categorical_step import widened
from selfpaced.targets.categorical import points_in
from selfpaced.teachers.finite_teachers import LEARNABLE
from selfpaced.testing import check_teacher

ROWS = Product(rows=Integers(1, 3), kind=Categories("wall", "lava"))
HARDEST = Categorical([0.0, 0.0, 0.0, 0.0, 0.0, 1.0], points_in(ROWS))  # 3 rows of lava


def practised(rates, updates, seed=0):
    """Probabilities of the six tasks after so many `updates`, if each succeeds at its rate."""
    teacher, rng = SelfPacedMastery().start(ROWS, HARDEST), np.random.default_rng(seed)
    for _ in range(updates):
        contexts = teacher.ask(50, rng)
        index = (contexts[:, None, :] == points_in(ROWS)).all(axis=2).argmax(axis=1)
        successes = (rng.random(50) < np.asarray(rates)[index]).astype(float)
        teacher.tell(contexts, successes, successes)
    return teacher.probabilities


def test_a_wider_target_prefers_tasks_that_are_nearer():
    places = ROWS.embed(points_in(ROWS))
    wide = np.exp(widened(np.log([1e-9] * 5 + [1.0 - 5e-9]), places, least=0.05))
    distances = np.linalg.norm(places - places[5], axis=1)
    assert wide.sum() == pytest.approx(1.0)
    order = np.argsort(distances)
    assert (np.diff(wide[order]) <= 1e-12).all()
    assert wide[3] == pytest.approx(wide[5] * np.exp(-0.5), rel=1e-6)  # one deviation away


def test_a_target_of_all_tasks_alike_stays_so_far_from_the_edges():
    line = np.linspace(0.0, 1.0, 301)[:, None]
    wide = widened(np.full(301, -np.log(301)), line, least=0.0)
    np.testing.assert_allclose(np.exp(wide[10:-10]), 1 / 301, rtol=0.01)


def test_a_search_stays_near_the_target_if_there_is_something_to_learn_from():
    """Walls succeed more often, but one row of lava often enough."""
    p = practised([0.6, 0.3, 0.6, 0.2, 0.6, 0.15], updates=15)
    assert p[[1, 3, 5]].sum() > 0.75


def test_a_search_goes_where_successes_are_if_there_are_none_near_the_target():
    rates = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    p = practised(rates, updates=30)
    assert p @ rates == pytest.approx(LEARNABLE, abs=0.07)
    assert p[0] > 0.2


def test_mastered_contexts_arrive_at_the_target():
    assert practised(np.ones(6), updates=30)[5] > 0.94  # 5% goes to all tasks alike


def test_a_state_says_whether_contexts_have_arrived():
    check_teacher(SelfPacedMastery(), ROWS, HARDEST)
    teacher, rng = SelfPacedMastery().start(ROWS, HARDEST), np.random.default_rng(0)
    for _ in range(20):
        teacher.tell(teacher.ask(50, rng), np.ones(50), np.ones(50))
    state = teacher.state()
    assert state["arrived"] == 1.0
    earlier = {name: value for name, value in state.items() if name != "arrived"}
    SelfPacedMastery().start(ROWS, HARDEST).restore(earlier)  # what earlier versions have saved


def test_tasks_without_neighbours_are_searched_by_success_alone():
    tasks = TaskSet(["a", "b", "c"])
    teacher, rng = (
        SelfPacedMastery().start(tasks, Categorical([0.0, 0.0, 1.0])),
        np.random.default_rng(0),
    )
    for _ in range(20):
        contexts = teacher.ask(50, rng)
        successes = np.where(contexts[:, 0] == 0, 0.6, 0.2) > rng.random(50)
        teacher.tell(contexts, successes.astype(float), successes.astype(float))
    assert teacher.probabilities.argmax() == 0
