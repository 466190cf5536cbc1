"""No curriculum: contexts are drawn from the target from the beginning."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, checked_target
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

    def start(self, context_space: Box, target: Gaussian) -> "TargetSampler":
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        return TargetSampler(context_space, checked_target(target, context_space))


class TargetSampler(StartedTeacher):
    """Draws from the target, whatever episodes it is told of."""

    def __init__(self, box: Box, target: Gaussian) -> None:
        self._box, self._target = box, target

    def __repr__(self) -> str:
        return f"TargetSampler(contexts around {self._target.mean.round(4).tolist()}, always)"

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d) from the target, truncated to the context space."""
        return self._target.sample(n, rng, self._box)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Do nothing: the target does not move."""

    def state(self) -> State:
        """Nothing: later contexts depend on no episode."""
        return {}

    def restore(self, state: State) -> None:
        """Do nothing, but refuse the state of another teacher: this one has none."""
        self._check_state(state, ())
