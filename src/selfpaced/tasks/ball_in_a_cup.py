"""Ball-in-a-Cup: a Barrett WAM arm catches a ball on a string with the cup that it holds.

A context is the scale of the cup, from 2.5 (a bucket) over 1.0 (the real cup) to 0.9. theta weighs
five basis functions over time for each of three joints (Sec. 4.3 and the appendix's "Ball-in-a-Cup
Experiment"). The reward is sparse: it is zero unless the ball ends in the cup.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from selfpaced.maths.arrays import (
    Array,
    BoolArray,
    check_kind,
)
from selfpaced.maths.box import Box
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.promp import basis, basis_velocity
from selfpaced.tasks.batch import checked_batch, task_repr
from selfpaced.tasks.mujoco.camera import Picture
from selfpaced.tasks.randomisation import Randomisation, Worlds
from selfpaced.tasks.string_models import ANY_STRING, FREQUENCY, AnyString, Fidelity
from selfpaced.types import Outcomes

DURATION = 3.5  # seconds that the movement takes
SET_POINTS = 1750  # control steps of the movement
HOLDING = 350  # control steps after it, at the last set point
CONTROLS = SET_POINTS + HOLDING
START = np.array([0.0, 0.58760536, 0.0, 1.36004913, 0.0, -0.32072943, -1.57])  # joints, in rad
JOINT_LOWS = np.array([-2.6, -1.985, -2.8, -0.9, -4.55, -1.5707, -2.7])  # joints' ranges, in rad
JOINT_HIGHS = np.array([2.6, 1.985, 2.8, 3.14159, 1.25, 1.5707, 2.7])
MOVING = (1, 3, 5)  # joints 2, 4, 6 counted from one; the paper calls them first, third, fifth
BASES, ALL_BASES = 5, 9  # number of bases that have a weight, and of all bases
USED = slice(
    2, 7
)  # bases that have a weight; without the outer ones, movements begin and end at rest
CENTRES, WIDTH = np.linspace(-0.01, 1.01, ALL_BASES), 0.0035  # c_j and L, for times in [0, 1]
WEIGHT_SCALE = float(np.sqrt(0.02))  # weights of the bases: w = WEIGHT_SCALE * theta
COST = 0.07  # reward that is subtracted per unit of |w|^2
SUCCESS_RADIUS = 0.05  # largest distance of a caught ball from the goal, for a cup of scale 1
INNER_RADIUS = 0.0336  # inner radius of the cup at scale 1, in metres
FLOOR, RIM = -0.0055, 0.0756  # heights over the goal of the cup's floor and rim, in metres
# Limits of what is sent to a real robot. Controllers take up to 1000 set points per second (the
# WAM's takes 500); with fewer than 10, the turns of the movement, which take 0.2 s, get lost.
# Torques grow with the square of the speed: at 1.5 they are more than doubled. The authors changed
# the speed by a few percent. A slow speed is for a careful first try: at 0.05 it takes 70 s.
FREQUENCIES, SPEEDS = (10.0, 1000.0), (0.05, 1.5)

# What is not known exactly about a robot of this kind; each line says why it has this size.
ROBOT = Randomisation(
    ball_mass=0.1,  # 2 g of 21 g: balls and the glue of the string differ
    string_length=0.02,  # 6 mm of 30 cm: knots, and how a string stretches
    string_damping=0.5,  # no measurement: it depends on the string, and models disagree about it
    cup_position=0.004,  # metres: the cup is put into the hand by hand
    joint_offset=0.01,  # rad, 0.6 degrees: the joints' zeros are set by eye against stops
    gains=0.1,  # torques of cable-driven joints without torque sensors, with their friction
    delay=0.004,  # seconds: two control steps at 500 Hz
    noise=0.002,  # rad
)


class BallRollouts(NamedTuple):
    """A simulated batch: where the ball was in the end, and on its way there."""

    radii: Array
    """(n,): last distance of the ball from the cup's axis, in metres."""
    heights: Array
    """(n,): last height of the ball over the goal, along the cup's axis, in metres.

    The goal is just above the cup's floor. "Last" is before the contact that ends a rollout.
    """
    touched: BoolArray
    """(n,): True where contact of the ball with the arm or the handle ended the rollout."""
    unstable: BoolArray
    """(n,): True where the simulation became unstable, which counts as a failure."""
    balls: Array
    """(n, CONTROLS + 1, 3): positions of the ball over time; constant after the rollout's end."""


