"""The maze: the only reward is at the goal, which may be anywhere and of any size."""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box
from selfpaced.tasks.stepwise_task import Step, StepwiseTask

START = np.array([-0.8, -0.8])
SPEED = 0.08  # distance that a full action moves in one step
# Two walls across the square [-1, 1]^2, each open at one end: its y, and the x of its two ends.
WALLS = ((-0.35, -1.0, 0.5), (0.35, -0.5, 1.0))


class Maze(StepwiseTask):
    """A point moves around two walls to a goal; the reward is sparse.

    Contexts (n, 3): x and y of the goal, and the distance from it that counts as arrival. The
    reward is 1 for the step that arrives, which ends the episode, and 0 for all other steps. A
    wall stops the part of a step that would lead through it.
    """

    name = "SparseMaze"
    """The task's name in the specs of stored runs, so it must not change."""
    context_space = Box([-0.95, -0.95, 0.05], [0.95, 0.95, 0.6])
    """Which contexts exist."""
    context_names = ("x of the goal", "y of the goal", "tolerance")
    """Names of the context's dimensions, for figures."""
    observation_space = Box([-1.0] * 5, [1.0] * 5)
    """Bounds of the position (2) and the context (3)."""
    action_dimension = 2
    """Dimensions of an action: the displacement in x and y, in units of SPEED."""
    steps = 120
    """Largest number of steps in an episode."""

    def begin(self, contexts: Array, noise: Array) -> Array:
        """States (n, 2): the position, which is START in every context."""
        return np.tile(START, (len(contexts), 1))

    def move(self, contexts: Array, states: Array, actions: Array, noise: Array) -> Step:
        """One step of every row; walls and the border of the square stop it."""
        after = np.clip(states + SPEED * actions, -1.0, 1.0)
        for y, left, right in WALLS:
            stopped = _crosses(states, after, y, left, right)
            # Stop a little before the wall: from a point on it, the next step could go through.
            beside = np.where(states[:, 1] > y, 1e-3, -1e-3)
            after[:, 1] = np.where(stopped, y + beside, after[:, 1])
        arrived = np.hypot(*(after - contexts[:, :2]).T) < contexts[:, 2]
        return Step(states=after, rewards=arrived.astype(float), ended=arrived, solved=arrived)

    def observe(self, contexts: Array, states: Array) -> Array:
        """(n, 5): the position, then the context."""
        return np.hstack([states, contexts])

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the walls, the goal of `context` (3,) and trajectories (k, t, 2)."""
        for y, left, right in WALLS:
            axes.plot([left, right], [y, y], color="0.25", linewidth=4, solid_capstyle="butt")
        angles = np.linspace(0, 2 * np.pi, 60)
        x, y, tolerance = context
        axes.fill(
            x + tolerance * np.cos(angles), y + tolerance * np.sin(angles), "crimson", alpha=0.3
        )
        axes.plot(x, y, "x", color="crimson", markersize=8)
        for path in trajectories:
            axes.plot(path[:, 0], path[:, 1], linewidth=1.2, alpha=0.8)
        axes.plot(*START, "o", color="0.25", markersize=5)
        axes.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal")


def _crosses(before: Array, after: Array, y: float, left: float, right: float) -> BoolArray:
    """(n,): which moves (n, 2) -> (n, 2) lead through the wall at `y` from `left` to `right`."""
    crossing = (before[:, 1] > y) != (after[:, 1] > y)
    climb = np.where(crossing, after[:, 1] - before[:, 1], 1.0)
    x = before[:, 0] + (y - before[:, 1]) / climb * (after[:, 0] - before[:, 0])
    return crossing & (x >= left) & (x <= right)
