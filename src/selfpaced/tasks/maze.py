"""A maze with a reward only at the goal, which may be anywhere and of any size."""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box
from selfpaced.tasks.stepwise import Step, StepwiseTask

START = np.array([-0.8, -0.8])
SPEED = 0.08  # of a full action, per step
# Two walls across the square [-1, 1]^2, each with a way round at one end: y, and x from and to.
WALLS = ((-0.35, -1.0, 0.5), (0.35, -0.5, 1.0))


class Maze(StepwiseTask):
    """Contexts (n, 3): x and y of the goal, and how near to it is near enough.

    The reward is 1 for the step that gets there, which ends the episode, and 0 for all others.
    A wall stops the part of a step that would lead through it.
    """

    name = "SparseMaze"
    context_space = Box([-0.95, -0.95, 0.05], [0.95, 0.95, 0.6])
    context_names = ("x of the goal", "y of the goal", "tolerance")
    observation_space = Box([-1.0] * 5, [1.0] * 5)
    actions = 2
    steps = 120

    def begin(self, contexts: Array) -> Array:
        return np.tile(START, (len(contexts), 1))

    def move(self, contexts: Array, states: Array, actions: Array) -> Step:
        after = np.clip(states + SPEED * actions, -1.0, 1.0)
        for y, left, right in WALLS:
            stopped = _crosses(states, after, y, left, right)
            beside = np.where(states[:, 1] > y, 1e-3, -1e-3)  # or the next step starts on the wall
            after[:, 1] = np.where(stopped, y + beside, after[:, 1])
        solved = np.hypot(*(after - contexts[:, :2]).T) < contexts[:, 2]
        return Step(after, solved.astype(float), solved, solved)

    def observe(self, contexts: Array, states: Array) -> Array:
        """The position, and the goal with its tolerance."""
        return np.hstack([states, contexts])

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
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
    """Which moves lead through the wall at `y` from `left` to `right`."""
    crossing = (before[:, 1] > y) != (after[:, 1] > y)
    climb = np.where(crossing, after[:, 1] - before[:, 1], 1.0)
    x = before[:, 0] + (y - before[:, 1]) / climb * (after[:, 0] - before[:, 0])
    return crossing & (x >= left) & (x <= right)
