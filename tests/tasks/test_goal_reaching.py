"""Sparse goal reaching, against numbers that were computed by hand."""

import numpy as np
import pytest

from selfpaced import Problem, Uniform
from selfpaced.targets.target import samples_in
from selfpaced.tasks.goal_reaching import GoalReaching, reachable

TASK = GoalReaching()


def after(position, action, goal=(9.0, 9.0, 0.05)):
    rows = (np.array([row], dtype=float) for row in (goal, position, action))
    return TASK.move(*rows, np.zeros((1, 0)))


@pytest.mark.parametrize(
    ("position", "action", "expected"),
    [
        ((-6.0, 0.0), (0.5, 0.0), (-5.85, 0.0)),  # 0.3 per unit of the action
        ((-6.0, 0.0), (0.8, 1.0), (-6 + 0.24 / np.hypot(0.8, 1), 0.3 / np.hypot(0.8, 1))),
        ((-5.1, 0.0), (1.0, 0.0), (-5.0, 0.0)),  # back onto the face of the inner square
        ((-5.1, 0.0), (0.6, 0.8), (-5.0, 0.24)),  # and along it
        ((-5.0, 0.0), (1.0, 0.0), (-5.0, 0.0)),  # from the face itself
        ((4.9, 5.05), (0.0, -1.0), (4.9, 5.0)),
        ((-5.05, -5.2), (0.6, 0.8), (-5.0 + 0.13, -5.0 + 0.04 - 0.04)),  # over a corner
        ((-6.9, 0.0), (-1.0, 0.0), (-7.0, 0.0)),  # the outer wall
    ],
)
def test_walls_stop_the_part_of_a_move_that_leads_into_them(position, action, expected):
    np.testing.assert_allclose(after(position, action).states[0], expected, rtol=1e-12)


def test_every_step_costs_1_until_the_goal_which_ends_the_episode():
    far, near = (after((-6.0, 0.0), (1.0, 0.0), (-5.5, 0.0, r)) for r in (0.15, 0.25))
    assert (far.rewards[0], far.ended[0], far.solved[0]) == (-1.0, False, False)
    assert (near.rewards[0], near.ended[0], near.solved[0]) == (0.0, True, True)


def test_episodes_start_anywhere_in_the_lower_left_corner():
    starts = TASK.begin(np.zeros((1000, 3)), np.random.default_rng(0).random((1000, 2)))
    assert starts.min() >= -7.0
    assert starts.max() <= -5.0
    np.testing.assert_allclose(starts.mean(axis=0), -6.0, atol=0.1)


def test_seven_goals_in_ten_cannot_be_reached_and_are_not_scored():
    target = Uniform(low=[-9, -9, 0.05], high=[9, 9, 0.05])
    drawn = target.sample(20_000, np.random.default_rng(0))
    assert reachable(drawn).mean() == pytest.approx((14**2 - 10**2) / 18**2, abs=0.01)
    problem = Problem(TASK, target)
    scored = samples_in(target, 500, np.random.default_rng(1), problem.task.scored_space)
    assert reachable(scored).all()


def test_a_way_around_the_square_reaches_the_opposite_corner():
    def act(seen):
        x, y = seen[:, 0], seen[:, 1]
        along = (x < 6.0) & (y < -5.0)
        return np.stack([np.where(along, 1.0, 0.0), np.where(along, 0.0, 1.0)], axis=1)

    goal = np.array([[6.0, 6.0, 0.5]])
    outcomes, _ = TASK.simulate_policy(goal, act, np.random.default_rng(0))
    assert outcomes.successes[0] == 1.0
    # About 12 units along each of two sides, in moves of 0.3.
    assert -90 < outcomes.rewards[0] < -70
