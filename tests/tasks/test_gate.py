"""The gate task against a plain loop, and its parts against closed forms."""

import numpy as np
import pytest

from selfpaced.tasks import gate
from selfpaced.tasks.gate import Gate, point_mass, stop_at_wall, wall_contact


def plain_rollout(theta, context, noise):
    """One rollout as the paper's appendix describes it, step by step: position, effort."""
    K1, k1, x1 = theta[:4].reshape(2, 2), theta[4:6], theta[6]
    K2, k2, x2 = theta[7:11].reshape(2, 2), theta[11:13], theta[13]
    s, switched, effort = np.array([0.0, 5.0]), False, 0.0
    for delta in noise:
        switched = switched or s[1] - 2.5 < 0.01
        u = K2 @ (np.array([x2, 0.0]) - s) + k2 if switched else K1 @ (np.array([x1, 2.5]) - s) + k1
        effort += u @ u
        after = s + 0.05 * (np.array([5.0, -1.0]) + u + delta)
        if s[1] >= 2.5 > after[1]:
            x = s[0] + (s[1] - 2.5) / (s[1] - after[1]) * (after[0] - s[0])
            if abs(x - context[0]) > context[1]:
                return np.array([x, 2.5]), effort
        s = after
    return s, effort


def batch(n=200, scale=0.3, seed=0):
    rng = np.random.default_rng(seed)
    thetas = scale * Gate.theta_space.uniform(n, rng)
    contexts = Gate.context_space.uniform(n, rng)
    contexts[::2] = [0.0, 4.0]  # wide gates, so that half the rollouts get through
    noise = 0.05 * rng.standard_normal((n, 100, 2))
    return contexts, thetas, noise


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0])
def test_the_batch_agrees_with_a_plain_loop(scale):
    contexts, thetas, noise = batch(scale=scale)
    flight = stop_at_wall(*point_mass(thetas, noise), contexts)
    assert 0 < flight.crashed.mean() < 1
    for i in range(len(thetas)):
        position, effort = plain_rollout(thetas[i], contexts[i], noise[i])
        np.testing.assert_allclose(flight.positions[i, -1], position, rtol=1e-8, atol=1e-10)
        assert flight.effort[i] == pytest.approx(effort, rel=1e-8)


def test_a_good_controller_passes_the_gate_and_reaches_the_goal():
    """Above the wall it holds x = -4 and sinks with the drift; below it flies to the origin."""
    above = [10.0, 0.0, 0.0, 0.0, -5.0, 0.0, -4.0]
    below = [5.0, 0.0, 0.0, 5.0, -5.0, 1.0, 0.0]
    theta = np.array([*above, *below])
    n = 50
    contexts = np.tile([-4.0, 0.2], (n, 1))
    outcomes = Gate().evaluate(contexts, np.tile(theta, (n, 1)), np.random.default_rng(0))
    assert outcomes.successes.mean() == 1.0
    assert (outcomes.rewards > 9).all()


def test_without_noise_the_linear_system_has_its_closed_form():
    """Above the wall x relaxes to its set point by a factor 1 - 5 DT a step."""
    theta = np.array([5.0, 0.0, 0.0, 0.0, -5.0, 1.0, -4.0] * 2)  # y stays put, x goes to -4
    positions, _ = point_mass(theta[None], np.zeros((1, 100, 2)))
    steps = np.arange(101)
    np.testing.assert_allclose(positions[:, 0, 0], -4 + 4 * 0.75**steps, atol=1e-12)
    np.testing.assert_allclose(positions[:, 1, 0], 5.0, atol=1e-12)


def test_after_the_contact_a_rollout_stays_at_the_wall():
    contexts, thetas, noise = batch()
    flight = stop_at_wall(*point_mass(thetas, noise), contexts)
    crashed = flight.positions[flight.crashed]
    np.testing.assert_array_equal(crashed[:, -1, 1], gate.WALL_Y)
    where = contexts[flight.crashed]
    assert (np.abs(crashed[:, -1, 0] - where[:, 0]) > where[:, 1]).all()


def test_contact_is_found_where_the_line_meets_the_wall():
    before, after = np.array([[[0.0], [3.0]]]), np.array([[[2.0], [2.0]]])  # meets it at x = 1
    assert wall_contact(before, after, np.array([[1.2, 0.25]]))[0].tolist() == [[False]]
    hit, x = wall_contact(before, after, np.array([[1.2, 0.15]]))
    assert hit.tolist() == [[True]]
    assert x.tolist() == [[1.0]]
    hit, x = wall_contact(after, before, np.array([[1.2, 0.15]]))  # upwards the wall is open
    assert hit.tolist() == [[False]]
    assert np.isnan(x).all()


def test_reward_is_ten_at_the_goal_and_never_below_its_floor():
    distance, effort = np.array([0.0, 1.0, 1e9, 0.0]), np.array([0.0, 100.0, 0.0, 1e12])
    np.testing.assert_allclose(
        gate.reward(distance, effort), [10.0, 10 / np.e - 0.01, 0.0, -100.0], atol=1e-12
    )
    assert gate.success(np.array([0.049, 0.051])).tolist() == [1.0, 0.0]


def test_wrong_shapes_and_values_are_refused():
    task, rng = Gate(), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"contexts must be \(n, 2\).*got \(3, 1\)"):
        task.evaluate(np.ones((3, 1)), np.ones((3, 14)), rng)
    with pytest.raises(ValueError, match="thetas must be finite; 1 of 3 rows"):
        task.evaluate(np.ones((3, 2)), np.where(np.eye(3, 14) * [[0], [1], [0]], np.nan, 0), rng)
    with pytest.raises(ValueError, match="thetas must have 3 rows"):
        task.evaluate(np.ones((3, 2)), np.ones((4, 14)), rng)
