"""What a task of the zoo has: a function, boxes, a target, and a solution to show that it can be
solved."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfpaced import Box, FunctionTask, Gaussian, LinearGaussianPolicy, Problem
from selfpaced.maths.arrays import Array
from selfpaced.maths.features import linear_features

SPREAD = 2e-4  # deviations of the solution's policy, as a share of the parameters' box
NUDGE = 1e-4  # step of the finite differences, as a share of the contexts' box


@dataclass(frozen=True, kw_only=True)
class ZooTask:
    """A task, with a success flag or without, and a policy that solves its target."""

    name: str
    """Its name in tables."""
    structure: str
    """What makes it different from the others, in a few words."""
    function: Callable[..., tuple[Array, Array]]
    """Maps contexts (n, d_c), thetas (n, d) and a generator to rewards and successes."""
    contexts: Box
    """Which contexts exist."""
    thetas: Box
    """Which parameters may be tried."""
    target: Gaussian
    """Where it shall be solved."""
    solution: Callable[[Array], Array]
    """Maps contexts (n, d_c) near the target to parameters (n, d) that succeed."""
    easy: Gaussian | None = None
    """Easy contexts that its author gives as the initial ones; None: the library's default."""

    def task(self, flag: bool) -> FunctionTask:
        """The task, which reports successes if `flag`."""

        def scored(contexts: Array, thetas: Array, rng: np.random.Generator) -> Any:
            rewards, successes = self.function(contexts, thetas, rng)
            return (rewards, successes) if flag else rewards

        return FunctionTask(scored, self.contexts, self.thetas, noisy=True)

    def problem(self, flag: bool) -> Problem:
        """The problem that a learner gets; without a `flag` it has to learn by rewards alone."""
        return Problem(self.task(flag), self.target, initial_contexts=self.easy)

    def solving_policy(self) -> LinearGaussianPolicy:
        """The `solution` as a linear policy: its value and slopes at the target's mean."""
        mean = self.target.mean
        middle = self.solution(mean[None])[0]
        slopes = np.zeros((len(middle), len(mean)))
        for i, step in enumerate(NUDGE * self.contexts.width):
            nudged = mean + step * (np.arange(len(mean)) == i)
            slopes[:, i] = (self.solution(nudged[None])[0] - middle) / step
        A = np.column_stack([middle - slopes @ mean, slopes])
        covariance = np.diag((SPREAD * self.thetas.width) ** 2)
        return LinearGaussianPolicy(linear_features(len(mean)), A, covariance)
