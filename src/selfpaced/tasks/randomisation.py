"""Randomisation of Ball-in-a-Cup: how a robot and its world may differ from the model.

A movement that is learned in one exact model may succeed in that model only. With randomisation
every rollout happens in a world of its own, drawn from the ranges of a `Randomisation`, so that a
policy must succeed in spite of what is not known exactly.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import scipy

from selfpaced.maths.arrays import Array, IntArray, check_number

JOINTS = 7  # of the arm


@dataclass(frozen=True, kw_only=True)
class Randomisation:
    """Sizes of the differences between the model and the worlds that rollouts happen in.

    Each quantity is drawn uniformly from its nominal value plus or minus the size, anew for every
    rollout. A size of 0 leaves it as it is.

    >>> from selfpaced.tasks.randomisation import Randomisation
    >>> Randomisation(ball_mass=0.1, delay=0.002).ball_mass
    0.1
    """

    ball_mass: float = 0.0
    """Of the ball's mass, as a share: 0.1 draws from 90% to 110% of it."""
    string_length: float = 0.0
    """Of the string's length, as a share."""
    string_damping: float = 0.0
    """Of the damping of the string's hinges, as a share: how readily the string bends."""
    cup_position: float = 0.0
    """Of the cup's place in the hand along each of three axes, in metres."""
    joint_offset: float = 0.0
    """Error of each joint's calibration, in rad: the arm is so far from where it believes to be."""
    gains: float = 0.0
    """Of both gains of each joint's controller, as a share."""
    delay: float = 0.0
    """Longest delay of the set points, in seconds; drawn from 0 to this."""
    noise: float = 0.0
    """Standard deviation of the noise on every set point of every joint, in rad."""

    def __post_init__(self) -> None:
        for field in fields(self):
            size = check_number(field.name, getattr(self, field.name))
            if size < 0.0:
                raise ValueError(f"{field.name} must be a size of at least 0; got {size}")
        for name in ("ball_mass", "string_length", "string_damping", "gains"):
            if getattr(self, name) >= 1.0:
                raise ValueError(f"{name} must be a share below 1; got {getattr(self, name)}")

    def draw(self, n: int, steps: int, rng: np.random.Generator) -> "Worlds":
        """Worlds for n rollouts of `steps` set points each.

        All draws of a rollout come before those of the next one, so that the first rollouts of a
        batch do not depend on its size.
        """
        columns = {"ball_mass": 1, "string_length": 1, "string_damping": 1, "cup_position": 3}
        columns |= {"joint_offset": JOINTS, "gains": JOINTS, "delay": 1}
        known = sum(columns.values())
        draws = rng.normal(size=(n, known + steps * JOINTS))
        differences = 2.0 * scipy.special.ndtr(draws[:, :known]) - 1.0  # uniform from -1 to 1
        ends = np.cumsum(list(columns.values()))[:-1]
        of = dict(zip(columns, np.split(differences, ends, axis=1), strict=True))
        return Worlds(
            ball_mass=1.0 + self.ball_mass * of["ball_mass"][:, 0],
            string_length=1.0 + self.string_length * of["string_length"][:, 0],
            string_damping=1.0 + self.string_damping * of["string_damping"][:, 0],
            cup_offset=self.cup_position * of["cup_position"],
            joint_offset=self.joint_offset * of["joint_offset"],
            gains=1.0 + self.gains * of["gains"],
            delay=self.delay * (1.0 + of["delay"][:, 0]) / 2.0,
            noise=self.noise * draws[:, known:].reshape(n, steps, JOINTS),
        )


class Worlds(NamedTuple):
    """How the worlds of n rollouts differ from the model."""

    ball_mass: Array
    """(n,): factor of the ball's mass."""
    string_length: Array
    """(n,): factor of the string's length."""
    string_damping: Array
    """(n,): factor of the damping of the string's hinges."""
    cup_offset: Array
    """(n, 3): displacement of the cup in the frame of the palm, in metres."""
    joint_offset: Array
    """(n, 7): where each joint is when it believes to be at 0, in rad."""
    gains: Array
    """(n, 7): factor of both gains of each joint's controller."""
    delay: Array
    """(n,): delay of the set points, in seconds."""
    noise: Array
    """(n, t, 7): noise on every set point, in rad."""

    def nearer(self, share: Array) -> "Worlds":
        """The same worlds, with `share` (n,) of their differences from the model."""
        column = share[:, None]
        return Worlds(
            ball_mass=1.0 + share * (self.ball_mass - 1.0),
            string_length=1.0 + share * (self.string_length - 1.0),
            string_damping=1.0 + share * (self.string_damping - 1.0),
            cup_offset=column * self.cup_offset,
            joint_offset=column * self.joint_offset,
            gains=1.0 + column * (self.gains - 1.0),
            delay=share * self.delay,
            noise=column[..., None] * self.noise,
        )

    def disturbed(
        self, positions: Array, velocities: Array, frequency: float
    ) -> tuple[Array, Array]:
        """The set points (n, t, 7) that controllers act on: late, offset and with noise.

        `frequency` is the number of set points per second. Before the delay is over, the first
        set point holds.
        """
        late = delayed(positions, self.delay * frequency)
        late += self.joint_offset[:, None] + self.noise
        return late, delayed(velocities, self.delay * frequency)


def undisturbed(n: int) -> Worlds:
    """Worlds of n rollouts that do not differ from the model; they hold no set points."""
    one = np.ones(n)
    return Worlds(
        ball_mass=one,
        string_length=one,
        string_damping=one,
        cup_offset=np.zeros((n, 3)),
        joint_offset=np.zeros((n, JOINTS)),
        gains=np.ones((n, JOINTS)),
        delay=np.zeros(n),
        noise=np.zeros((n, 0, JOINTS)),
    )


def delayed(values: Array, steps: Array) -> Array:
    """`values` (n, t, d) of row i, `steps[i]` (n,) steps later; between steps it is linear."""
    n, t = values.shape[:2]
    times = np.maximum(np.arange(float(t)) - steps[:, None], 0.0)  # (n, t)
    before = np.floor(times).astype(np.int64)
    share = (times - before)[..., None]
    rows: IntArray = np.arange(n, dtype=np.int64)[:, None]
    after = np.minimum(before + 1, t - 1)
    return (1.0 - share) * values[rows, before] + share * values[rows, after]
