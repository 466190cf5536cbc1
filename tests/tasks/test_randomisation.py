"""Ball-in-a-Cup in random worlds: each difference does what its name says, and nothing else."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="needs the extra mujoco")

from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP_ROBUST
from selfpaced.tasks.ball_in_a_cup import CONTROLS, ROBOT, BallInACup, set_points
from selfpaced.tasks.ball_in_any_world import BallInAnyWorld
from selfpaced.tasks.mujoco.wam import BALL_MASS, KD, KP, STRING_LENGTH
from selfpaced.tasks.mujoco.wam_rollouts import JOINTS, WamRollouts
from selfpaced.tasks.randomisation import Randomisation, delayed
from selfpaced.tasks.string_models import FAST, FREQUENCY

SIZES = {name: getattr(ROBOT, name) for name in ROBOT.__dataclass_fields__}
CONTEXTS = np.array([[1.0], [2.2], [1.4]])


def thetas():
    return np.random.default_rng(4).normal(scale=0.8, size=(3, 15))


def balls(randomisation, seed=0):
    task = BallInACup(FAST, randomisation)
    return task.simulate(CONTEXTS, thetas(), np.random.default_rng(seed)).balls[:, :600]


@pytest.fixture(scope="module")
def nominal():
    return balls(None)


def test_sizes_of_zero_change_nothing(nominal):
    np.testing.assert_allclose(balls(Randomisation()), nominal, atol=1e-7)


@pytest.mark.parametrize("name", SIZES)
def test_every_difference_moves_the_ball(nominal, name):
    moved = np.abs(balls(Randomisation(**{name: SIZES[name]})) - nominal).max(axis=(1, 2))
    assert (moved > 1e-5).all()
    assert (moved < 0.2).all()


def test_worlds_come_from_the_generator_and_from_nowhere_else():
    np.testing.assert_array_equal(balls(ROBOT, seed=1), balls(ROBOT, seed=1))
    assert not np.array_equal(balls(ROBOT, seed=1), balls(ROBOT, seed=2))


def test_draws_stay_within_their_sizes_and_fill_them():
    worlds = ROBOT.draw(4000, 2, np.random.default_rng(0))
    for values, middle, size in (
        (worlds.ball_mass, 1.0, ROBOT.ball_mass),
        (worlds.string_length, 1.0, ROBOT.string_length),
        (worlds.string_damping, 1.0, ROBOT.string_damping),
        (worlds.cup_offset, 0.0, ROBOT.cup_position),
        (worlds.joint_offset, 0.0, ROBOT.joint_offset),
        (worlds.gains, 1.0, ROBOT.gains),
        (worlds.delay, ROBOT.delay / 2, ROBOT.delay / 2),
    ):
        assert np.abs(values - middle).max() <= size
        assert values.std() == pytest.approx(size / np.sqrt(3), rel=0.05)  # uniform
    assert worlds.noise.std() == pytest.approx(ROBOT.noise, rel=0.02)


def test_models_have_the_masses_lengths_and_gains_that_were_drawn():
    rollouts = WamRollouts(FAST)
    worlds = ROBOT.draw(2, CONTROLS, np.random.default_rng(0))
    still = np.zeros((2, 2, CONTROLS, JOINTS))
    scene = rollouts.scene(np.array([1.0, 2.0]), *still, worlds=worlds)
    for row, model in enumerate(scene.models):
        ball = model.body("ball").id
        assert model.body_mass[ball] == pytest.approx(worlds.ball_mass[row] * BALL_MASS)
        joints = [model.body(f"string{k}").pos for k in range(1, FAST.links)]
        length = np.linalg.norm([*joints, model.body("ball").pos], axis=1).sum()
        assert length == pytest.approx(worlds.string_length[row] * STRING_LENGTH)
        damping = model.dof_damping[model.joint("string3x").dofadr]
        assert damping == pytest.approx(worlds.string_damping[row] * FAST.damping)
        np.testing.assert_allclose(model.body("cup").pos, worlds.cup_offset[row])
        np.testing.assert_allclose(model.actuator_biasprm[:, 1], -worlds.gains[row] * KP)
        np.testing.assert_allclose(model.actuator_biasprm[:, 2], -worlds.gains[row] * KD)
    fresh, used = WamRollouts(FAST)._model(1.3), rollouts._model(1.3)
    np.testing.assert_array_equal(used.body_pos, fresh.body_pos)
    np.testing.assert_array_equal(used.body_mass, fresh.body_mass)
    np.testing.assert_array_equal(used.dof_damping, fresh.dof_damping)
    np.testing.assert_array_equal(used.actuator_biasprm, fresh.actuator_biasprm)


def test_nearer_worlds_have_a_share_of_every_difference():
    worlds = ROBOT.draw(3, 2, np.random.default_rng(0))
    nearer = worlds.nearer(np.array([0.0, 0.5, 1.0]))
    nominal = Randomisation().draw(3, 2, np.random.default_rng(0))
    for near, far, middle in zip(nearer, worlds, nominal, strict=True):
        for row, share in enumerate((0.0, 0.5, 1.0)):
            np.testing.assert_allclose(near[row] - middle[row], share * (far[row] - middle[row]))


def test_contexts_say_how_much_worlds_differ_from_the_model(nominal):
    def moved(share):
        contexts = np.column_stack([CONTEXTS, np.full(3, share)])
        task = BallInAnyWorld(FAST)
        return task.simulate(contexts, thetas(), np.random.default_rng(0)).balls[:, :600]

    np.testing.assert_allclose(moved(0.0), nominal, atol=1e-7)
    np.testing.assert_allclose(moved(1.0), balls(ROBOT), atol=1e-7)
    half, whole = (np.abs(moved(share) - nominal).mean() for share in (0.5, 1.0))
    assert 0.3 < half / whole < 0.7


def test_the_robust_experiment_ends_with_the_real_cup_in_any_world():
    problem = BALL_IN_A_CUP_ROBUST.built_problem()
    np.testing.assert_array_equal(problem.target.mean, [1.0, 1.0])
    names = [task.name for task in (problem.task, *problem.final_tasks.values())]
    assert len(set(names)) == 2  # random worlds are scored a second time, with other draws
    assert all(name.startswith("BallInAnyWorld(") for name in names)


def test_a_delay_of_whole_and_half_steps():
    values = np.arange(10.0).reshape(1, 5, 2).repeat(3, axis=0)
    late = delayed(values, np.array([0.0, 2.0, 0.5]))
    np.testing.assert_array_equal(late[0], values[0])
    np.testing.assert_array_equal(late[1, :, 0], [0, 0, 0, 2, 4])
    np.testing.assert_array_equal(late[2, :, 0], [0, 1, 3, 5, 7])


def test_controllers_get_set_points_late_offset_and_with_noise():
    worlds = Randomisation(joint_offset=0.1, delay=0.004).draw(
        3, CONTROLS, np.random.default_rng(0)
    )
    positions, velocities = set_points(thetas())
    late, slopes = worlds.disturbed(positions, velocities, FREQUENCY)
    steps = worlds.delay * FREQUENCY
    np.testing.assert_allclose(late - worlds.joint_offset[:, None], delayed(positions, steps))
    np.testing.assert_array_equal(slopes, delayed(velocities, steps))


@pytest.mark.parametrize("name", SIZES)
def test_a_size_below_zero_is_refused_with_a_sentence(name):
    with pytest.raises(ValueError, match=f"{name} must be a size of at least 0; got -0.1"):
        Randomisation(**{name: -0.1})


@pytest.mark.parametrize("name", ["ball_mass", "string_length", "string_damping", "gains"])
def test_a_share_of_one_or_more_is_refused_with_a_sentence(name):
    with pytest.raises(ValueError, match=f"{name} must be a share below 1; got 1.0"):
        Randomisation(**{name: 1.0})


@pytest.mark.parametrize("given", [None, "ROBOT"])
def test_any_world_needs_a_randomisation(given):
    with pytest.raises(ValueError, match="randomisation must be a Randomisation"):
        BallInAnyWorld(FAST, given)
