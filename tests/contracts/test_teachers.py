"""What every teacher promises, whoever it drives."""

import numpy as np
import pytest

from selfpaced import Box, Gaussian
from selfpaced.teachers import TEACHERS, GoalGAN

BOX = Box([-5.0, 0.1], [5.0, 0.5])
TARGET = Gaussian([-4.0, 0.2], np.diag([0.1, 0.001]))


@pytest.fixture(params=sorted(TEACHERS))
def make(request):
    """A function that starts the teacher; GoalGAN with fewer steps, which change no contract."""
    if request.param == "goalgan":
        pytest.importorskip("torch", reason="needs the extra torch")
        return lambda box=BOX: GoalGAN(steps=5, first_steps=10, train_every=2).start(
            box, target(box)
        )
    return lambda box=BOX: TEACHERS[request.param].start(box, target(box))


def target(box):
    return TARGET if box is BOX else Gaussian(box.centre, np.diag((0.1 * box.width) ** 2))


def practise(teacher, rng, batches, outcome=None, n=30):
    """Ask and tell; success is likelier on the left, unless `outcome` says otherwise."""
    drawn = []
    for _ in range(batches):
        contexts = teacher.ask(n, rng)
        if outcome is None:
            successes = (rng.random(len(contexts)) < 0.5 - 0.1 * contexts[:, 0]).astype(float)
        else:
            successes = np.full(len(contexts), outcome)
        teacher.tell(contexts, 3.0 * successes, successes)
        drawn.append(contexts)
    return np.concatenate(drawn)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 100])
def test_contexts_lie_in_the_box_one_row_each(make, n):
    teacher = make()
    practise(teacher, np.random.default_rng(0), 3)
    contexts = teacher.ask(n, np.random.default_rng(1))
    assert contexts.shape == (n, 2)
    assert BOX.contains(contexts).all()


@pytest.mark.parametrize("dimension", [1, 4])
def test_boxes_of_any_dimension_and_width_will_do(make, dimension):
    box = Box([1e-3] * dimension, [1.0 + 1e-3 + i * 1e3 for i in range(dimension)])
    teacher = make(box)
    rng = np.random.default_rng(0)
    for _ in range(6):
        contexts = teacher.ask(40, rng)
        assert box.contains(contexts).all()
        wins = (rng.random(40) < 0.5).astype(float)
        teacher.tell(contexts, wins, wins)


def test_the_same_generator_gives_the_same_curriculum(make):
    one, other = (practise(make(), np.random.default_rng(5), 8) for _ in "ab")
    np.testing.assert_array_equal(one, other)


def test_numpys_global_generator_is_neither_used_nor_changed(make):
    state = np.random.get_state()[1].copy()
    one = practise(make(), np.random.default_rng(5), 4)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    np.random.default_rng()
    other = practise(make(), np.random.default_rng(5), 4)
    np.testing.assert_array_equal(one, other)


def test_restored_equals_uninterrupted(make):
    whole, rng = make(), np.random.default_rng(3)
    practise(whole, rng, 7)
    state = {name: np.array(value) for name, value in whole.state().items()}
    resumed = make()
    resumed.restore(state)
    one, other = (practise(t, np.random.default_rng(9), 7) for t in (whole, resumed))
    np.testing.assert_array_equal(one, other)
    for name, value in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value)


def test_a_teacher_that_was_never_asked_can_be_saved_and_restored(make):
    fresh = make()
    fresh.restore({name: np.array(value) for name, value in make().state().items()})
    one, other = (practise(t, np.random.default_rng(9), 3) for t in (fresh, make()))
    np.testing.assert_array_equal(one, other)


def test_states_are_plain_arrays(make):
    teacher = make()
    practise(teacher, np.random.default_rng(0), 3)
    for name, value in teacher.state().items():
        assert np.asarray(value).dtype.kind in "fiub", name


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_all_success_and_all_failure_are_survived(make, outcome):
    contexts = practise(make(), np.random.default_rng(0), 15, outcome)
    assert BOX.contains(contexts).all()


def test_empty_batches_and_repeats_are_survived(make):
    teacher, rng = make(), np.random.default_rng(0)
    nothing = np.zeros((0, 2)), np.zeros(0), np.zeros(0)
    teacher.tell(*nothing)
    same = np.tile([[1.0, 0.3]], (500, 1))
    for _ in range(4):
        teacher.ask(10, rng)
        teacher.tell(*nothing)
        teacher.tell(same, np.ones(500), (rng.random(500) < 0.5).astype(float))
    assert BOX.contains(teacher.ask(50, rng)).all()


def test_one_and_ten_thousand_episodes_are_survived(make):
    teacher, rng = make(), np.random.default_rng(0)
    teacher.ask(1, rng)
    teacher.tell(np.array([[0.0, 0.3]]), np.ones(1), np.ones(1))
    teacher.ask(1, rng)
    many = BOX.uniform(10_000, rng)
    wins = (rng.random(10_000) < 0.3).astype(float)
    teacher.tell(many, wins, wins)
    assert BOX.contains(teacher.ask(100, rng)).all()
