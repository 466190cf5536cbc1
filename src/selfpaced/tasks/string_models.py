"""How the string of Ball-in-a-Cup is modelled: one model, or one drawn for every rollout.

`studies/ball_convergence.py` compares models; docs/reproduction.md has its table.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, IntArray, check_at_least, check_kind, check_number

FREQUENCY = 500.0  # control steps per second; each has a set point and a check for contacts
STRING_LINKS, HINGE_DAMPING = 29, 1e-4  # of the authors' string; damping in N m s/rad


@dataclass(frozen=True, repr=False)
class Fidelity:
    """How finely the string and the time are divided. Its repr is part of stored specs."""

    links: int
    """Number of stiff links of the string."""
    margin: float
    """Distance in metres at which contacts of the string begin, so that it cannot skip a wall."""
    substeps: int
    """Steps of the physics per control step."""
    damping: float = HINGE_DAMPING
    """Damping of every hinge of the string, in N m s/rad."""

    def __repr__(self) -> str:
        """As generated, but without the damping if it is the default: older specs have none."""
        names = ["links", "margin", "substeps"]
        names += ["damping"] * (self.damping != HINGE_DAMPING)
        return f"Fidelity({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def timestep(self) -> float:
        """Seconds per step of the physics."""
        return 1.0 / (FREQUENCY * self.substeps)

    def __post_init__(self) -> None:
        check_at_least("links", self.links, 2)
        check_at_least("substeps", self.substeps, 1)
        for name in ("margin", "damping"):
            if not check_number(name, getattr(self, name)) >= 0.0:
                raise ValueError(f"{name} must be at least 0; got {getattr(self, name)}")


def equal_bending(links: int) -> float:
    """Damping per hinge with which a string of `links` links bends like the authors' string.

    The torque in a hinge is its damping times the rate at which it bends. For the same curve of
    the string, a hinge bends less the more of them there are, so its damping must grow with them.
    """
    return HINGE_DAMPING * links / STRING_LINKS


class DrawnStrings(NamedTuple):
    """The strings of n rollouts, each in one of several models."""

    model: IntArray
    """(n,): which of the models."""
    damping: Array
    """(n,): damping of the string's hinges, in N m s/rad."""
    length: Array
    """(n,): length of the string, as a factor of the nominal one."""

    def of_rows(self, rows: IntArray) -> "DrawnStrings":
        """The strings of these `rows` (k,)."""
        return DrawnStrings(self.model[rows], self.damping[rows], self.length[rows])


