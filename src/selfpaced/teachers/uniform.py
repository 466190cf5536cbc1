"""No curriculum either: practise everywhere."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.types import State


@dataclass(frozen=True)
class Uniform:
    """Contexts spread evenly over the context box (domain randomisation)."""

    def start(self, context_space: Box, target: Gaussian) -> "UniformTeacher":
        return UniformTeacher(context_space)


class UniformTeacher:
    """Draws from the box, whatever happens."""

    def __init__(self, box: Box) -> None:
        self._box = box

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        return self._box.uniform(n, rng)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Nothing to learn: the box does not move."""

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        """Nothing to restore."""
