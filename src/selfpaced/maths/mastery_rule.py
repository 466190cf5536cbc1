"""The mastery rule: contexts move towards the target whenever the current ones are mastered.

The rule sees the share m of rollouts that succeed on the current contexts q, and Gaussians; it
knows nothing of policies. So SPRL and the deep-RL teacher share it. With the target mu, the last
mastered contexts q* and the thresholds of `MasteryRule`:

    m >= mastered_from                 "on":      q* <- q, then a step from q towards mu
    nothing mastered so far            "search":  the learner looks for contexts that it can master
    m < lost_below                     "back":    a step from q towards q*, never farther
    otherwise                          "stay":    q stays

A step from q towards an aim p goes along the normalised geometric mean of both,

    q_t(c)  proportional to  q(c)^(1 - t) p(c)^t,
    with the largest t in [0, 1] such that KL(q_t || q) <= step.

At first the aim is the target with standard deviations of at least `least_deviation`, so that
neighbouring contexts keep helping each other. Once the contexts are there, it is the target itself.

A mover with a width_factor above 1 also changes how wide contexts are on their way. Contexts wider
than the policy can serve are never mastered, and would stay for ever, because only a step on
narrows them. So the smallest deviation w, `least_deviation` at first, follows what is mastered:

    "on":      w <- min(least_deviation, width_factor w)
    "stay":    w <- max(NARROWEST, w / width_factor), and deviations of the contexts above those of
               the aim shrink towards them, by width_factor at most

With `retreats`, "back" goes to contexts that were mastered before q*, too, farther every time, and
from the first of them back to the search (`maths/trail.py`).

For targets that are not Gaussian the same decisions move particles: `maths/particle_rule.py`.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from selfpaced.maths.arrays import (
    Array,
    check_kind,
    check_number,
    check_positive,
    check_share,
    inverse,
    solve_lower,
)
from selfpaced.maths.bisection import largest_root
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, with_variance_floor
from selfpaced.maths.trail import Trail

Move = Literal["search", "on", "stay", "back"]
MOVES: tuple[Move, ...] = ("search", "on", "stay", "back")  # records store the index
Start = Literal["initial", "here", "target"]  # contexts from which a search begins anew
NARROWEST = 0.002  # smallest deviation that contexts narrow to, as a share of the box's width
HALVINGS = 40  # halvings of [0, 1] by which bisection finds the length t of a step


@dataclass(frozen=True, kw_only=True)
class MasteryRule:
    """Thresholds and step size of the mastery rule. The defaults serve every task of the library.

    >>> from selfpaced import SPRL, Mastery, MasteryRule
    >>> cautious = SPRL(pacing=Mastery(rule=MasteryRule(mastered_from=0.9, step=0.05)))
    """

    mastered_from: float = 0.7
    """Success rate, from 0 to 1, from which the current contexts count as mastered.

    At 0 the contexts move on after every update, even if no rollout succeeds.
    """
    lost_below: float = 0.35
    """Success rate below which mastered contexts count as lost again; 0 never steps back."""
    step: float = 0.1
    """KL(new || old), in nats, of one move of the contexts. Smaller is slower and safer."""
    least_deviation: float = 0.05
    """Smallest standard deviation of contexts before they arrive, as a share of the box's width."""
    search: bool = True
    """First search for contexts that can be mastered.

    If False, the initial contexts must be easy enough to be mastered as they are.
    """
    retreats: bool = False
    """Contexts whose success is lost go back as far as needed, in the end to the initial ones.

    If False, they go back to the last mastered contexts and no farther. A learner that has
    mastered the target and then forgets everything needs more than that.
    """

    def __post_init__(self) -> None:
        check_positive("step", self.step)
        check_share("least_deviation", self.least_deviation, "the width of the box")
        check_kind("search", self.search, bool)
        check_kind("retreats", self.retreats, bool)
        check_number("mastered_from", self.mastered_from)
        check_number("lost_below", self.lost_below)
        if not 0.0 <= self.lost_below <= self.mastered_from <= 1.0:
            raise ValueError(
                f"lost_below and mastered_from must be success rates with "
                f"0 <= lost_below <= mastered_from <= 1; "
                f"got {self.lost_below} and {self.mastered_from}"
            )


def decided(rule: MasteryRule, mastered: float, *, anything_mastered: bool) -> Move:
    """The move that a share `mastered` of successes asks for; see the module's docstring."""
    if mastered >= rule.mastered_from:
        return "on"
    if not anything_mastered:
        return "search" if rule.search else "stay"
    return "back" if mastered < rule.lost_below else "stay"


