"""No curriculum: contexts are drawn from the target from the beginning."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.targets.target import Target, checked_place, samples_in
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State


@dataclass(frozen=True)
class TargetTeacher:
    """Draws contexts from the target, truncated to the context space. It never changes.

    >>> import numpy as np
    >>> from selfpaced import Box, Gaussian, TargetTeacher
    >>> teacher = TargetTeacher().start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> teacher
    TargetSampler(contexts around [0.9], always)
    >>> teacher.ask(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    def start(self, context_space: Box, target: Target) -> "TargetSampler":
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        return TargetSampler(*checked_place(context_space, target))


class TargetSampler(StartedTeacher):
    """Draws from the target, whatever episodes it is told of."""

    def __init__(self, box: Box, target: Target) -> None:
        self._box, self._target = box, target

    def __repr__(self) -> str:
        if isinstance(self._target, Gaussian):
            return f"TargetSampler(contexts around {self._target.mean.round(4).tolist()}, always)"
        return f"TargetSampler(contexts from {type(self._target).__name__}, always)"

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d) from the target, truncated to the context space."""
        return samples_in(self._target, n, rng, self._box)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Do nothing: the target does not move."""

    def state(self) -> State:
        """Nothing: later contexts depend on no episode."""
        return {}

    def restore(self, state: State) -> None:
        """Do nothing, but refuse the state of another teacher: this one has none."""
        self._check_state(state, ())
