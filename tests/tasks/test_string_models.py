"""The string of Ball-in-a-Cup: models that are drawn for every rollout."""

import numpy as np
import pytest

from selfpaced.tasks.ball_in_a_cup import CONTROLS, ROBOT, BallInACup
from selfpaced.tasks.randomisation import Randomisation, undisturbed
from selfpaced.tasks.string_models import AnyString, Fidelity, equal_bending

STRING_LENGTH = 0.30495  # metres, from the first hinge to the ball's centre
CHEAP = {"margin": 0.003, "substeps": 1}
STRINGS = AnyString(links=(8, 10), damping=(0.5, 2.0), **CHEAP)
OF_ANY_LENGTH = AnyString(links=(8, 10), damping=(0.5, 2.0), length_spread=0.02, **CHEAP)


def test_every_number_of_links_is_drawn_as_often_and_damping_fills_its_range():
    strings = AnyString(links=(10, 14, 20), damping=(0.5, 2.0), margin=0.0015, substeps=2)
    which, damping, _ = strings.draw(6000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(which) / 6000, 1 / 3, atol=0.03)
    factors = damping / np.array([equal_bending(links) for links in strings.links])[which]
    low, high = strings.damping
    shares = np.log(factors / low) / np.log(high / low)  # uniform from 0 to 1
    assert 0.0 <= shares.min() < 0.01
    assert 0.99 < shares.max() <= 1.0
    np.testing.assert_allclose(shares.mean(), 0.5, atol=0.02)


@pytest.mark.parametrize("strings", [STRINGS, OF_ANY_LENGTH])
def test_the_first_rollouts_of_a_batch_do_not_depend_on_its_size(strings):
    few, many = (strings.draw(n, np.random.default_rng(3)) for n in (4, 50))
    for part, whole in zip(few, many, strict=True):
        np.testing.assert_array_equal(part, whole[:4])


def test_a_rollout_equals_one_in_the_model_that_was_drawn():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    rng = np.random.default_rng(0)
    contexts, thetas = rng.uniform(0.9, 2.5, (6, 1)), 1.2 * rng.normal(size=(6, 15))
    together = BallInACup(STRINGS).simulate(contexts, thetas, np.random.default_rng(7))
    which, damping, length = STRINGS.draw(6, np.random.default_rng(7))
    np.testing.assert_array_equal(length, 1.0)
    assert set(which) == {0, 1}
    for row in range(6):
        alone = BallInACup(Fidelity(STRINGS.links[which[row]], **CHEAP, damping=damping[row]))
        one = alone.simulate(contexts[[row]], thetas[[row]], rng)
        np.testing.assert_array_equal(one.balls[0], together.balls[row])
        assert one.radii[0] == together.radii[row]
        assert one.touched[0] == together.touched[row]


def test_lengths_fill_their_range():
    length = OF_ANY_LENGTH.draw(6000, np.random.default_rng(0)).length
    assert 0.98 <= length.min() < 0.9805
    assert 1.0195 < length.max() <= 1.02
    np.testing.assert_allclose(length.mean(), 1.0, atol=5e-4)


def test_every_number_of_links_may_have_its_own_length():
    strings = AnyString(
        links=(8, 10), damping=(1.0, 1.0), lengths=(0.9, 1.1), length_spread=0.01, **CHEAP
    )
    which, _, length = strings.draw(6000, np.random.default_rng(0))
    for k, mean in enumerate(strings.lengths):
        share = length[which == k] / mean - 1.0
        assert -0.01 <= share.min() < -0.0095
        assert 0.0095 < share.max() <= 0.01
    both = AnyString(links=(8, 10), damping=(1.0, 1.0), lengths=0.9, **CHEAP)
    np.testing.assert_array_equal(both.draw(50, np.random.default_rng(0)).length, 0.9)


def test_a_ball_at_rest_hangs_as_low_as_its_string_is_long():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    contexts, thetas = np.ones((8, 1)), np.zeros((8, 15))
    balls = BallInACup(OF_ANY_LENGTH).simulate(contexts, thetas, np.random.default_rng(5)).balls
    length = OF_ANY_LENGTH.draw(8, np.random.default_rng(5)).length
    lower = balls[0, 0, 2] - balls[:, 0, 2]
    np.testing.assert_allclose(lower, STRING_LENGTH * (length - length[0]), atol=1e-6)


