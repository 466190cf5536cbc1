"""The reacher without physics: its geometry, and how far it agrees with MuJoCo."""

import numpy as np
import pytest
from reacher_rows import purposeful

from selfpaced.tasks.kinematic import (
    HALF_SIZE,
    MARGIN,
    ContactRegions,
    KinematicArms,
    KinematicReacher,
)
from selfpaced.tasks.reacher import (
    DIRECTIONS,
    GOAL,
    OBSTACLE_HALF_WIDTH,
    STEPS,
    Reacher,
    at_goal,
    displacements,
    obstacles,
    reward,
    simulate,
)


def test_overlap_agrees_with_points_scattered_in_the_gripper():
    rng = np.random.default_rng(0)
    contexts = KinematicReacher.context_space.uniform(200, rng)
    centres, half_lengths = obstacles(contexts)
    points = rng.uniform([1.1, 0.4], [1.5, 1.1], size=(200, 2))
    scattered = points[:, None] + rng.uniform(-1, 1, size=(200, 4000, 2)) * HALF_SIZE
    offset = scattered[:, :, None] - centres[:, None]
    along = np.abs((offset * DIRECTIONS).sum(-1)) < half_lengths[:, None]
    across = np.abs(offset[..., 1] * DIRECTIONS[:, 0] - offset[..., 0] * DIRECTIONS[:, 1])
    inside = (along & (across < OBSTACLE_HALF_WIDTH)).any(axis=(1, 2))
    found = ContactRegions(centres, half_lengths).overlap(np.arange(200), points)
    assert found[inside].all()
    assert 0.05 < inside.mean() < 0.95
    assert (found == inside).mean() > 0.98  # corners, and the margin


def test_one_end_of_the_growing_obstacles_stays_where_it_is():
    sizes = np.array([[0.01, 0.09], [0.05, 0.02], [0.09, 0.06]])
    centres, half_lengths = obstacles(sizes)
    ends = centres - np.array([1, -1, 0, 0])[:, None] * half_lengths[..., None] * DIRECTIONS
    np.testing.assert_allclose(ends[:, 0], [[1.14, 0.92]] * 3)
    np.testing.assert_allclose(ends[:, 1], [[1.47, 0.65]] * 3)


def test_a_larger_obstacle_never_makes_a_rollout_last_longer():
    contexts, thetas = purposeful(100)
    actions = np.clip(displacements(thetas), -1, 1)
    larger = np.minimum(contexts + 0.02, 0.09)
    short, long = (
        simulate(KinematicArms(c), lambda step, rows: actions[rows, step]).steps
        for c in (larger, contexts)
    )
    assert (short <= long).all()
    assert (short < long).any()


def test_reward_and_success_follow_from_the_last_position():
    contexts, thetas = purposeful(50, seed=2)
    task = KinematicReacher()
    outcomes = task.evaluate(contexts, thetas, np.random.default_rng(0))
    actions = displacements(thetas)
    last = simulate(
        KinematicArms(contexts), lambda step, rows: np.clip(actions[rows, step], -1, 1)
    ).paths[:, -1]
    distance = np.linalg.norm(last - GOAL, axis=1)
    np.testing.assert_allclose(
        outcomes.rewards, 20 * np.exp(-distance) - 0.1 * (actions**2).sum((1, 2))
    )
    np.testing.assert_array_equal(outcomes.successes, distance < 0.05)
    assert 0 < outcomes.successes.sum() < 50
    assert reward(np.zeros(1), np.zeros(1))[0] == 20.0


def test_walls_keep_the_gripper_on_the_table_but_the_front_is_open():
    points = KinematicArms(np.full((3, 2), 0.01))
    for action in ([-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]):
        for _ in range(40):
            points.move(np.arange(3), np.tile(action, (3, 1)))
            assert (points.grips[:, 0] > 1.12).all()
            assert (points.grips[:, 0] < 1.48).all()
            assert (points.grips[:, 1] < 1.13).all()


def test_a_controller_that_sees_gets_the_same_rollout_as_its_actions_unseen():
    contexts, thetas = purposeful(30, seed=3)
    actions = np.clip(displacements(thetas), -1, 1)
    unseen = simulate(KinematicArms(contexts), lambda step, rows: actions[rows, step])
    positions = {}
    step = iter(range(STEPS))

    def act(observations):
        k = next(step)
        positions[k] = observations
        moving = unseen.steps > k
        return actions[moving, k]

    outcomes, paths = KinematicReacher().simulate_policy(contexts, act)
    np.testing.assert_allclose(paths, unseen.paths[:, :, :2])
    np.testing.assert_array_equal(outcomes.successes, at_goal(unseen.paths[:, -1]))
    np.testing.assert_allclose(positions[0][:, [0, 2]], unseen.paths[:, 0, :2])


def test_it_agrees_with_mujoco_on_where_rollouts_end():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    contexts, thetas = purposeful(150, seed=1)
    actions = np.clip(displacements(thetas), -1, 1)
    with_physics, without = (
        simulate(task.arms(contexts), lambda step, rows: actions[rows, step])
        for task in (Reacher(), KinematicReacher())
    )
    assert (with_physics.touched == without.touched).mean() >= 0.95
    ends = np.linalg.norm(with_physics.paths[:, -1] - without.paths[:, -1], axis=1)
    assert np.median(ends) < 0.01
    assert MARGIN < np.quantile(ends, 0.9) < 0.02
