"""SPRL by mastery with contexts that become narrower while they stay: a way out of a deadlock.

Contexts wider than the policy can serve are never mastered, and the rule narrows contexts only
when it moves on. So some runs wait for ever at half success. Here the width w that the contexts
keep on their way, `least_deviation` at first, follows what is mastered:

    "on":      w <- min(least_deviation, FACTOR w)
    "stay":    w <- max(NARROWEST, w / FACTOR), and deviations of the contexts above those of the
               aim shrink towards them, by FACTOR at most.

From the project's folder, on seeds that the rule loses:

    python -m studies.zoo.table --tasks reacher-kinematic --seeds 905 909 911 --algorithm narrowing
"""

from dataclasses import dataclass

import numpy as np

from selfpaced import SPRL, Mastery, MasteryRule, Problem
from selfpaced.learners.sprl_base import SelfPacedLearner
from selfpaced.learners.sprl_mastery import MasteryLearner
from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, with_variance_floor
from selfpaced.maths.mastery_rule import ContextMover, Move

FACTOR = 1.03  # change of the width with one move
NARROWEST = 0.002  # smallest width, as a share of the box's


class NarrowingMover(ContextMover):
    """A `ContextMover` whose width follows what is mastered."""

    def __init__(self, rule: MasteryRule, box: Box, target: Gaussian, start: Gaussian) -> None:
        super().__init__(rule, box, target, start)
        self._box_width = box.width
        self._width = rule.least_deviation

    def move(self, move: Move) -> None:
        """Carry out "on", "stay" or "back"; see the module's docstring."""
        if move == "on":
            self._set_width(min(self._rule.least_deviation, FACTOR * self._width))
        elif move == "stay":
            self._set_width(max(NARROWEST, self._width / FACTOR))
            aim = self._target if self._arrived else self._wide_target
            wanted = np.sqrt(np.diag(aim.covariance) / np.diag(self.contexts.covariance))
            scale = np.clip(wanted, 1.0 / FACTOR, 1.0)
            narrower = self.contexts.covariance * np.outer(scale, scale)
            self.contexts = Gaussian(self.contexts.mean, narrower)
        super().move(move)

    def _set_width(self, width: float) -> None:
        self._width = width
        self._wide_target = with_variance_floor(self._target, (width * self._box_width) ** 2)

    def state(self) -> dict[str, Array]:
        """The state as plain arrays."""
        return {**super().state(), "width": np.array(self._width)}

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from a `state`."""
        super().restore(state)
        self._set_width(float(state["width"]))


@dataclass(frozen=True, kw_only=True)
class NarrowingSPRL(SPRL):
    """`SPRL()` with a `NarrowingMover`."""

    def learner(self, problem: Problem) -> SelfPacedLearner:
        """The object to `ask` and `tell`."""
        assert isinstance(self.pacing, Mastery)
        learner = MasteryLearner(self, self.pacing, problem)
        box = problem.task.context_space
        learner._mover = NarrowingMover(  # pyright: ignore[reportPrivateUsage]
            self.pacing.rule, box, problem.target, problem.initial_contexts
        )
        return learner
