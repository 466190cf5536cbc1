"""Ball-in-a-Cup in worlds that differ from the model by as much as the context says.

A policy that must catch the ball in any world of a `Randomisation` from the start finds little that
succeeds. Here the size of the differences is a dimension of the context, so that a curriculum may
begin near the model and arrive at all of them, with the real cup.
"""

import numpy as np

from selfpaced.maths.arrays import Array, check_kind
from selfpaced.maths.box import Box
from selfpaced.tasks.ball_in_a_cup import CONTROLS, ROBOT, BallInACup
from selfpaced.tasks.randomisation import Randomisation, Worlds
from selfpaced.tasks.string_models import ANY_STRING, AnyString, Fidelity


class BallInAnyWorld(BallInACup):
    """Ball-in-a-Cup in random worlds (install the extra `mujoco`).

    Contexts (n, 2): scale of the cup, and the share of the randomisation's sizes by which worlds
    differ from the model, from 0 to 1. Thetas as of `BallInACup`.

    >>> from selfpaced.tasks.ball_in_any_world import BallInAnyWorld
    >>> BallInAnyWorld().context_space.high.tolist()
    [2.5, 1.0]
    """

    context_space = Box([0.9, 0.0], [2.5, 1.0])
    """Which contexts exist; (1, 1) is the real cup in any world."""
    context_names = ("scale of the cup", "difference of worlds from the model")
    """Names of the context's dimensions, for figures."""

    def __init__(
        self,
        fidelity: Fidelity | AnyString = ANY_STRING,
        randomisation: Randomisation = ROBOT,
    ) -> None:
        check_kind("randomisation", randomisation, Randomisation)
        super().__init__(fidelity, randomisation)
        self._differences = randomisation  # where the share is 1

    def _worlds(self, contexts: Array, rng: np.random.Generator) -> Worlds:
        return self._differences.draw(len(contexts), CONTROLS, rng).nearer(contexts[:, 1])
