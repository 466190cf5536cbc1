"""When learning by mastery should begin anew, because it has come no nearer to the target for long.

Two kinds of dead ends are noticed. Both are counted in rollouts, of which a batch has at most
COUNTED, since a larger one moves the contexts no farther. N is how many rollouts an update learns
from, or how many it needs (`needed_rollouts`) if its buffer is smaller.

- "stuck": contexts are on their way, but their distance to the target has not fallen to a share
  PROGRESS of what it was within STUCK N rollouts. The policy may have committed to a way that
  closes before the target, and has lost the variance to find another one.
- "fruitless": FRUITLESS N rollouts of search have never had a success rate above SOME. The search
  may have followed rewards to contexts where they are high by nature and nothing succeeds.
"""

from typing import Literal

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.mastery_rule import Move

DeadEnd = Literal["stuck", "fruitless"]
STUCK = 5
PROGRESS = 0.8
FRUITLESS = 15
SOME = 0.05
COUNTED = 50


class DeadEnds:
    """Counts rollouts without progress; `needed` is the number N of the module's docstring."""

    def __init__(self, needed: float) -> None:
        self._needed = needed
        self.forget()

    def forget(self) -> None:
        """Begin to count anew."""
        self._nearest = np.inf  # the distance from which PROGRESS is counted
        self._waited = 0.0  # rollouts since then, or since the search began

    def after(
        self, move: Move, rollouts: int, *, mastered: float, distance: float, far: bool
    ) -> DeadEnd | None:
        """The dead end that learning is in after `rollouts` more of them, if any.

        `mastered` is their success rate, and `distance` from contexts to target grows with its
        square: a KL, or a squared Wasserstein distance. Contexts that are not `far` have arrived.
        """
        rollouts = min(rollouts, COUNTED)
        if move == "search":
            self._waited = -np.inf if mastered > SOME else self._waited + rollouts
            return "fruitless" if self._waited >= FRUITLESS * self._needed else None
        if not far or distance < PROGRESS * self._nearest:
            self._nearest, self._waited = distance, 0.0
            return None
        self._waited += rollouts
        return "stuck" if self._waited >= STUCK * self._needed else None

    def state(self) -> Array:
        """The state as an array."""
        return np.array([self._nearest, self._waited])

    def restore(self, state: Array) -> None:
        """Continue from a `state`."""
        self._nearest, self._waited = (float(value) for value in state)
