"""A point mass that is steered step by step through a gate in a wall, to a goal behind it."""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.tasks.stepwise import Step, StepwiseTask

START, GOAL = np.array([0.0, 3.0]), np.array([0.0, -3.0])
DT = 0.05  # seconds
FORCE = 8.0  # of a full action, per unit of mass
DRAG = 1.0
DECAY = 0.6  # of the reward, per unit of distance to the goal
SUCCESS_RADIUS = 0.3
ARENA = 6.0  # half the side of the square that it cannot leave


class PointMass2D(StepwiseTask):
    """Contexts (n, 2): where the gate is, and how wide. The wall is y = 0; touching it is the end.

    The reward of a step is DT exp(-0.6 distance to the goal): waiting before the wall pays
    something, and most of what is tried at a narrow gate ends that income. This is what makes the
    narrow gate hard to learn without easier ones first.
    """

    name = "PointMass2D"
    context_space = Box([-4.0, 0.5], [4.0, 8.0])
    context_names = ("position of the gate", "width of the gate")
    observation_space = Box([-10.0] * 6, [10.0] * 6)
    actions = 2
    steps = 100

    def begin(self, contexts: Array) -> Array:
        return np.tile([*START, 0.0, 0.0], (len(contexts), 1))

    def move(self, contexts: Array, states: Array, actions: Array) -> Step:
        position, velocity = states[:, :2], states[:, 2:]
        velocity = velocity + DT * (FORCE * actions - DRAG * velocity)
        after = np.clip(position + DT * velocity, -ARENA, ARENA)
        crossing = (position[:, 1] > 0) != (after[:, 1] > 0)
        climb = np.where(crossing, after[:, 1] - position[:, 1], 1.0)
        x = position[:, 0] - position[:, 1] / climb * (after[:, 0] - position[:, 0])
        touched = crossing & (np.abs(x - contexts[:, 0]) > contexts[:, 1] / 2)
        after[touched] = np.column_stack([x[touched], np.zeros(touched.sum())])
        distance = np.hypot(*(after - GOAL).T)
        return Step(
            np.hstack([after, velocity]),
            DT * np.exp(-DECAY * distance),
            touched,
            distance < SUCCESS_RADIUS,
        )

    def observe(self, contexts: Array, states: Array) -> Array:
        """Position and velocity, and the gate."""
        return np.hstack([states, contexts])

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        x, width = context
        for left, right in ((-ARENA, x - width / 2), (x + width / 2, ARENA)):
            axes.plot([left, right], [0, 0], color="0.25", linewidth=4, solid_capstyle="butt")
        for path in trajectories:
            axes.plot(path[:, 0], path[:, 1], linewidth=1.2, alpha=0.8)
        axes.plot(*START, "o", color="0.25", markersize=5)
        axes.plot(*GOAL, "x", color="crimson", markersize=8)
        axes.set(xlim=(-ARENA, ARENA), ylim=(-ARENA, ARENA), aspect="equal")
