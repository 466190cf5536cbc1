"""The gate: a point mass is steered through a gate in a wall to the origin.

A context is the gate's x-position and half-width; theta holds the 14 parameters of two PD
controllers, one above the wall and one below (Sec. 4.1 and the appendix's "Gate Experiment").
"""

from typing import Any, NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, check_rows
from selfpaced.maths.box import Box
from selfpaced.types import AnyArray, Outcomes

DT = 0.05
STEPS = 100
START = (0.0, 5.0)
GOAL = (0.0, 0.0)
WALL_Y = 2.5
SWITCH_Y = WALL_Y + 0.01  # below it the second controller has taken over, for good
DRIFT = (5.0, -1.0)
NOISE_STD = 0.05  # of the velocity, per step and axis
KAPPA, NU = 10.0, 1e-4  # Table 1
REWARD_FLOOR = -100.0  # unstable controllers pay millions for their actions
SUCCESS_RADIUS = 0.05
LANDSCAPE_GATE, LANDSCAPE_WIDTHS = 4.0, (20.0, 3.0, 0.1)  # appendix, figure of the rewards


class Flight(NamedTuple):
    """What a batch of rollouts did. After contact with the wall a rollout stays where it is."""

    positions: Array  # (n, STEPS + 1, 2)
    effort: Array  # (n,): sum over time of |u|^2, up to the contact
    crashed: BoolArray  # (n,)


class Gate:
    """The gate task. Contexts (n, 2): gate position, half-width; thetas (n, 14)."""

    context_space = Box([-5.0, 0.1], [5.0, 0.5])
    theta_space = Box([-10.0] * 14, [10.0] * 14)
    context_names = ("gate position", "gate half-width")

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        return self.outcomes(self.fly(contexts, thetas, rng))

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, STEPS + 1, 2) positions over time."""
        return self.fly(contexts, thetas, rng).positions

    def fly(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Flight:
        """Simulate one rollout per row."""
        contexts = check_rows("contexts", contexts, 2)
        thetas = check_rows("thetas", thetas, 14)
        if len(thetas) != len(contexts):
            raise ValueError(
                f"thetas must have {len(contexts)} rows, as contexts; got {len(thetas)}"
            )
        noise = NOISE_STD * rng.standard_normal((len(contexts), STEPS, 2))
        return stop_at_wall(*point_mass(thetas, noise), contexts)

    @staticmethod
    def outcomes(flight: Flight) -> Outcomes:
        distance = np.linalg.norm(flight.positions[:, -1] - GOAL, axis=1)
        return Outcomes(reward(distance, flight.effort), success(distance))

    def landscape(self) -> dict[str, AnyArray]:
        """The appendix's figure: what the first set point's x alone changes, for three gates.

        Without noise; the other parameters are those of a stable controller. Paths (3, k, t, 2),
        rewards (3, m) over x (m,); the walls and the goal to draw with them.
        """
        x = np.linspace(-10.0, 10.0, 401)
        gain = np.array([8.0, 0.0, 0.0, 8.0])
        against_drift = -np.array(DRIFT)
        below = [*gain, *against_drift, 0.0]
        thetas = np.array([[*gain, *against_drift, set_point, *below] for set_point in x])
        flight_free = point_mass(thetas, np.zeros((len(x), STEPS, 2)))
        half_widths = [width / 2 for width in LANDSCAPE_WIDTHS]
        flights = [
            stop_at_wall(*flight_free, np.tile([LANDSCAPE_GATE, half], (len(x), 1)))
            for half in half_widths
        ]
        every = 16  # paths one is drawn, and among them one through the narrowest gate
        through = np.flatnonzero(~flights[-1].crashed)
        kept = slice(int(through[len(through) // 2]) % every, None, every)
        walls = [
            [(-20.0, LANDSCAPE_GATE - half), (LANDSCAPE_GATE + half, 20.0)] for half in half_widths
        ]
        ends = np.array(walls)  # (3, 2, 2): x of both parts of the wall
        heads = [f"gate at {LANDSCAPE_GATE:g}, {width:g} wide" for width in LANDSCAPE_WIDTHS]
        return {
            "paths": np.array([flight.positions[kept] for flight in flights], dtype=np.float32),
            "rewards": np.array([self.outcomes(flight).rewards for flight in flights]),
            "varied": x,
            "heads": np.array(heads),
            "label": np.array("x of the first set point"),
            "points": np.array([GOAL]),
            "lines": np.stack([ends, np.full_like(ends, WALL_Y)], axis=-1),
            "limits": np.array([(-8.0, 8.0), (-1.0, 6.0)]),
        }

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the gate of `context` (2,) and trajectories (k, t, 2) on Matplotlib axes."""
        x, half_width = context
        for left, right in ((-10.0, x - half_width), (x + half_width, 10.0)):
            axes.plot([left, right], [WALL_Y, WALL_Y], color="0.25", linewidth=3)
        for path in trajectories:
            axes.plot(path[:, 0], path[:, 1], linewidth=1, alpha=0.8)
        axes.plot(*START, "o", color="0.25", markersize=4)
        axes.plot(*GOAL, "x", color="crimson", markersize=7)
        axes.set(xlim=(-6, 6), ylim=(-1, 6), aspect="equal")


