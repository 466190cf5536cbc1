"""The same context in every episode: training without randomisation."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import check_vector
from selfpaced.maths.box import Box
from selfpaced.spaces.space import checked_space
from selfpaced.targets.empirical import Empirical
from selfpaced.targets.target import Target
from selfpaced.teachers.target import TargetSampler


@dataclass(frozen=True, kw_only=True)
class FixedTeacher:
    """Every episode has the same context; what randomising a domain is compared with.

    >>> import numpy as np
    >>> from selfpaced import Box, FixedTeacher, Uniform
    >>> space = Box([0.5, 0.5], [1.5, 1.5])
    >>> teacher = FixedTeacher().start(space, Uniform(space))
    >>> teacher.ask(2, np.random.default_rng(0)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    context: tuple[float, ...] | None = None
    """The context; None: the middle of the context space."""

    def __post_init__(self) -> None:
        if self.context is not None:
            given = check_vector("context", self.context)
            object.__setattr__(self, "context", tuple(given.tolist()))

    def start(self, context_space: Box, target: Target) -> TargetSampler:
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        space = checked_space(context_space)
        context = space.centre if self.context is None else np.array(self.context)
        return TargetSampler(space, Empirical(space.check("context", context[None])))
