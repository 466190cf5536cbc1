"""Ball-in-a-Cup: a Barrett WAM swings a ball on a string into the cup that it holds.

A context is the scale of the cup, from a bucket (2.5) to the real one (1.0) and less. theta
weighs five basis functions over time for each of three joints (Sec. 4.3 and the appendix's
"Ball-in-a-Cup Experiment"). The reward is sparse: nothing unless the ball ends in the cup.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.box import Box
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.promp import basis, basis_velocity
from selfpaced.tasks.batch import checked_batch
from selfpaced.tasks.offscreen import Picture
from selfpaced.types import Outcomes

FREQUENCY = 500.0  # of set points and of checks, in Hz
DURATION = 3.5  # of the movement, in s
SET_POINTS = 1750
HOLDING = 350  # control steps more at the last set point
CONTROLS = SET_POINTS + HOLDING
START = np.array([0.0, 0.58760536, 0.0, 1.36004913, 0.0, -0.32072943, -1.57])
JOINT_LOWS = np.array([-2.6, -1.985, -2.8, -0.9, -4.55, -1.5707, -2.7])  # of the arm, in rad
JOINT_HIGHS = np.array([2.6, 1.985, 2.8, 3.14159, 1.25, 1.5707, 2.7])
MOVING = (1, 3, 5)  # joints 2, 4 and 6: the paper counts otherwise
BASES, ALL_BASES = 5, 9  # in use: the third to the seventh, so that movements begin and end at rest
USED = slice(2, 7)
CENTRES, WIDTH = np.linspace(-0.01, 1.01, ALL_BASES), 0.0035
WEIGHT_SCALE = float(np.sqrt(0.02))  # w = this * theta
COST = 0.07  # of |w|^2
SUCCESS_RADIUS = 0.05  # times the cup's scale
INNER_RADIUS = 0.0336  # of the cup at scale 1
FLOOR, RIM = -0.0055, 0.0756  # the floor's upper side and the wall's upper edge, from the goal
# What an arm can be sent. Controllers take up to 1000 set points per second (the WAM's 500); fewer
# than 10 leave out turns of the movement, which take 0.2 s. Torques grow with the square of the
# speed: at 1.5 they are more than twice as high. The authors changed it by a few percent; slower
# is for a careful first try, which takes 70 s at 0.05.
FREQUENCIES, SPEEDS = (10.0, 1000.0), (0.05, 1.5)


@dataclass(frozen=True)
class Fidelity:
    """How finely the string and time are cut."""

    links: int  # of the string
    margin: float  # at which the string feels a wall, so that no step takes it through
    substeps: int  # of physics per control step

    @property
    def timestep(self) -> float:
        return 1.0 / (FREQUENCY * self.substeps)


FAST = Fidelity(links=10, margin=0.003, substeps=1)
FAITHFUL = Fidelity(links=20, margin=0.0015, substeps=2)


class Swing(NamedTuple):
    """What a batch of rollouts came to."""

    radii: Array  # (n,): from the ball to the cup's axis, in the end
    heights: Array  # (n,): of the ball over the goal, just above the cup's floor, along the axis
    touched: BoolArray  # (n,): ended because the ball met the arm or the handle
    unstable: BoolArray  # (n,): the simulation blew up, which counts as a failure
    balls: Array  # (n, CONTROLS + 1, 3): the ball over time; it stays where the rollout ended


class BallInACup:
    """The task in MuJoCo (extra `mujoco`). Contexts (n, 1): scale of the cup; thetas (n, 15)."""

    needs: ClassVar[tuple[str, ...]] = ("mujoco",)
    context_space = Box([0.9], [2.5])
    theta_space = Box([-10.0] * 15, [10.0] * 15)
    context_names = ("scale of the cup",)
    joint_names = tuple(f"joint{k}" for k in range(1, 8))

    def __init__(self, fidelity: Fidelity = FAST) -> None:
        self.fidelity = fidelity
        self._world: Any = None
        self._unstable = 0  # rollouts of the last batch

    @property
    def name(self) -> str:
        """The task and its fidelity, for the spec of a run."""
        return f"BallInACup({self.fidelity})"

    def notes(self) -> dict[str, float]:
        """How many rollouts of the last batch blew up, which counts as a failure."""
        return {"unstable": self._unstable}

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        contexts, thetas = checked_batch(self, contexts, thetas)
        swung = self.swing(contexts, thetas)
        self._unstable = int(swung.unstable.sum())
        successes = success(swung, contexts)
        return Outcomes(reward(successes, thetas), successes)

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, 211, 3): the ball over time, every 20 ms."""
        return self.swing(*checked_batch(self, contexts, thetas)).balls[:, ::10]

    def swing(self, contexts: Array, thetas: Array) -> Swing:
        """Simulate one rollout per row."""
        from selfpaced.tasks.swinging import Swinging

        if self._world is None:
            self._world = Swinging(self.fidelity)
        return self._world.swing(contexts[:, 0], *set_points(thetas))

    def movement(self, theta: Array, frequency: float, speed: float) -> tuple[Array, Array, Array]:
        """Times (t,), joint positions and velocities (t, 7) for a robot; see `movement`."""
        return movement(theta, frequency, speed)

    def picture(self, context: Array) -> Picture:
        """The arm at rest with a cup of the scale `context` (1,)."""
        from selfpaced.tasks.swinging import Swinging

        still = set_points(np.zeros((1, 15)))
        return next(Swinging(self.fidelity).film(float(context[0]), *still))

    def film(
        self, context: Array, policy: LinearGaussianPolicy, rng: np.random.Generator
    ) -> Iterator[Picture]:
        """One rollout of `policy` at `context` (1,), a picture every 40 ms."""
        from selfpaced.tasks.swinging import Swinging

        theta = policy.sample(context[None], rng, self.theta_space)
        return Swinging(self.fidelity).film(float(context[0]), *set_points(theta))


def movement(theta: Array, frequency: float, speed: float) -> tuple[Array, Array, Array]:
    """Times (t,), joint positions and velocities (t, 7) of the movement of `theta` (15,).

    For a robot: `frequency` set points per second, and time stretched by 1 / `speed`. They are
    commands for the arm's springs and dampers, which follow them with a sag of up to 0.07 rad where
    nothing else carries its weight. A movement that leaves the joints' ranges is an error.
    """
    for name, value, (low, high) in (
        ("frequency", frequency, FREQUENCIES),
        ("speed", speed, SPEEDS),
    ):
        if not low <= value <= high:  # true of nan, too
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
    """Desired joint positions and velocities (n, CONTROLS, 7) of thetas (n, 15)."""
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


def success(swung: Swing, contexts: Array) -> Array:
    """1 where the ball ended in the cup, else 0.

    The paper's rule is the distance alone. It would also count a ball under the cup's floor, or
    beside or above a large cup, where one may be for a moment: ours has to be inside.
    """
    scale = contexts[:, 0]
    near = np.hypot(swung.radii, swung.heights) < SUCCESS_RADIUS * scale
    inside = (swung.radii < INNER_RADIUS * scale) & (swung.heights > FLOOR) & (swung.heights < RIM)
    return (near & inside & ~swung.unstable).astype(float)


def reward(successes: Array, thetas: Array) -> Array:
    """1 - 0.07 |w|^2 for a catch, else 0. The paper writes theta; the scaled w is what was used."""
    return successes * (1.0 - COST * WEIGHT_SCALE**2 * (thetas**2).sum(axis=1))
