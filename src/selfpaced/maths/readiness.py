"""When contexts move on: a rule that looks at what the learner can do, and at nothing else.

Free of policies and thetas, so that SPRL and the teacher of deep RL share it. While nothing is
mastered yet, whoever learns looks for contexts that can be (`search`). From then on the contexts
go to the target in small steps whenever they are mastered (`on`), stay while they are not (`stay`),
and return towards the last mastered ones if they are lost (`back`), never farther.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from selfpaced.maths.arrays import Array, check_kind, check_number, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, with_variance_floor
from selfpaced.maths.halving import largest_share

Move = Literal["search", "on", "stay", "back"]
MOVES: tuple[Move, ...] = ("search", "on", "stay", "back")
HALVINGS = 40  # of the interval in which a step's length is looked for


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """The numbers of the rule: one set for every task."""

    mastered: float = 0.7  # share of successes at which contexts are mastered; 0 always moves on
    lost: float = 0.35  # and below which they are lost; 0 never steps back
    step: float = 0.1  # KL(new || old) of one move
    least_deviation: float = 0.05  # of contexts on their way, in widths of the box
    search: bool = True  # for contexts that can be mastered; without, those of the start must be

    def __post_init__(self) -> None:
        check_positive("step", self.step)
        if check_positive("least_deviation", self.least_deviation) > 1.0:
            raise ValueError(
                f"least_deviation must be at most 1, a width of the box; got {self.least_deviation}"
            )
        check_kind("search", self.search, bool)
        check_number("mastered", self.mastered)
        check_number("lost", self.lost)
        if not 0.0 <= self.lost <= self.mastered <= 1.0:
            raise ValueError(
                f"lost and mastered must be shares with 0 <= lost <= mastered <= 1; "
                f"got {self.lost} and {self.mastered}"
            )


class Pace:
    """Contexts on their way to the target."""

    def __init__(self, numbers: Readiness, box: Box, target: Gaussian, start: Gaussian) -> None:
        self._numbers, self._target = numbers, target
        self.floor: Array = (numbers.least_deviation * box.width) ** 2  # of variances on the way
        self._wide = with_variance_floor(target, self.floor)
        self.contexts = start
        self._mastered: Gaussian | None = None  # the last contexts that were
        self._arrived = False  # at the target with the deviation of the way

    def decide(self, able: float) -> Move:
        """What a share `able` of successes on the current contexts asks for."""
        if able >= self._numbers.mastered:
            return "on"
        if self._mastered is None:
            return "search" if self._numbers.search else "stay"
        return "back" if able < self._numbers.lost else "stay"

    def go(self, move: Move) -> None:
        """Carry out a move; `search` is not ours, see `found`."""
        if move == "on":
            self._mastered = self.contexts
            # First to where the target is, as wide as on the way, then narrower.
            self._arrived = self._arrived or self._wide.kl(self.contexts) <= self._numbers.step
            aim = self._target if self._arrived else self._wide
            self.contexts = step_towards(self.contexts, aim, self._numbers.step)
        elif move == "back" and self._mastered is not None:
            self.contexts = step_towards(self.contexts, self._mastered, self._numbers.step)

    def found(self, contexts: Gaussian) -> None:
        """The search has led to `contexts`: a step there, to no narrower ones than on the way."""
        aim = with_variance_floor(contexts, self.floor)
        self.contexts = step_towards(self.contexts, aim, self._numbers.step)

    def arrays(self) -> dict[str, Array]:
        """The state as plain arrays."""
        mastered = self._mastered
        found = {
            "mean": self.contexts.mean,
            "covariance": self.contexts.covariance,
            "arrived": np.array(float(self._arrived)),
        }
        if mastered is not None:
            found |= {
                "mastered_mean": mastered.mean,
                "mastered_covariance": mastered.covariance,
            }
        return found

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from `arrays`."""
        self.contexts = Gaussian(arrays["mean"], arrays["covariance"])
        self._arrived = bool(arrays["arrived"])
        self._mastered = None
        if "mastered_mean" in arrays:
            self._mastered = Gaussian(arrays["mastered_mean"], arrays["mastered_covariance"])


def blend(one: Gaussian, other: Gaussian, share: float) -> Gaussian:
    """The normalised geometric mean one^(1 - share) other^share: precisions add up."""
    P, Q = (1 - share) * _inverse(one.covariance), share * _inverse(other.covariance)
    covariance = _inverse(P + Q)
    return Gaussian(covariance @ (P @ one.mean + Q @ other.mean), covariance)


def step_towards(old: Gaussian, aim: Gaussian, epsilon: float) -> Gaussian:
    """The blend of both nearest to `aim` with KL(new || old) <= epsilon; `aim` itself if it has."""
    if aim.kl(old) <= epsilon:
        return aim
    # The KL grows from 0 with the share.
    share = largest_share(lambda t: blend(old, aim, t).kl(old) <= epsilon, HALVINGS)
    return blend(old, aim, share)


def _inverse(matrix: Array) -> Array:
    """The inverse of a symmetric matrix, symmetric."""
    inverse = np.asarray(np.linalg.inv(matrix), dtype=float)
    return (inverse + inverse.T) / 2