def reward(distance: Array, effort: Array) -> Array:
    """kappa exp(-distance) - nu effort, not below REWARD_FLOOR (appendix, "General Aspects").

    The paper says the reward is clipped to be above 0: its experiments learn from this one
    plus 100, which the experiments here add and take off again.
    """
    return np.maximum(REWARD_FLOOR, KAPPA * np.exp(-np.minimum(300.0, distance)) - NU * effort)


def success(distance: Array) -> Array:
    """1 where the rollout ended within SUCCESS_RADIUS of the goal, else 0."""
    return (distance < SUCCESS_RADIUS).astype(float)


def point_mass(thetas: Array, noise: Array) -> tuple[Array, Array]:
    """Positions (STEPS + 1, 2, n) and controls (STEPS, 2, n) as if there were no wall.

    Row i of `thetas` (n, 14) is K1 (2 x 2), k1, x1, K2, k2, x2; `noise` is (n, STEPS, 2). Under
    either controller u = K (set point - s) + k a step is affine in the position s = (x, y), so
    each is kept as one matrix over the homogeneous (x, y, 1).
    """
    n = len(thetas)
    disturbance = np.empty((STEPS, 2, n))  # time first: the loop reads it step by step
    np.multiply(DT, np.array(DRIFT)[:, None] + noise.transpose(1, 2, 0), out=disturbance)
    step = _affine_step(thetas[:, :7], WALL_Y)  # in force now, row by row
    below = _affine_step(thetas[:, 7:], GOAL[1])
    states = np.ones((STEPS + 1, 3, n))
    states[0, :2] = np.array(START)[:, None]
    product = np.empty((3, 2, n))
    for t in range(STEPS):
        state, after = states[t], states[t + 1, :2]
        np.copyto(step, below, where=state[1] < SWITCH_Y)
        np.multiply(step, state[:, None], out=product)
        np.add(product[0], product[1], out=after)
        after += product[2]
        after += disturbance[t]
    positions = states[:, :2]
    controls = (np.diff(positions, axis=0) - disturbance) / DT
    return positions, controls


def stop_at_wall(positions: Array, controls: Array, gates: Array) -> Flight:
    """The flight through `gates` (n, 2) that starts like the one without a wall.

    The wall only ever ends a rollout, so contact can be looked for afterwards.
    """
    hit, x = wall_contact(positions[:-1], positions[1:], gates)  # (STEPS, n) each
    crashed: BoolArray = np.logical_or.reduce(hit, axis=0)
    last = np.where(crashed, hit.argmax(axis=0), STEPS)  # step of the contact
    stopped = np.arange(STEPS)[:, None] >= last
    paths = positions.copy()
    contact_x = x[np.minimum(last, STEPS - 1), np.arange(len(gates))]
    contact = np.stack([contact_x, np.full(len(gates), WALL_Y)])
    np.copyto(paths[1:], contact, where=stopped[:, None])
    acting = np.arange(STEPS)[:, None] <= last
    effort = np.where(acting, np.einsum("tdn,tdn->tn", controls, controls), 0.0).sum(axis=0)
    return Flight(paths.transpose(2, 0, 1), effort, crashed)


def wall_contact(before: Array, after: Array, gates: Array) -> tuple[BoolArray, Array]:
    """Which moves (t, 2, n) -> (t, 2, n) hit the wall beside the gate, and the x of each crossing.

    `gates` is (n, 2): centre and half-width. Moves that do not cross have x = nan, hit = False.
    """
    crossing = (before[:, 1] >= WALL_Y) & (after[:, 1] < WALL_Y)
    drop = np.where(crossing, before[:, 1] - after[:, 1], np.nan)
    x = before[:, 0] + (before[:, 1] - WALL_Y) / drop * (after[:, 0] - before[:, 0])
    return np.abs(x - gates[:, 0]) > gates[:, 1], x


def _affine_step(controller: Array, set_point_y: float) -> Array:
    """(3, 2, n): the matrix of s + DT u(s) over (x, y, 1) for K, k, x in the columns (n, 7)."""
    n = len(controller)
    K = controller[:, :4].reshape(n, 2, 2)
    set_point = np.stack([controller[:, 6], np.full(n, set_point_y)], axis=1)
    constant = np.einsum("nij,nj->ni", K, set_point) + controller[:, 4:6]
    step = np.empty((3, 2, n))
    step[:2] = np.eye(2)[:, :, None] - DT * K.transpose(2, 1, 0)
    step[2] = DT * constant.T
    return step