class ContextMover:
    """Moves a Gaussian over contexts to the target, as the mastery rule says.

    With a `width_factor` of 1 contexts keep their width; see the module's docstring.
    """

    def __init__(
        self,
        rule: MasteryRule,
        box: Box,
        target: Gaussian,
        start: Gaussian,
        *,
        width_factor: float = 1.0,
    ) -> None:
        self._rule, self._target, self._width_factor = rule, target, width_factor
        self._box_width, self._width = box.width, np.nan
        self._set_width(rule.least_deviation)
        self.contexts = self._start = start
        self._measured = target, 0.0  # the contexts whose KL to the target is known, and the KL
        self._mastered: Gaussian | None = None  # q*: the last contexts that were mastered
        self._trail = Trail()  # all contexts that were mastered, if the rule retreats
        self._arrived = False  # True once at the wide target; then the aim is the target itself

    def __repr__(self) -> str:
        return f"ContextMover(mean {self.contexts.mean.tolist()}, arrived {self._arrived})"

    @property
    def kl_to_target(self) -> float:
        """KL of the contexts to the target, in nats."""
        if self._measured[0] is not self.contexts:
            self._measured = self.contexts, self.contexts.kl(self._target)
        return self._measured[1]

    def far(self, until_kl: float) -> bool:
        """True while the KL of the contexts to the target is at least `until_kl` nats."""
        return self.kl_to_target >= until_kl

    def decide(self, mastered: float) -> Move:
        """The move that a share `mastered` of successes on the current contexts asks for."""
        return decided(self._rule, mastered, anything_mastered=self._mastered is not None)

    def move(self, move: Move) -> None:
        """Carry out "on", "stay" or "back". Learners search themselves: see `follow_search`."""
        if self._width_factor != 1.0:
            self._follow_mastery(move)
        if move == "on":
            self._mastered = self.contexts
            if self._rule.retreats:
                self._trail.add(self.contexts.mean, self.contexts.covariance)
            self._arrived = self._arrived or self._wide_target.kl(self.contexts) <= self._rule.step
            aim = self._target if self._arrived else self._wide_target
            self.contexts = step_towards(self.contexts, aim, self._rule.step)
        elif move == "back" and self._rule.retreats:
            self._retreat()
        elif move == "back" and self._mastered is not None:
            self.contexts = step_towards(self.contexts, self._mastered, self._rule.step)

    def _follow_mastery(self, move: Move) -> None:
        """Change the smallest deviation, and narrow contexts that stay."""
        if move == "on":
            self._set_width(min(self._rule.least_deviation, self._width_factor * self._width))
        elif move == "stay":
            narrowest = min(NARROWEST, self._rule.least_deviation)
            self._set_width(max(narrowest, self._width / self._width_factor))
            aim = self._target if self._arrived else self._wide_target
            wanted = np.sqrt(np.diag(aim.covariance) / np.diag(self.contexts.covariance))
            scale = np.clip(wanted, 1.0 / self._width_factor, 1.0)
            narrower = self.contexts.covariance * np.outer(scale, scale)
            self.contexts = Gaussian(self.contexts.mean, narrower)

    def _set_width(self, width: float) -> None:
        """Contexts on their way have at least this deviation, as a share of the box's width."""
        if width == self._width:
            return
        self._width = width
        self._wide_target = with_variance_floor(self._target, (width * self._box_width) ** 2)

    def _retreat(self) -> None:
        """Go to contexts that were mastered before; from the first of them, begin anew."""
        entry = self._trail.back()
        self._arrived = False
        if entry is None:
            self.contexts, self._mastered = self._start, None
        else:
            self.contexts = self._mastered = Gaussian(*entry)

    def begin_anew(self, where: Start) -> None:
        """Search again, from contexts no narrower than the least deviation."""
        self._set_width(self._rule.least_deviation)
        least = (self._rule.least_deviation * self._box_width) ** 2
        starts = {"initial": self._start, "target": self._target, "here": self.contexts}
        self.contexts = with_variance_floor(starts[where], least)
        self._mastered, self._arrived = None, False
        self._trail = Trail()

    def follow_search(self, found: Gaussian) -> None:
        """Step towards contexts that a search has `found`, widened to the least deviation."""
        least = self._rule.least_deviation * self._box_width
        aim = with_variance_floor(found, least**2)
        self.contexts = step_towards(self.contexts, aim, self._rule.step)

    def state(self) -> dict[str, Array]:
        """The state as plain arrays."""
        state = {
            "mean": self.contexts.mean,
            "covariance": self.contexts.covariance,
            "arrived": np.array(float(self._arrived)),
        }
        if self._width_factor != 1.0:
            state["width"] = np.array(self._width)
        if self._mastered is not None:
            state["mastered_mean"] = self._mastered.mean
            state["mastered_covariance"] = self._mastered.covariance
        return state | self._trail.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from a `state`."""
        self.contexts = Gaussian(state["mean"], state["covariance"])
        self._arrived = bool(state["arrived"])
        if self._width_factor != 1.0:
            self._set_width(float(state["width"]))
        self._mastered = None
        if "mastered_mean" in state:
            self._mastered = Gaussian(state["mastered_mean"], state["mastered_covariance"])
        self._trail.restore(state)


def blend(one: Gaussian, other: Gaussian, share: float) -> Gaussian:
    """The Gaussian proportional to one^(1 - share) other^share: precisions add up."""
    P, Q = (1 - share) * _inverse(one.covariance), share * _inverse(other.covariance)
    covariance = _inverse(P + Q)
    return Gaussian(covariance @ (P @ one.mean + Q @ other.mean), covariance)


def step_towards(old: Gaussian, aim: Gaussian, epsilon: float) -> Gaussian:
    """The blend of `old` and `aim` nearest to `aim` with KL(new || old) <= epsilon.

    It is `aim` itself if that is near enough.
    """
    if aim.kl(old) <= epsilon:
        return aim
    # In the coordinates in which `old` has the identity as its covariance and that of `aim` is
    # diagonal, the KL of a blend is a sum over dimensions.
    axes, deviations, _ = np.linalg.svd(solve_lower(old.chol, aim.chol))
    precisions = (deviations**-2).tolist()
    apart = (axes.T @ solve_lower(old.chol, aim.mean - old.mean)).tolist()

    def room(share: float) -> float:
        twice_kl = 0.0
        for precision, distance in zip(precisions, apart, strict=True):
            variance = 1.0 / (1.0 + share * (precision - 1.0))
            shift = share * precision * variance * distance
            twice_kl += variance - 1.0 - math.log(variance) + shift * shift
        return epsilon - 0.5 * twice_kl

    return blend(old, aim, largest_root(room, HALVINGS))  # the KL grows with the share


def _inverse(matrix: Array) -> Array:
    """The inverse of a symmetric matrix, symmetric."""
    found = inverse(matrix)
    return (found + found.T) / 2
