"""The gate: a point mass is steered through a gate in a wall to the origin.

A context is the gate's x-position and half-width; theta holds the 14 parameters of two PD
controllers, one above the wall and one below (Sec. 4.1 and the appendix's "Gate Experiment").
"""

from typing import Any, NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box
from selfpaced.tasks.batch import checked_batch, task_repr
from selfpaced.types import AnyArray, Outcomes

DT = 0.05  # seconds per step
STEPS = 100
START = (0.0, 5.0)
GOAL = (0.0, 0.0)
WALL_Y = 2.5
SWITCH_Y = WALL_Y + 0.01  # once y is below this, the second controller acts until the end
DRIFT = (5.0, -1.0)  # velocity that the mass has without control
NOISE_STD = 0.05  # standard deviation of the velocity's noise, per step and axis
KAPPA, NU = 10.0, 1e-4  # Table 1: weights of distance and effort in the reward
REWARD_FLOOR = -100.0  # the effort of unstable controllers would cost millions
SUCCESS_RADIUS = 0.05  # distance to the goal below which a rollout is a success (appendix)
LANDSCAPE_GATE = 4.0  # x-position of the gates in the appendix's figure of the rewards
LANDSCAPE_WIDTHS = (20.0, 3.0, 0.1)  # their widths
LANDSCAPE_EVERY = 16  # one path out of this many is drawn


class GateRollouts(NamedTuple):
    """A simulated batch. After contact with the wall a rollout stays where it is."""

    positions: Array
    """(n, STEPS + 1, 2): x and y over time."""
    effort: Array
    """(n,): sum over time of |u|^2, up to the contact."""
    crashed: BoolArray
    """(n,): True where the mass hit the wall beside the gate."""


class Gate:
    """The gate task of the paper (Sec. 4.1).

    Contexts (n, 2): x-position and half-width of the gate. Thetas (n, 14): two PD controllers.
    """

    context_space = Box([-5.0, 0.1], [5.0, 0.5])
    """Which contexts exist."""
    theta_space = Box([-10.0] * 14, [10.0] * 14)
    """Which controllers may be tried: K1 (2 x 2), k1 (2), x1, then K2, k2, x2."""
    context_names = ("gate position", "gate half-width")
    """Names of the context's dimensions, for figures."""

    def __repr__(self) -> str:
        return task_repr(self)

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Rewards and successes of one rollout per row; `rng` draws the noise."""
        return self.outcomes(self.simulate(contexts, thetas, rng))

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, STEPS + 1, 2): positions over time."""
        return self.simulate(contexts, thetas, rng).positions

    def simulate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> GateRollouts:
        """Simulate one rollout per row of `contexts` (n, 2) and `thetas` (n, 14)."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        noise = NOISE_STD * rng.standard_normal((len(contexts), STEPS, 2))
        return stop_at_wall(*point_mass(thetas, noise), contexts)

    @staticmethod
    def outcomes(rollouts: GateRollouts) -> Outcomes:
        """Rewards and successes of simulated rollouts."""
        distance = np.linalg.norm(rollouts.positions[:, -1] - GOAL, axis=1)
        return Outcomes(reward(distance, rollouts.effort), success(distance))

    def landscape(self) -> dict[str, AnyArray]:
        """Data of the appendix's figure: paths and rewards as the first set point's x varies.

        There are three gates and no noise; the other parameters are those of a stable controller.
        "paths" is (3, k, t, 2), "rewards" (3, m) and "varied", the set point's x, (m,). The other
        entries are what a figure draws beside them: the walls, the goal, labels and limits.
        """
        x = np.linspace(-10.0, 10.0, 401)
        gain = np.array([8.0, 0.0, 0.0, 8.0])
        against_drift = -np.array(DRIFT)
        below = [*gain, *against_drift, 0.0]
        thetas = np.array([[*gain, *against_drift, set_point, *below] for set_point in x])
        without_wall = point_mass(thetas, np.zeros((len(x), STEPS, 2)))
        half_widths = [width / 2 for width in LANDSCAPE_WIDTHS]
        by_gate = [
            stop_at_wall(*without_wall, np.tile([LANDSCAPE_GATE, half], (len(x), 1)))
            for half in half_widths
        ]
        # Among the paths that are drawn, one must lead through the narrowest gate.
        through = np.flatnonzero(~by_gate[-1].crashed)
        drawn = slice(int(through[len(through) // 2]) % LANDSCAPE_EVERY, None, LANDSCAPE_EVERY)
        walls = [
            [(-20.0, LANDSCAPE_GATE - half), (LANDSCAPE_GATE + half, 20.0)] for half in half_widths
        ]
        ends = np.array(walls)  # (3, 2, 2): x of both parts of the wall
        heads = [f"gate at {LANDSCAPE_GATE:g}, {width:g} wide" for width in LANDSCAPE_WIDTHS]
        paths = [rollouts.positions[drawn] for rollouts in by_gate]
        return {
            "paths": np.array(paths, dtype=np.float32),
            "rewards": np.array([self.outcomes(rollouts).rewards for rollouts in by_gate]),
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

    The paper says that the reward is clipped to be above 0: its experiments learn from this reward
    plus 100. Here `Problem.reward_shift` adds the 100, for learners only.
    """
    return np.maximum(REWARD_FLOOR, KAPPA * np.exp(-np.minimum(300.0, distance)) - NU * effort)