@dataclass(frozen=True, repr=False)
class AnyString:
    """A string whose model, damping and length are drawn anew for every rollout.

    No refinement of one model tells which string is right: catches exist that need ten links, or
    one value of the damping, or a long time step, and they are what learning in one model may find.
    A catch that is learned with several of them depends less on one. Its repr is part of stored
    specs.

    >>> from selfpaced.tasks.ball_in_a_cup import BallInACup
    >>> from selfpaced.tasks.string_models import AnyString
    >>> strings = AnyString(links=(10, 20), damping=(0.5, 2.0), margin=0.0015, substeps=(2, 4))
    >>> [(model.links, model.timestep) for model in strings.models()]
    [(10, 0.001), (20, 0.0005)]
    >>> task = BallInACup(strings)
    """

    links: tuple[int, ...]
    """Numbers of links, which are drawn with equal probability."""
    damping: tuple[float, float]
    """Range of the hinges' damping, as factors of `equal_bending`; its logarithm is uniform."""
    margin: float
    """As of `Fidelity`."""
    substeps: int | tuple[int, ...]
    """As of `Fidelity`: one number for all of `links`, or one for each of them."""
    lengths: float | tuple[float, ...] = 1.0
    """Mean length of the string, as a factor of the nominal one: for all of `links`, or for each.

    Strings of more or fewer links of the same length do not swing the ball to the same place.
    """
    length_spread: float = 0.0
    """Largest difference of a string's length from the mean, as a share of it; it is uniform."""

    def __repr__(self) -> str:
        """As generated, but without lengths that are the defaults: older specs have none."""
        names = ["links", "damping", "margin", "substeps"]
        names += ["lengths"] * (self.lengths != 1.0)
        names += ["length_spread"] * (self.length_spread != 0.0)
        return f"AnyString({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __post_init__(self) -> None:
        check_kind("links", self.links, tuple)
        check_kind("damping", self.damping, tuple)
        if not self.links:
            raise ValueError("links must name at least one number of links; got ()")
        factors = [check_number("damping", factor) for factor in self.damping]
        if len(factors) != 2 or not 0.0 < factors[0] <= factors[1]:
            raise ValueError(
                f"damping must be two factors above 0, low before high; got {self.damping}"
            )
        for name, each in (("substeps", self.substeps), ("lengths", self.lengths)):
            if isinstance(each, tuple) and len(each) != len(self.links):
                raise ValueError(
                    f"{name} must be one number, or one for each of the {len(self.links)} numbers "
                    f"of links; got {each}"
                )
        for length in self.lengths if isinstance(self.lengths, tuple) else (self.lengths,):
            if not check_number("lengths", length) > 0.0:
                raise ValueError(f"lengths must be above 0; got {self.lengths}")
        if not 0.0 <= check_number("length_spread", self.length_spread) < 1.0:
            raise ValueError(
                f"length_spread must be a share from 0 to below 1; got {self.length_spread}"
            )
        self.models()  # checks the rest

    def models(self) -> list[Fidelity]:
        """One model per number of links, with the damping of `equal_bending`."""
        each = self.substeps
        if not isinstance(each, tuple):
            each = (each,) * len(self.links)
        return [
            Fidelity(links, self.margin, substeps, equal_bending(links))
            for links, substeps in zip(self.links, each, strict=True)
        ]

    def draw(self, n: int, rng: np.random.Generator) -> DrawnStrings:
        """The strings of n rollouts.

        All draws of a rollout come before those of the next one, so that the first rollouts of a
        batch do not depend on its size.
        """
        # Older runs, whose lengths do not differ, made no third draw.
        draws = rng.random((n, 2 if self.length_spread == 0.0 else 3))
        model = (draws[:, 0] * len(self.links)).astype(np.int64)
        low, high = self.damping
        factor = low * (high / low) ** draws[:, 1]
        damping = np.array([equal_bending(links) for links in self.links])[model] * factor
        length = np.broadcast_to(self.lengths, len(self.links))[model]
        if self.length_spread != 0.0:
            length = length * (1.0 + self.length_spread * (2.0 * draws[:, 2] - 1.0))
        return DrawnStrings(model, damping, length)


ANY_STRING = AnyString(
    links=(10, 20),
    damping=(0.7, 1.4),
    margin=0.0015,
    substeps=(4, 2),
    lengths=(0.985, 1.0),
    length_spread=0.005,
)
"""The model to learn in: ten links at 0.5 ms and twenty at 1 ms, which take equally long.

What is caught with both is caught in the reference more often than what is caught with one, because
they make different errors. Ten links swing the ball like twenty if they are 1.5% shorter. Damping
is from 0.7 to 1.4 times what bends like the authors' string, which nobody has measured, and lengths
differ by 1.5 mm. docs/reproduction.md has the figures.
"""
TEN_LINKS = Fidelity(links=10, margin=0.0015, substeps=2)
"""The cheapest model at 1 ms. Some of the catches that are learned in it exist in no other one."""
REFERENCE = Fidelity(links=20, margin=0.0015, substeps=8, damping=equal_bending(20))
"""A time step of 0.25 ms: what the others are judged by."""
FAST = Fidelity(links=10, margin=0.003, substeps=1)
"""A time step of 2 ms, for tests. Policies learn to exploit its errors."""
