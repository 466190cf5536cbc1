"""No curriculum: contexts are drawn evenly from the whole context space."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.spaces.space import checked_space
from selfpaced.targets.target import Target
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State


@dataclass(frozen=True)
class UniformTeacher:
    """Draws contexts evenly over the context space (domain randomisation). It never changes.

    >>> import numpy as np
    >>> from selfpaced import Box, Gaussian, UniformTeacher
    >>> teacher = UniformTeacher().start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> teacher
    UniformSampler(contexts from [0.0] to [1.0], always)
    >>> teacher.ask(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    def start(self, context_space: Box, target: Target) -> "UniformSampler":
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        return UniformSampler(checked_space(context_space))


class UniformSampler(StartedTeacher):
    """Draws from the whole box, whatever episodes it is told of."""

    def __init__(self, box: Box) -> None:
        self._box = box

    def __repr__(self) -> str:
        low, high = self._box.low.round(4).tolist(), self._box.high.round(4).tolist()
        return f"UniformSampler(contexts from {low} to {high}, always)"

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d), uniform over the context space."""
        return self._box.uniform(n, rng)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Do nothing: the box does not move."""

    def state(self) -> State:
        """Nothing: later contexts depend on no episode."""
        return {}

    def restore(self, state: State) -> None:
        """Do nothing, but refuse the state of another teacher: this one has none."""
        self._check_state(state, ())