def success(distance: Array) -> Array:
    """1 where the rollout ended within SUCCESS_RADIUS of the goal, else 0."""
    return (distance < SUCCESS_RADIUS).astype(float)


def point_mass(thetas: Array, noise: Array) -> tuple[Array, Array]:
    """Simulated positions (STEPS + 1, 2, n) and controls (STEPS, 2, n), as if without a wall.

    Row i of `thetas` (n, 14) is K1 (2 x 2), k1, x1, K2, k2, x2; `noise` is (n, STEPS, 2). Under
    either controller u = K (set point - s) + k a step is affine in the position s = (x, y), so
    each controller becomes one matrix that multiplies (x, y, 1).
    """
    n = len(thetas)
    disturbance = np.empty((STEPS, 2, n))  # time is the first axis: the loop reads step by step
    np.multiply(DT, np.array(DRIFT)[:, None] + noise.transpose(1, 2, 0), out=disturbance)
    step = _affine_step(thetas[:, :7], WALL_Y)  # step of each row's present controller
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


def stop_at_wall(positions: Array, controls: Array, gates: Array) -> GateRollouts:
    """The rollouts with a wall and `gates` (n, 2), from those that `point_mass` simulated without.

    Contact with the wall ends a rollout and changes nothing before, so it can be found afterwards.
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
    return GateRollouts(paths.transpose(2, 0, 1), effort, crashed)


def wall_contact(before: Array, after: Array, gates: Array) -> tuple[BoolArray, Array]:
    """Which moves (t, 2, n) -> (t, 2, n) hit the wall beside the gate, and where they cross it.

    `gates` (n, 2) holds centre and half-width. Both results are (t, n): hit, and the x of the
    crossing. Moves that do not cross have hit = False and x = nan.
    """
    crossing = (before[:, 1] >= WALL_Y) & (after[:, 1] < WALL_Y)
    drop = np.where(crossing, before[:, 1] - after[:, 1], np.nan)
    x = before[:, 0] + (before[:, 1] - WALL_Y) / drop * (after[:, 0] - before[:, 0])
    return np.abs(x - gates[:, 0]) > gates[:, 1], x


def _affine_step(controller: Array, set_point_y: float) -> Array:
    """(3, 2, n): matrices that map (x, y, 1) to s + DT u(s), for K, k, x in columns (n, 7)."""
    n = len(controller)
    K = controller[:, :4].reshape(n, 2, 2)
    set_point = np.stack([controller[:, 6], np.full(n, set_point_y)], axis=1)
    constant = np.einsum("nij,nj->ni", K, set_point) + controller[:, 4:6]
    step = np.empty((3, 2, n))
    step[:2] = np.eye(2)[:, :, None] - DT * K.transpose(2, 1, 0)
    step[2] = DT * constant.T
    return step
