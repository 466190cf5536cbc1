"""No curriculum: practise on the target."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, checked_target
from selfpaced.types import State


@dataclass(frozen=True)
class Target:
    """Contexts from the target distribution, truncated to the context box."""

    def start(self, context_space: Box, target: Gaussian) -> "TargetTeacher":
        return TargetTeacher(context_space, checked_target(target, context_space))


class TargetTeacher:
    """Draws from the target, whatever happens."""

    def __init__(self, box: Box, target: Gaussian) -> None:
        self._box, self._target = box, target

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        return self._target.sample(n, rng, self._box)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Nothing to learn: the target does not move."""

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        """Nothing to restore."""