class BallInACup:
    """Ball-in-a-Cup in MuJoCo (install the extra `mujoco`).

    Contexts (n, 1): scale of the cup. Thetas (n, 15): weights of five bases for three joints.
    Nothing is random with one `Fidelity` and without a randomisation.
    """

    needs: ClassVar[tuple[str, ...]] = ("mujoco",)
    """Packages that must be installed to simulate; a run checks this before it starts."""
    context_space = Box([0.9], [2.5])
    """Which contexts exist; 1 is the size of the real cup."""
    theta_space = Box([-10.0] * 15, [10.0] * 15)
    """Which weights may be tried: for each of the five bases one per joint, before WEIGHT_SCALE."""
    context_names = ("scale of the cup",)
    """Names of the context's dimensions, for figures."""
    joint_names = tuple(f"joint{k}" for k in range(1, 8))
    """Names of the joints in the files that `selfpaced export` writes for a robot."""
    fidelity: Fidelity | AnyString
    """How finely the string and the time are divided; `AnyString` draws it for every rollout."""

    randomisation: Randomisation | None
    """How the world of every rollout may differ from the model; None for the model itself."""

    def __init__(
        self,
        fidelity: Fidelity | AnyString = ANY_STRING,
        randomisation: Randomisation | None = None,
    ) -> None:
        if not isinstance(fidelity, Fidelity | AnyString):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"fidelity must be a Fidelity or an AnyString; got {fidelity!r}")
        if randomisation is not None:
            check_kind("randomisation", randomisation, Randomisation)
        self.fidelity, self.randomisation = fidelity, randomisation
        self._arena: Any = None
        self._unstable = 0  # number of unstable rollouts in the last batch

    def __repr__(self) -> str:
        return task_repr(self, *self._details())

    def _details(self) -> list[str]:
        """What tells this task from others of its class."""
        return [repr(part) for part in (self.fidelity, self.randomisation) if part is not None]

    @property
    def name(self) -> str:
        """The task's name in the specs of stored runs, with its details; it must not change."""
        return f"{type(self).__name__}({', '.join(self._details())})"

    def diagnostics(self) -> dict[str, float]:
        """The number of unstable rollouts in the last batch; instability counts as a failure."""
        return {"unstable": self._unstable}

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Rewards and successes of one rollout per row; `rng` draws worlds if they are random."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        rollouts = self.simulate(contexts, thetas, rng)
        self._unstable = int(rollouts.unstable.sum())
        successes = success(rollouts, contexts)
        return Outcomes(reward(successes, thetas), successes)

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, 211, 3): positions of the ball over time, one every 20 ms."""
        return self.simulate(*checked_batch(self, contexts, thetas), rng).balls[:, ::10]

    def simulate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> BallRollouts:
        """Simulate one rollout per row of `contexts` (n, 1) and `thetas` (n, 15)."""
        from selfpaced.tasks.mujoco.wam_rollouts import Arena

        if self._arena is None:
            self._arena = Arena(self._models())
        strings = None
        if isinstance(self.fidelity, AnyString):
            strings = self.fidelity.draw(len(contexts), rng)
        moved, worlds = set_points(thetas), self._worlds(contexts, rng)
        if worlds is not None:
            moved = worlds.disturbed(*moved, FREQUENCY)
        return self._arena.simulate(contexts[:, 0], *moved, strings, worlds)

    def _worlds(self, contexts: Array, rng: np.random.Generator) -> Worlds | None:
        """The worlds of rollouts in `contexts` (n, d_c); None if none differs from the model."""
        if self.randomisation is None:
            return None
        return self.randomisation.draw(len(contexts), CONTROLS, rng)

    def _models(self) -> list[Fidelity]:
        """The models that rollouts may happen in."""
        return self.fidelity.models() if isinstance(self.fidelity, AnyString) else [self.fidelity]

    def movement(self, theta: Array, frequency: float, speed: float) -> tuple[Array, Array, Array]:
        """Times (t,), joint positions and velocities (t, 7) for a robot; see `movement`."""
        return movement(theta, frequency, speed)

    def picture(self, context: Array) -> Picture:
        """A picture of the arm at rest, with a cup of the scale `context` (1,)."""
        from selfpaced.tasks.mujoco.wam_rollouts import WamRollouts

        still = set_points(np.zeros((1, 15)))
        return next(WamRollouts(self._models()[-1]).film(float(context[0]), *still))

    def film(
        self, context: Array, policy: LinearGaussianPolicy, rng: np.random.Generator
    ) -> Iterator[Picture]:
        """Pictures of one rollout of `policy` at `context` (1,), one every 40 ms."""
        from selfpaced.tasks.mujoco.wam_rollouts import WamRollouts

        theta = policy.sample(context[None], rng, self.theta_space)
        return WamRollouts(self._models()[-1]).film(float(context[0]), *set_points(theta))


def movement(theta: Array, frequency: float, speed: float) -> tuple[Array, Array, Array]:
    """Times (t,), joint positions and velocities (t, 7) of the movement of `theta` (15,).

    For a robot: there are `frequency` set points per second, and time is stretched by 1 / `speed`.
    They are commands for PD controllers; without gravity compensation the arm sags by up to
    0.07 rad below them. Raise a ValueError if the movement leaves the joints' ranges.
    """
    for name, value, (low, high) in (
        ("frequency", frequency, FREQUENCIES),
        ("speed", speed, SPEEDS),
    ):
        if not low <= value <= high:  # nan is refused, too
            raise ValueError(f"{name} must be from {low:g} to {high:g} for a robot; got {value:g}")
    steps = int(np.floor(DURATION / speed * frequency + 1e-9)) + 1
    times = np.arange(steps) / frequency
    phases = times * speed / DURATION
    weights = WEIGHT_SCALE * theta.reshape(BASES, 3)
    positions, velocities = np.tile(START, (steps, 1)), np.zeros((steps, 7))
    positions[:, MOVING] += basis(phases, CENTRES, WIDTH)[:, USED] @ weights
    velocities[:, MOVING] = basis_velocity(phases, CENTRES, WIDTH)[:, USED] @ weights
    velocities *= speed / DURATION
    beyond = (positions < JOINT_LOWS) | (positions > JOINT_HIGHS)
    if beyond.any():
        step, joint = np.argwhere(beyond)[0]
        raise ValueError(
            f"a movement for a robot must stay in the joints' ranges; joint {joint + 1} is sent to "
            f"{positions[step, joint]:.3f} rad, outside of {JOINT_LOWS[joint]:g} to "
            f"{JOINT_HIGHS[joint]:g}"
        )
    return times, positions, velocities


def set_points(thetas: Array) -> tuple[Array, Array]:
    """Desired joint positions and velocities (n, CONTROLS, 7) for `thetas` (n, 15)."""
    n = len(thetas)
    times = np.linspace(0.0, 1.0, SET_POINTS)
    weights = WEIGHT_SCALE * thetas.reshape(n, BASES, 3)
    positions, velocities = np.tile(START, (n, CONTROLS, 1)), np.zeros((n, CONTROLS, 7))
    moved = basis(times, CENTRES, WIDTH)[:, USED] @ weights  # (n, SET_POINTS, 3)
    positions[:, :SET_POINTS, MOVING] += moved
    positions[:, SET_POINTS:, MOVING] += moved[:, -1:]
    speed = basis_velocity(times, CENTRES, WIDTH)[:, USED] @ weights / DURATION
    velocities[:, :SET_POINTS, MOVING] = speed
    return positions, velocities


def success(rollouts: BallRollouts, contexts: Array) -> Array:
    """(n,): 1 where the ball ended in the cup, else 0.

    The paper's rule looks at the distance to the goal alone. It would also count a ball that is
    for a moment under the cup's floor, or beside or above a large cup. Here it must be inside.
    """
    scale = contexts[:, 0]
    near = np.hypot(rollouts.radii, rollouts.heights) < SUCCESS_RADIUS * scale
    inside = (
        (rollouts.radii < INNER_RADIUS * scale)
        & (rollouts.heights > FLOOR)
        & (rollouts.heights < RIM)
    )
    return (near & inside & ~rollouts.unstable).astype(float)


def reward(successes: Array, thetas: Array) -> Array:
    """(n,): 1 - 0.07 |w|^2 for a success, else 0.

    The paper writes theta for w; its experiments used the scaled weights w.
    """
    return successes * (1.0 - COST * WEIGHT_SCALE**2 * (thetas**2).sum(axis=1))
