"""The point mass of the literature, against numbers that were computed by hand."""

import math

import numpy as np
import pytest

from selfpaced.tasks.contextual_pointmass import ContextualPointMass, _bounded_flight

TASK, WITH_FRICTION = ContextualPointMass(), ContextualPointMass(3)
WIDE, STILL = [0.0, 8.0], np.zeros((1, 20))


def after(state, action=(0.0, 0.0), context=WIDE, noise=STILL):
    """One step from the state (x, y, vx, vy)."""
    task = TASK if len(context) == 2 else WITH_FRICTION
    rows = (np.array([row], dtype=float) for row in (context, state, action))
    return task.move(*rows, noise)


def test_ten_euler_steps_with_a_constant_force():
    # v_k = 0.01 * 1.5 * 2 k = 0.03 k, and x_10 = 0.01 (v_0 + ... + v_9) = 0.01 * 0.03 * 45.
    step = after([0.0, 3.0, 0.0, 0.0], action=(2.0, 0.0))
    np.testing.assert_allclose(step.states, [[0.0135, 3.0, 0.3, 0.0]], rtol=1e-12)


def test_friction_slows_down_by_its_share_of_the_velocity():
    # v_k = 0.98^k, and x_10 = 0.01 (1 - 0.98^10) / 0.02.
    step = after([0.0, 3.0, 1.0, 0.0], context=[0.0, 8.0, 2.0])
    expected = [[0.5 * (1 - 0.98**10), 3.0, 0.98**10, 0.0]]
    np.testing.assert_allclose(step.states, expected, rtol=1e-12)


def test_noise_shakes_the_acceleration_of_each_axis_at_every_euler_step():
    noise = np.zeros((1, 10, 2))
    noise[0, 0, 0], noise[0, 9, 1] = 3.0, -2.0  # x at the first Euler step, y at the last
    step = after([0.0, 3.0, 0.0, 0.0], noise=noise.reshape(1, 20))
    # v_x = 0.01 * 0.05 * 3 from the second step on, for nine steps; y has no time left to move.
    np.testing.assert_allclose(step.states, [[0.000135, 3.0, 0.0015, -0.001]], rtol=1e-12)


def test_positions_are_clipped_and_velocities_are_not():
    step = after([3.99, 3.0, 5.0, 0.0])
    np.testing.assert_array_equal(step.states, [[4.0, 3.0, 5.0, 0.0]])
    assert not step.ended[0]


@pytest.mark.parametrize("task", [TASK, WITH_FRICTION], ids=["2d", "3d"])
def test_rows_that_meet_no_wall_move_exactly_as_substep_by_substep(task):
    rng = np.random.default_rng(0)
    contexts = task.context_space.uniform(400, rng)
    states = np.hstack([rng.uniform(-4, 4, (400, 2)), rng.normal(0, 6, (400, 2))])
    actions, noise = rng.uniform(-10, 10, (400, 2)), rng.standard_normal((400, 20))
    step = task.move(contexts, states, actions, noise)
    forces = (1.5 * actions)[:, None] + 0.05 * noise.reshape(-1, 10, 2)
    friction = contexts[:, 2:] if contexts.shape[1] == 3 else None
    position, velocity, touched = _bounded_flight(contexts, states, forces, friction)
    np.testing.assert_array_equal(step.states, np.hstack([position, velocity]))
    np.testing.assert_array_equal(step.ended, touched)
    assert 0 < touched.sum() < 200
    assert 0 < (np.abs(position) == 4.0).any(axis=1).sum() < 200


@pytest.mark.parametrize("down", [1.0, -1.0])
def test_a_crash_is_where_the_line_between_two_euler_steps_meets_the_wall(down):
    # y = 0.045 - 0.01 k crosses 0 half-way between k = 4, x = 1.04, and k = 5, x = 1.05.
    state = [1.0, 0.045 * down, 1.0, -down]
    step = after(state, context=[0.0, 2.0])
    np.testing.assert_allclose(step.states, [[1.045, 0.0, 0.0, 0.0]], rtol=1e-12)
    assert step.ended[0]
    assert step.rewards[0] == pytest.approx(math.exp(-0.6 * math.hypot(1.045, 3.0)), rel=1e-12)
    passing = after(state, context=[0.0, 2.1])
    np.testing.assert_allclose(passing.states, [[1.1, -0.055 * down, 1.0, -down]], rtol=1e-12)
    assert not passing.ended[0]


