"""No curriculum: practise on the target."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.types import Problem, State


@dataclass(frozen=True)
class Target:
    """Contexts from the target distribution, truncated to the context box."""

    def start(self, problem: Problem) -> "TargetTeacher":
        return TargetTeacher(problem)


class TargetTeacher:
    """Draws from the target, whatever happens."""

    def __init__(self, problem: Problem) -> None:
        self._target, self._box = problem.target, problem.task.context_space

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        return self._target.sample(n, rng, self._box)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Nothing to learn: the target does not move."""

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        """Nothing to restore."""
