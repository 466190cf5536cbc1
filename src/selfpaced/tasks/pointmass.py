"""A point mass that is steered step by step through a gate in a wall, to a goal behind it."""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.tasks.gate_drawing import draw_gate
from selfpaced.tasks.stepwise_task import Step, StepwiseTask

START, GOAL = np.array([0.0, 3.0]), np.array([0.0, -3.0])
DT = 0.05  # seconds per step
FORCE = 8.0  # acceleration by a full action
DRAG = 1.0  # deceleration per unit of velocity
DECAY = 0.6  # the reward decays with the distance to the goal at this rate
SUCCESS_RADIUS = 0.3  # an episode is a success if its last position is nearer to the goal
ARENA = 6.0  # half the side of the square that the mass cannot leave


class PointMass2D(StepwiseTask):
    """A point mass is steered by forces through a gate in the wall y = 0, to a goal behind it.

    Contexts (n, 2): the x-position of the gate and its width. Touching the wall ends the episode.
    The reward of a step is DT exp(-0.6 distance to the goal). Waiting before the wall therefore
    pays something, and most attempts at a narrow gate end that income. This is what makes
    a narrow gate hard to learn without easier ones first.
    """

    name = "PointMass2D"
    """The task's name in the specs of stored runs, so it must not change."""
    context_space = Box([-4.0, 0.5], [4.0, 8.0])
    """Which contexts exist."""
    context_names = ("position of the gate", "width of the gate")
    """Names of the context's dimensions, for figures."""
    observation_space = Box([-10.0] * 6, [10.0] * 6)
    """Bounds of position (2), velocity (2) and context (2)."""
    action_dimension = 2
    """Dimensions of an action: the force in x and y, in units of FORCE."""
    steps = 100
    """Largest number of steps in an episode."""

    def begin(self, contexts: Array, noise: Array) -> Array:
        """States (n, 4): position START and velocity zero in every context."""
        return np.tile([*START, 0.0, 0.0], (len(contexts), 1))

    def move(self, contexts: Array, states: Array, actions: Array, noise: Array) -> Step:
        """One step of every row; a row that touches the wall stays where it touched it."""
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
            states=np.hstack([after, velocity]),
            rewards=DT * np.exp(-DECAY * distance),
            ended=touched,
            solved=distance < SUCCESS_RADIUS,
        )

    def observe(self, contexts: Array, states: Array) -> Array:
        """(n, 6): position, velocity, then the context."""
        return np.hstack([states, contexts])

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the wall with the gate of `context` (2,), start, goal and trajectories (k, t, 2)."""
        draw_gate(context, trajectories, axes, START, GOAL, ARENA)