def test_after_a_crash_the_mass_rests_whatever_the_force():
    step = after([1.0, 0.045, 1.0, -1.0], action=(10.0, -10.0), context=[3.0, 0.5])
    np.testing.assert_array_equal(step.states[0, 1:], [0.0, 0.0, 0.0])


def test_the_reward_is_1_at_the_goal_and_success_means_to_be_within_a_quarter():
    assert after([0.0, -3.0, 0.0, 0.0]).rewards[0] == 1.0
    assert after([0.0, -3.24, 0.0, 0.0]).solved[0]
    assert not after([0.0, -3.26, 0.0, 0.0]).solved[0]
    start = after([0.0, 3.0, 0.0, 0.0])
    assert start.rewards[0] == pytest.approx(math.exp(-3.6), rel=1e-12)


def test_observations_have_the_published_order():
    seen = WITH_FRICTION.observe(np.array([[2.5, 0.5, 1.0]]), np.array([[1.0, 2.0, 3.0, 4.0]]))
    np.testing.assert_array_equal(seen, [[1.0, 3.0, 2.0, 4.0, 2.5, 0.5, 1.0]])


def controller(x, vx, y, vy, gate):
    """To a point before the gate, through it, then to the goal; forces may exceed the limit."""
    if y > 0:
        ready = abs(x - gate) < 0.15
        aim_x, aim_y = gate, -1.0 if ready else 1.0
    else:
        aim_x, aim_y = 0.0, -3.0
    return 8 * (aim_x - x) - 4 * vx, 8 * (aim_y - y) - 4 * vy


def replayed(gate, width, noise):
    """The controller's discounted return, without arrays; `noise` has 100 x 10 x 2 numbers."""
    x, y, vx, vy, total = 0.0, 3.0, 0.0, 0.0, 0.0
    for t in range(100):
        ax, ay = (max(-10.0, min(10.0, a)) for a in controller(x, vx, y, vy, gate))
        crashed = False
        for k in range(10):
            nx, ny = (max(-4.0, min(4.0, p + 0.01 * v)) for p, v in ((x, vx), (y, vy)))
            vx += 0.01 * (1.5 * ax + 0.05 * noise[t][k][0])
            vy += 0.01 * (1.5 * ay + 0.05 * noise[t][k][1])
            if (y > 0) != (ny > 0):
                crossing = x + (0 - y) / (ny - y) * (nx - x)
                if abs(crossing - gate) > width / 2:
                    x, y, crashed = crossing, 0.0, True
                    break
            x, y = nx, ny
        total += 0.95**t * math.exp(-0.6 * math.hypot(x, y + 3.0))
        if crashed:
            break
    return total, math.hypot(x, y + 3.0) < 0.25


def test_a_controllers_discounted_return_is_that_of_a_replay_without_arrays():
    contexts = np.array([[2.5, 0.5], [3.0, 0.5], [-3.0, 0.5], [0.5, 0.6]])

    def act(seen):
        return np.array([controller(*row[:5]) for row in seen])

    outcomes, _ = TASK.simulate_policy(contexts, act, np.random.default_rng(7))
    noise = np.random.default_rng(7).standard_normal((4, 100, 10, 2))
    expected = [replayed(*c, z) for c, z in zip(contexts.tolist(), noise.tolist(), strict=True)]
    np.testing.assert_allclose(outcomes.rewards, [r for r, _ in expected], rtol=1e-10)
    np.testing.assert_array_equal(outcomes.successes, [s for _, s in expected])
    assert outcomes.successes.all()
    assert (outcomes.rewards > 4.0).all()  # better than waiting, which pays 0.54


def test_a_noisy_task_asks_for_a_generator():
    with pytest.raises(ValueError, match="rng must be given, because ContextualPointMass2D has"):
        TASK.simulate_policy(np.array([WIDE]), lambda seen: np.zeros((1, 2)))


def test_contexts_have_two_or_three_dimensions():
    with pytest.raises(ValueError, match="dimensions of the contexts must be 2 or 3; got 4"):
        ContextualPointMass(4)