def test_a_world_stretches_the_string_that_was_drawn():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    contexts, thetas = np.ones((3, 1)), np.zeros((3, 15))
    longer = Randomisation(string_length=0.01)
    task = BallInACup(OF_ANY_LENGTH, longer)
    balls = task.simulate(contexts, thetas, np.random.default_rng(5)).balls
    rng = np.random.default_rng(5)
    length = OF_ANY_LENGTH.draw(3, rng).length * longer.draw(3, CONTROLS, rng).string_length
    lower = balls[0, 0, 2] - balls[:, 0, 2]
    np.testing.assert_allclose(lower, STRING_LENGTH * (length - length[0]), atol=1e-6)


def test_strings_and_worlds_can_both_be_random():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    contexts, thetas = np.full((4, 1), 1.5), np.zeros((4, 15))
    task = BallInACup(STRINGS, ROBOT)
    first, again, other = (
        task.simulate(contexts, thetas, np.random.default_rng(seed)).balls for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first[:, -1] != other[:, -1]).any()
    assert len(np.unique(first[:, -1, 0])) == 4


def test_a_batch_in_random_worlds_may_have_no_rollout_in_one_of_the_models():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    task = BallInACup(STRINGS, ROBOT)
    one = task.simulate(np.full((1, 1), 1.5), np.zeros((1, 15)), np.random.default_rng(1))
    assert np.isfinite(one.balls).all()
    assert not one.unstable.any()


def test_an_undisturbed_world_is_the_model():
    worlds = undisturbed(3)
    positions, velocities = np.random.default_rng(0).normal(size=(2, 3, 5, 7))
    silent = worlds._replace(noise=np.zeros((3, 5, 7)))
    for given, received in zip(
        (positions, velocities), silent.disturbed(positions, velocities, 500.0), strict=True
    ):
        np.testing.assert_array_equal(given, received)


def test_every_number_of_links_may_have_its_own_time_step():
    fine = AnyString(links=(8, 10), damping=(1.0, 1.0), margin=0.003, substeps=(1, 2))
    assert [model.timestep for model in fine.models()] == [0.002, 0.001]
    contexts, thetas = np.ones((8, 1)), np.random.default_rng(1).normal(size=(8, 15))
    which, _, _ = fine.draw(8, np.random.default_rng(5))
    assert 0 < which.sum() < 8
    drawn = BallInACup(fine).simulate(contexts, thetas, np.random.default_rng(5))
    for k, model in enumerate(fine.models()):
        alone = BallInACup(model).simulate(
            contexts[which == k], thetas[which == k], np.random.default_rng(0)
        )
        np.testing.assert_allclose(drawn.balls[which == k], alone.balls, atol=1e-6)


def test_the_name_of_a_task_tells_its_strings():
    assert BallInACup(STRINGS).name == (
        "BallInACup(AnyString(links=(8, 10), damping=(0.5, 2.0), margin=0.003, substeps=1))"
    )
    assert BallInACup(OF_ANY_LENGTH).name.endswith("substeps=1, length_spread=0.02))")
    unequal = AnyString(links=(8, 10), damping=(0.5, 2.0), lengths=(0.9, 1.0), **CHEAP)
    assert BallInACup(unequal).name.endswith("substeps=1, lengths=(0.9, 1.0)))")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"links": ()}, "links must name at least one"),
        ({"links": (10, 1)}, "links must be .*; got 1"),
        ({"links": 10}, "links must be a tuple; got 10"),
        ({"damping": 1.0}, "damping must be a tuple; got 1.0"),
        ({"damping": (0.5, 1.0, 2.0)}, "damping must be two factors"),
        ({"damping": (2.0, 0.5)}, r"damping must be two factors above 0.*got \(2.0, 0.5\)"),
        ({"damping": (0.0, 0.5)}, "damping must be two factors above 0"),
        ({"damping": (0.1, np.nan)}, "damping must be"),
        ({"margin": -1.0}, "margin must be at least 0; got -1.0"),
        ({"substeps": 0}, "substeps must be .*; got 0"),
        ({"substeps": (1, 0)}, r"substeps must be one number, or one for each of the 1.*\(1, 0\)"),
        ({"substeps": (0,)}, "substeps must be .*; got 0"),
        ({"lengths": (1.0, 0.9)}, r"lengths must be one number, or one for each.*\(1.0, 0.9\)"),
        ({"lengths": (0.0,)}, r"lengths must be above 0; got \(0.0,\)"),
        ({"lengths": -1.0}, "lengths must be above 0; got -1.0"),
        ({"length_spread": -0.01}, "length_spread must be a share from 0 to below 1; got -0.01"),
        ({"length_spread": 1.0}, "length_spread must be a share from 0 to below 1; got 1.0"),
    ],
)
def test_bad_strings_are_refused_with_a_sentence(changed, message):
    with pytest.raises(ValueError, match=message):
        AnyString(**({"links": (10,), "damping": (0.5, 2.0), **CHEAP} | changed))
