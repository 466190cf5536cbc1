"""Sparse goal reaching around a square, the "maze" of CURROT (Klink et al., 2022).

Some of its goals lie inside the walls and cannot be reached, and the published target includes
them. `reachable` tells which.
"""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box
from selfpaced.spaces.constrained import Constrained
from selfpaced.tasks.stepwise_task import Step, StepwiseTask

# All values are those of the authors' program.
START_LOW, START_HIGH = -7.0, -5.0  # bounds of both coordinates at the start
SPEED = 0.3  # distance that an action of length 1 moves in one step
OUTER, INNER = 7.0, 5.0  # half the sides of two squares; the corridor lies between them
PLANE = 9.0  # goals may lie in a square with half this side
NARROWEST, WIDEST = 0.05, 18.0  # bounds of the tolerance


class GoalReaching(StepwiseTask):
    """A point moves along a square corridor to a goal; every step costs 1 until it arrives.

    Contexts (n, 3): x and y of the goal, and the distance from it that counts as arrival, which
    ends the episode. A move into a wall ends on the wall's face. An episode starts anywhere in
    the lower left corner of the corridor.

    >>> import numpy as np
    >>> from selfpaced.tasks.goal_reaching import reachable
    >>> reachable(np.array([[6.0, 6.0, 0.05], [0.0, 0.0, 0.05]]))  # in the corridor, in a wall
    array([ True, False])
    """

    name = "GoalReaching"
    """The task's name in the specs of stored runs, so it must not change."""
    context_space = Box([-PLANE, -PLANE, NARROWEST], [PLANE, PLANE, WIDEST])
    """Which contexts exist."""
    context_names = ("x of the goal", "y of the goal", "tolerance")
    """Names of the context's dimensions, for figures."""
    observation_space = Box([-PLANE] * 4 + [NARROWEST], [PLANE] * 4 + [WIDEST])
    """Bounds of the position (2) and the context (3)."""
    action_dimension = 2
    """Dimensions of an action: the displacement in x and y, in units of SPEED."""
    steps = 200
    """Largest number of steps in an episode."""
    start_noise = 2
    """Two random numbers say where an episode starts."""

    @property
    def scored_space(self) -> Constrained:
        """The contexts on which policies are scored: those whose goal can be reached."""
        return Constrained(self.context_space, reachable)

    def begin(self, contexts: Array, noise: Array) -> Array:
        """States (n, 2): the position, uniform in the lower left corner of the corridor."""
        return START_LOW + (START_HIGH - START_LOW) * noise

    def move(self, contexts: Array, states: Array, actions: Array, noise: Array) -> Step:
        """One step of every row; walls stop the part of it that leads into them."""
        length = np.hypot(*actions.T)[:, None]
        after = np.clip(states + SPEED * actions / np.maximum(length, 1.0), -OUTER, OUTER)
        after = _outside_the_square(states, after)
        arrived = np.hypot(*(after - contexts[:, :2]).T) < contexts[:, 2]
        return Step(states=after, rewards=arrived - 1.0, ended=arrived, solved=arrived)

    def observe(self, contexts: Array, states: Array) -> Array:
        """(n, 5): the position, then the context."""
        return np.hstack([states, contexts])

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the walls, the goal of `context` (3,) and trajectories (k, t, 2)."""
        sides = [-PLANE, PLANE, PLANE, -PLANE], [-PLANE, -PLANE, PLANE, PLANE]
        for half, colour in ((PLANE, "0.75"), (OUTER, "1.0"), (INNER, "0.75")):
            axes.fill(*(half / PLANE * np.array(side) for side in sides), color=colour, zorder=0)
        x, y, tolerance = context
        angles = np.linspace(0, 2 * np.pi, 60)
        ring = x + tolerance * np.cos(angles), y + tolerance * np.sin(angles)
        axes.fill(*ring, "crimson", alpha=0.3)
        axes.plot(x, y, "x", color="crimson", markersize=8)
        for path in trajectories:
            axes.plot(path[:, 0], path[:, 1], linewidth=1.2, alpha=0.8)
        axes.set(xlim=(-PLANE, PLANE), ylim=(-PLANE, PLANE), aspect="equal")


def reachable(contexts: Array) -> BoolArray:
    """(n,): True for each of the `contexts` (n, 3) whose goal lies in the corridor."""
    farther = np.abs(contexts[:, :2]).max(axis=1)
    return (farther >= INNER) & (farther <= OUTER)


def _outside_the_square(before: Array, after: Array) -> Array:
    """`after` (n, 2), moved back onto the face of the inner square through which a move entered.

    Where a move entered over a corner, it is the face that is nearer.
    """
    inside = (np.abs(after) < INNER).all(axis=1)
    if not inside.any():
        return after
    was_beside = np.abs(before) >= INNER  # (n, 2): in which coordinates the move came from outside
    depth = np.where(was_beside, INNER - np.abs(after), np.inf)
    rows = np.flatnonzero(inside)
    axis = depth[rows].argmin(axis=1)
    after = after.copy()
    after[rows, axis] = np.copysign(INNER, before[rows, axis])
    return after
