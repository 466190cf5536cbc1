"""The point mass of the curriculum literature: SPDL (Klink et al., 2020), CURROT (2022).

Other than `tasks/pointmass.py`, which is quicker to learn, it has the dynamics, the noise, the
reward and the contexts of the published experiments.
"""

from typing import Any, Literal

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box
from selfpaced.tasks.gate_drawing import draw_gate
from selfpaced.tasks.stepwise_task import Step, StepwiseTask

# All values are those of the authors' programs.
START, GOAL = np.array([0.0, 3.0]), np.array([0.0, -3.0])
SUBSTEPS, DT = 10, 0.01  # Euler steps per step of the environment, and seconds of each
FORCE = 1.5  # acceleration by an action of 1
NOISE = 0.05  # standard deviation of the acceleration's noise, drawn anew at every Euler step
ARENA = 4.0  # half the side of the square that the mass cannot leave
DECAY = 0.6  # the reward decays with the distance to the goal at this rate
SUCCESS_RADIUS = 0.25  # an episode is a success if its last position is nearer to the goal
FASTEST = 200.0  # bound of the velocity in observations: full force for 10 s leads to 150
LOW, HIGH = (-4.0, 0.5, 0.0), (4.0, 8.0, 4.0)  # bounds of the contexts


class ContextualPointMass(StepwiseTask):
    """A point mass is steered by forces through a gate in the wall y = 0, to a goal behind it.

    Contexts (n, 2): the x-position of the gate and its width; with `dimensions=3` also the
    friction, which is 0 otherwise. Touching the wall ends the episode. The reward of a step is
    exp(-0.6 distance to the goal), and the return is discounted by 0.95 per step, which is the
    score of the published experiments. Velocities are not bounded.

    >>> from selfpaced.tasks.contextual_pointmass import ContextualPointMass
    >>> ContextualPointMass(dimensions=3).context_space
    Box(low=[-4.0, 0.5, 0.0], high=[4.0, 8.0, 4.0])
    """

    action_dimension = 2
    """Dimensions of an action: the forces in x and y."""
    action_limit = 10.0
    """Largest force in each direction."""
    steps = 100
    """Largest number of steps in an episode."""
    discount = 0.95
    """Weight of a reward relative to that of the step before, in the return of an episode."""
    step_noise = 2 * SUBSTEPS
    """Two random forces per Euler step."""

    def __init__(self, dimensions: Literal[2, 3] = 2) -> None:
        if dimensions not in (2, 3):
            raise ValueError(f"dimensions of the contexts must be 2 or 3; got {dimensions!r}")
        self.name = f"ContextualPointMass{dimensions}D"
        self.context_space = Box(LOW[:dimensions], HIGH[:dimensions])
        names = ("position of the gate", "width of the gate", "friction")
        self.context_names = names[:dimensions]
        bounds = np.array([ARENA, FASTEST, ARENA, FASTEST])
        self.observation_space = Box(
            [*-bounds, *self.context_space.low], [*bounds, *self.context_space.high]
        )

    def begin(self, contexts: Array, noise: Array) -> Array:
        """States (n, 4): position START and velocity zero in every context."""
        return np.tile([*START, 0.0, 0.0], (len(contexts), 1))

    def move(self, contexts: Array, states: Array, actions: Array, noise: Array) -> Step:
        """One step of every row; a row that touches the wall rests where it touched it."""
        forces = (FORCE * actions)[:, None] + NOISE * noise.reshape(-1, SUBSTEPS, 2)
        friction = contexts[:, 2] if contexts.shape[1] == 3 else None
        velocities, positions = _free_flight(states, forces, friction)
        ended = np.zeros(len(states), dtype=bool)
        position, velocity = positions[:, -1], velocities[:, -1]
        # Few rows come to the wall or to the end of the arena in a step. Those are done again.
        touching = _touches(positions[:, :-1], positions[:, 1:], contexts[:, None])[0]
        outside = np.maximum.reduce(np.abs(positions), axis=2) > ARENA
        again = np.flatnonzero(np.logical_or.reduce(touching | outside[:, 1:], axis=1))
        if again.size:
            rest = None if friction is None else friction[again, None]
            position[again], velocity[again], ended[again] = _bounded_flight(
                contexts[again], states[again], forces[again], rest
            )
        distance = np.hypot(*(position - GOAL).T)
        return Step(
            states=np.hstack([position, velocity]),
            rewards=np.exp(-DECAY * distance),
            ended=ended,
            solved=distance < SUCCESS_RADIUS,
        )

    def observe(self, contexts: Array, states: Array) -> Array:
        """(n, 4 + d): x, its velocity, y, its velocity, then the context."""
        return np.hstack([states[:, [0, 2, 1, 3]], contexts])

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the wall with the gate of `context` (d,), start, goal and trajectories (k, t, 2)."""
        draw_gate(context, trajectories, axes, START, GOAL, ARENA)


def _free_flight(states: Array, forces: Array, friction: Array | None) -> tuple[Array, Array]:
    """Velocities and positions (n, k + 1, 2) under `forces` (n, k, 2), as if there were no walls.

    Sums are taken in the order of time, so that they equal those of `_bounded_flight` exactly.
    """
    n, substeps, _ = forces.shape
    velocities, positions = np.empty((2, n, substeps + 1, 2))
    velocities[:, 0], positions[:, 0] = states[:, 2:], states[:, :2]
    if friction is None:
        np.multiply(DT, forces, out=velocities[:, 1:])
        np.cumsum(velocities, axis=1, out=velocities)
    else:
        for k in range(substeps):
            slowed = forces[:, k] - friction[:, None] * velocities[:, k]
            velocities[:, k + 1] = velocities[:, k] + DT * slowed
    np.multiply(DT, velocities[:, :-1], out=positions[:, 1:])
    return velocities, np.cumsum(positions, axis=1, out=positions)


def _bounded_flight(
    contexts: Array, states: Array, forces: Array, friction: Array | None
) -> tuple[Array, Array, BoolArray]:
    """Positions and velocities (n, 2) at the end of a step, and which rows touched the wall."""
    position, velocity = states[:, :2], states[:, 2:]
    touched = np.zeros(len(states), dtype=bool)
    for k in range(forces.shape[1]):
        acceleration = forces[:, k]
        if friction is not None:
            acceleration = acceleration - friction * velocity
        after = np.clip(position + DT * velocity, -ARENA, ARENA)
        velocity = velocity + DT * acceleration
        hit, x = _touches(position, after, contexts)
        if hit.any():
            touched |= hit
            after[hit, 0], after[hit, 1] = x[hit], 0.0
        if touched.any():
            velocity[touched] = 0.0  # they rest until the end of the step
        position = after
    return position, velocity, touched


def _touches(before: Array, after: Array, contexts: Array) -> tuple[BoolArray, Array]:
    """Which moves (..., 2) -> (..., 2) cross y = 0 beside the gate, either way; x of each crossing.

    A row that rests on the wall does not move and crosses nothing.
    """
    y = before[..., 1]
    crossing = (y > 0) != (after[..., 1] > 0)
    if not crossing.any():
        return crossing, y
    climb = np.where(crossing, after[..., 1] - y, 1.0)
    x = before[..., 0] - y / climb * (after[..., 0] - before[..., 0])
    return crossing & (np.abs(x - contexts[..., 0]) > contexts[..., 1] / 2), x
