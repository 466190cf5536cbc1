"""The point mass and the maze: geometry against hand calculation, and what ends an episode."""

import numpy as np
import pytest

from selfpaced.tasks.maze import START as MAZE_START
from selfpaced.tasks.maze import WALLS, Maze
from selfpaced.tasks.pointmass import DRAG, DT, FORCE, PointMass2D

POINT, MAZE = PointMass2D(), Maze()


def steer(task, contexts, actions):
    """Play a fixed sequence of actions (t, 2), the same in every row."""
    left = list(actions)
    return task.simulate_policy(
        np.array(contexts, dtype=float),
        lambda seen: np.tile(left.pop(0) if left else np.zeros(2), (len(seen), 1)),
    )


def test_without_a_wall_the_mass_follows_its_closed_form():
    """Constant force: v_n = FORCE / DRAG (1 - (1 - DRAG DT)^n)."""
    n = 10
    _, paths = steer(POINT, [[0.0, 8.0]], [[0.5, 0.0]] * n)
    v = 0.5 * FORCE / DRAG * (1 - (1 - DRAG * DT) ** np.arange(1, n + 1))
    np.testing.assert_allclose(paths[0, 1 : n + 1, 0], DT * np.cumsum(v), rtol=1e-12)
    np.testing.assert_allclose(paths[0, : n + 1, 1], 3.0)


@pytest.mark.parametrize(("position", "width", "passes"), [(0.0, 0.5, True), (0.3, 0.5, False)])
def test_straight_down_passes_only_a_gate_on_the_way(position, width, passes):
    outcomes, paths = steer(POINT, [[position, width]], [[0.0, -1.0]] * 30)
    assert (paths[0, -1, 1] < 0) == passes
    if not passes:  # it lies where it touched the wall, and earns nothing more
        np.testing.assert_allclose(paths[0, -1], [0.0, 0.0], atol=1e-12)
        assert outcomes.successes[0] == 0


def test_waiting_before_the_wall_pays_more_than_touching_it():
    waiting, _ = steer(POINT, [[2.5, 0.5]], np.zeros((100, 2)))
    crashing, _ = steer(POINT, [[2.5, 0.5]], [[0.0, -1.0]] * 100)
    assert waiting.rewards[0] > crashing.rewards[0]


def test_the_narrow_gate_can_be_passed():
    """By a controller that heads for the gate first and for the goal then."""

    def act(seen):
        x, y, vx, vy, gate, _ = seen.T
        above = y > 0
        aim_x, aim_y = np.where(above, gate, 0.0), np.where(above, -0.5, -3.0)
        ahead = np.where(above & (np.abs(x - gate) > 0.1), 1.5, aim_y)
        return np.stack([2 * (aim_x - x) - vx, 2 * (ahead - y) - vy], axis=1)

    outcomes, _ = POINT.simulate_policy(np.array([[2.5, 0.5], [-3.0, 0.5]]), act)
    np.testing.assert_array_equal(outcomes.successes, [1.0, 1.0])


def test_the_maze_pays_once_and_ends_at_the_goal():
    outcomes, paths = steer(MAZE, [[-0.5, -0.8, 0.1]], [[1.0, 0.0]] * 50)
    assert outcomes.rewards[0] == outcomes.successes[0] == 1.0
    np.testing.assert_allclose(paths[0, -1], paths[0, 3])  # within 0.1 after three steps of 0.08


def test_walls_of_the_maze_stop_what_leads_through_them_and_slide():
    y, left, right = WALLS[0]
    _, paths = steer(MAZE, [[0.9, 0.9, 0.05]], [[0.3, 1.0]] * 20)
    inside = (paths[0, :, 0] >= left) & (paths[0, :, 0] <= right)
    assert (paths[0, inside, 1] < y).all()
    assert paths[0, 20, 0] == pytest.approx(MAZE_START[0] + 20 * 0.3 * 0.08)  # along the wall


def test_the_far_end_of_the_maze_can_be_reached_around_both_walls():
    way = [[1.0, 0.0]] * 18 + [[0.0, 1.0]] * 10 + [[-1.0, 0.0]] * 19 + [[0.0, 1.0]] * 12
    way += [[1.0, 0.0]] * 20
    outcomes, _ = steer(MAZE, [[0.7, 0.8, 0.2]], way)
    assert outcomes.successes[0] == 1.0


@pytest.mark.parametrize("task", [POINT, MAZE])
def test_scenes_can_be_drawn(task):
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    task.draw(task.context_space.centre, np.zeros((2, 5, 2)), axes)
    assert axes.lines
