"""The reacher: a gripper moves over a table, around four obstacles, to a goal behind them.

A context holds the half-lengths of the first two obstacles: one end of each stays in place and the
box grows into the corridor. theta weighs 20 basis functions over time for each of the two
displacements (Sec. 4.2 and the appendix's "Reacher Experiment"). Lengths are in metres; seen from
above, x points to the right and y up.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray, check_rows
from selfpaced.maths.box import Box
from selfpaced.maths.policy import LinearGaussianPolicy, Policy
from selfpaced.maths.promp import basis
from selfpaced.tasks.batch import checked_batch, task_repr
from selfpaced.tasks.mujoco.camera import Picture
from selfpaced.tasks.threads import share_rows
from selfpaced.types import Outcomes

STEPS = 150
STEP_SECONDS = 0.04
GOAL = np.array([1.3, 0.35, 0.5])
HEIGHT = 0.5  # height over the floor that the gripper keeps, whatever theta is
LIFT = 2.0  # action in z per metre that the gripper is below HEIGHT
KAPPA, NU = 20.0, 0.1  # Table 1: weights of distance and effort in the reward
SUCCESS_RADIUS = 0.05  # distance to the goal below which a rollout is a success (appendix)

TABLE = np.array([[1.1, 0.35], [1.5, 1.15]])  # two opposite corners
TABLE_TOP = 0.4  # z of the table's upper side
WALLS = (  # centre, and half size in x and y; there is no wall at the front
    ((1.11, 0.75), (0.01, 0.4)),
    ((1.49, 0.75), (0.01, 0.4)),
    ((1.3, 1.14), (0.2, 0.01)),
)
WALL_Z, WALL_HALF_HEIGHT = 0.45, 0.06
OBSTACLE_Z, OBSTACLE_HALF_HEIGHT = 0.45, 0.05
OBSTACLE_HALF_WIDTH = 0.025
YAWS = np.array([-0.5, -0.2, 1.7, 0.4])  # angles of the four obstacles about z, in rad
DIRECTIONS = np.stack(
    [np.cos(YAWS), np.sin(YAWS)], axis=1
)  # (4, 2): directions of their long sides
FIXED_ENDS = np.array([[1.14, 0.92], [1.47, 0.65]])  # ends of obstacles 1 and 2 that stay in place
GROWS = np.array([1.0, -1.0])  # 1: they grow along their direction; -1: against it
FIXED_CENTRES = np.array([[1.16, 0.65], [1.23, 0.52]])  # centres of obstacles 3 and 4
FIXED_HALF_LENGTHS = np.array([0.08, 0.11])  # half-lengths of obstacles 3 and 4

BASES = 20  # basis functions over time, for each of x and y
TIMES = np.linspace(0.0, 1.0, STEPS)
BASIS = basis(TIMES, np.linspace(-0.2, 1.2, BASES), 0.03)  # (STEPS, BASES)


class Arms(Protocol):
    """n arms, each among the obstacles of its own context."""

    @property
    def grips(self) -> Array:
        """(n, 3): positions of the grippers, in metres."""
        ...

    @property
    def velocities(self) -> Array:
        """(n, 2): velocities of the grippers over the table, in m/s."""
        ...

    @property
    def touching(self) -> BoolArray:
        """(n,): True where the arm touches an obstacle, or its simulation has become unstable."""
        ...

    def move(self, rows: IntArray, actions: Array) -> None:
        """Move the arms `rows` (k,) by one step with `actions` (k, 2) in [-1, 1]."""
        ...

    def restart(self, rows: IntArray) -> None:
        """Put the arms `rows` (k,) back to the start."""
        ...

    def place(self, rows: IntArray, contexts: Array) -> None:
        """Give the arms `rows` (k,) the obstacles of `contexts` (k, 2)."""
        ...


class ReacherRollouts(NamedTuple):
    """A simulated batch. After contact, or at the goal, a rollout stays where it is."""

    paths: Array
    """(n, STEPS + 1, 3): positions of the grippers over time."""
    touched: BoolArray
    """(n,): True where contact with an obstacle ended the rollout."""
    steps: IntArray
    """(n,): number of steps until the end of the rollout."""


class ReacherTask(ABC):
    """The rules of the reacher (Sec. 4.2); a subclass says what simulates the arms.

    Contexts (n, 2): half-lengths of obstacles 1 and 2. Thetas (n, 40): weights of the bases.
    """

    context_space = Box([0.01, 0.01], [0.09, 0.09])
    """Which contexts exist, in metres."""
    theta_space = Box([-100.0] * 2 * BASES, [100.0] * 2 * BASES)
    """Which weights may be tried: for each of the bases one for x and one for y."""
    context_names = ("size of obstacle 1", "size of obstacle 2")
    """Names of the context's dimensions, for figures."""
    threaded: ClassVar[bool] = False
    """True if threads can simulate rows at the same time, because the simulation is not Python."""

    def __repr__(self) -> str:
        return task_repr(self)

    @abstractmethod
    def arms(self, contexts: Array) -> Arms:
        """Arms at the start, one per row of `contexts` (n, 2)."""

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Rewards and successes of one rollout per row; nothing is random."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        wanted = displacements(thetas)
        return outcomes(self._simulate(contexts, wanted), (wanted**2).sum(axis=(1, 2)))

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, STEPS + 1, 2): positions of the gripper over the table."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        return self._simulate(contexts, displacements(thetas)).paths[:, :, :2]

    def simulate_policy(
        self,
        contexts: Array,
        act: Callable[[Array], Array],
        rng: np.random.Generator | None = None,
    ) -> tuple[Outcomes, Array]:
        """Outcomes and trajectories (n, STEPS + 1, 2) of a policy that acts at every step.

        `act` maps the observations (k, 4) of the k rollouts still running, which are
        (x, vx, y, vy), to actions (k, 2). Contact ends a rollout, as in `evaluate`; the effort
        is the sum over the steps until the rollout's end. `rng` is not used: there is no noise.
        """
        arms = self.arms(check_rows("contexts", contexts, 2))
        effort = np.zeros(len(contexts))

        def act_and_count(step: int, rows: IntArray) -> Array:
            actions = np.clip(act(observe(arms)[rows]), -1.0, 1.0)
            effort[rows] += (actions**2).sum(axis=1)
            return actions

        rollouts = simulate(arms, act_and_count)
        return outcomes(rollouts, effort), rollouts.paths[:, :, :2]

    def _simulate(self, contexts: Array, wanted: Array) -> ReacherRollouts:
        """Simulate rollouts with the actions `wanted` (n, STEPS, 2), clipped to [-1, 1]."""
        actions = np.clip(wanted, -1.0, 1.0)
        arms = self.arms(contexts)
        return simulate(arms, lambda step, rows: actions[rows, step], threaded=self.threaded)

    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the table with the obstacles of `context` (2,) and trajectories (k, t, 2)."""
        draw_scene(context, axes)
        for path in trajectories:
            axes.plot(path[:, 0], path[:, 1], linewidth=1, alpha=0.8)


class Reacher(ReacherTask):
    """The reacher in MuJoCo, with the Fetch arm (install the extra `mujoco`)."""

    needs: ClassVar[tuple[str, ...]] = ("mujoco", "gymnasium_robotics")
    """Packages that must be installed to simulate; a run checks this before it starts."""
    threaded: ClassVar[bool] = True
    """MuJoCo simulates without holding Python's lock."""

    def __init__(self) -> None:
        self._fetch: Any = None
        self._last: Any = None  # the arms of the last batch

    def arms(self, contexts: Array) -> Arms:
        """Arms at the start, one per row of `contexts` (n, 2); earlier arms must not move again."""
        from selfpaced.tasks.mujoco.fetch import Fetch

        if self._fetch is None:
            self._fetch = Fetch()  # only now, because compiling the model takes a moment
        self._last = self._fetch.arms(contexts)
        return self._last

    def diagnostics(self) -> dict[str, float]:
        """The number of unstable rollouts in the last batch; instability counts as contact."""
        return {"unstable": 0 if self._last is None else int(self._last.unstable.sum())}

    def picture(self, context: Array) -> Picture:
        """A picture of the arm at its start, among the obstacles of `context` (2,)."""
        from selfpaced.tasks.mujoco.fetch_camera import FetchCamera

        arms: Any = self.arms(context[None])
        camera = FetchCamera(width=400, height=400)
        try:
            return camera.picture(context, arms.states[0])
        finally:
            camera.close()

    def film(self, context: Array, policy: Policy, rng: np.random.Generator) -> Iterator[Picture]:
        """Pictures of one rollout of `policy` at `context` (2,), one per step of STEP_SECONDS."""
        from selfpaced.tasks.mujoco.fetch_camera import FetchCamera

        arms: Any = self.arms(context[None])
        states: list[Array] = []

        def act_and_record(step: int, rows: IntArray) -> Array:
            states.append(arms.states[0].copy())
            return act(step)

        if not isinstance(policy, LinearGaussianPolicy):

            def act(step: int) -> Array:
                return policy.sample(observe(arms), rng)
        else:
            theta = policy.sample(context[None], rng, self.theta_space)
            actions = np.clip(displacements(theta), -1.0, 1.0)

            def act(step: int) -> Array:
                return actions[:, step]

        simulate(arms, act_and_record)
        camera = FetchCamera()
        try:
            for state in (*states, arms.states[0]):
                yield camera.picture(context, state)
        finally:
            camera.close()


def displacements(thetas: Array) -> Array:
    """(n, STEPS, 2): the actions that `thetas` (n, 40) ask for, before they are clipped."""
    return BASIS @ thetas.reshape(-1, BASES, 2)


def lift(heights: Array) -> Array:
    """(k,): the actions in z by which grippers at `heights` (k,) return to HEIGHT."""
    return np.clip(LIFT * (HEIGHT - heights), -1.0, 1.0)


def simulate(
    arms: Arms, act: Callable[[int, IntArray], Array], *, threaded: bool = False
) -> ReacherRollouts:
    """Simulate `arms` until each has touched an obstacle, reached the goal or made all its steps.

    `act(step, rows)` returns the actions (k, 2) of the arms `rows` (k,) that are still running. If
    it is `threaded`, threads share the rows, and actions of one row must not depend on others.
    """
    n = len(arms.grips)
    paths = np.empty((n, STEPS + 1, 3))
    paths[:, 0] = arms.grips
    steps = np.zeros(n, dtype=np.intp)

    def run(part: IntArray) -> None:
        rows = part
        for step in range(STEPS):
            if rows.size:
                arms.move(rows, act(step, rows))
                steps[rows] += 1
                rows = rows[~(arms.touching[rows] | at_goal(arms.grips[rows]))]
            paths[part, step + 1] = arms.grips[part]

    if threaded:
        share_rows(run, n)
    else:
        run(np.arange(n))
    return ReacherRollouts(paths, arms.touching.copy(), steps)


def observe(arms: Arms) -> Array:
    """(n, 4): what a policy sees of `arms`, that is (x, vx, y, vy)."""
    positions, velocities = arms.grips, arms.velocities
    return np.stack([positions[:, 0], velocities[:, 0], positions[:, 1], velocities[:, 1]], axis=1)


def at_goal(grips: Array) -> BoolArray:
    """(n,): which of the positions `grips` (n, 3) are within SUCCESS_RADIUS of the goal."""
    return np.linalg.norm(grips - GOAL, axis=1) < SUCCESS_RADIUS


def outcomes(rollouts: ReacherRollouts, effort: Array) -> Outcomes:
    """Rewards and successes of `rollouts` with `effort` (n,), the sum over time of |a|^2."""
    last = rollouts.paths[:, -1]
    return Outcomes(
        reward(np.linalg.norm(last - GOAL, axis=1), effort), at_goal(last).astype(float)
    )


def reward(distance: Array, effort: Array) -> Array:
    """kappa exp(-distance) - nu effort (appendix, "General Aspects").

    In `evaluate` the effort is that of the unclipped actions over all STEPS, even where the rollout
    ended early.
    """
    return KAPPA * np.exp(-distance) - NU * effort


def obstacles(contexts: Array) -> tuple[Array, Array]:
    """Centres (n, 4, 2) and half-lengths (n, 4) of the obstacles in `contexts` (n, 2)."""
    n = len(contexts)
    centres = np.empty((n, 4, 2))
    centres[:, :2] = FIXED_ENDS + (GROWS * contexts)[:, :, None] * DIRECTIONS[:2]
    centres[:, 2:] = FIXED_CENTRES
    half_lengths = np.empty((n, 4))
    half_lengths[:, :2] = contexts
    half_lengths[:, 2:] = FIXED_HALF_LENGTHS
    return centres, half_lengths


def draw_scene(context: Array, axes: Any) -> None:
    """Draw the table with the obstacles of `context` (2,), from above, on Matplotlib axes."""
    centres, half_lengths = obstacles(np.asarray(context, dtype=float)[None])
    across = np.stack([-DIRECTIONS[:, 1], DIRECTIONS[:, 0]], axis=1) * OBSTACLE_HALF_WIDTH
    along = DIRECTIONS * half_lengths[0][:, None]
    corners = np.array([along + across, along - across, -along - across, -along + across])
    (left, front), (right, back) = TABLE
    axes.fill([left, right, right, left], [front, front, back, back], color="0.95", zorder=0)
    for (x, y), (dx, dy) in WALLS:
        axes.fill([x - dx, x + dx, x + dx, x - dx], [y - dy, y - dy, y + dy, y + dy], color="0.6")
    for k in range(4):
        axes.fill(*(centres[0, k] + corners[:, k]).T, color="#56b4e9", zorder=1)
    axes.plot(*GOAL[:2], "o", color="crimson", markersize=6, zorder=3)
    axes.set(xlim=(left - 0.02, right + 0.02), ylim=(front - 0.07, back + 0.02), aspect="equal")
    axes.set(xticks=[], yticks=[])
