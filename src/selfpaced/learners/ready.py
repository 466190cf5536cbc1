"""SPRL without a schedule: contexts move on when the learner is ready."""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.maths.arrays import Array, check_positive
from selfpaced.maths.readiness import Readiness
from selfpaced.types import Samples

BEST = 0.9  # the quantile of the rewards that counts as what can be done
FADED = 0.3  # share of the largest gain so far below which nothing can be said to be mastered


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The rule in place of alpha and its schedule. Each part can be switched off.

    Contexts move by `pace`. The policy learns by C-REPS on them, as the paper's weights do.
    """

    pace: Readiness = field(default_factory=Readiness)
    hold_entropy: bool = True  # of the policy, while contexts move on, until
    until_kl: float = 1.0  # the contexts are as near to the target as this
    corrected: bool = True  # covariances, for weighing few samples
    temperature_floor: float = 0.2  # of eta, in deviations of the rewards: rare failures count
    reward_bound: float | None = None  # a reward from which on a rollout counts as a success

    def __post_init__(self) -> None:
        check_positive("until_kl", self.until_kl)
        if not 0.0 <= self.temperature_floor < np.inf:
            raise ValueError(
                f"temperature_floor must be finite and at least 0; got {self.temperature_floor}"
            )


class Ability:
    """What share of the newest batch succeeds; for tasks that do not say so, by its rewards.

    Then it is how far the mean reward has come from that of the initial policy to the best tenth
    of the buffer: 0 at first, near 1 when most rollouts are as good as the best. Where the best has
    lost most of what was once gained, it is measured by a share of that instead.
    """

    def __init__(self, reward_bound: float | None) -> None:
        self._bound = reward_bound
        self.first = np.nan  # mean reward of the first buffer
        self.largest = 0.0  # gain of the best tenth over it, so far

    def of(self, newest: Samples, buffered: Array) -> float:
        """A share from 0 to 1. `buffered` (n,) are the rewards of the buffer."""
        if np.isnan(self.first):
            self.first = float(buffered.mean())
        gain = float(np.quantile(buffered, BEST)) - self.first
        self.largest = max(self.largest, gain)
        if self._bound is not None:
            return float((newest.rewards >= self._bound).mean())
        if not np.isnan(newest.successes).any():
            return float(newest.successes.mean())
        scale = max(gain, FADED * self.largest)
        if scale <= 0.0:
            return 0.0
        return float(np.clip((newest.rewards.mean() - self.first) / scale, 0.0, 1.0))


def widened(weights: Array, parameters: int) -> float:
    """What corrects a covariance fitted to few weighted samples: 1 / (1 - k sum w^2), at most 5.

    k is the number of `parameters` of each dimension's mean, which were fitted to them as well.
    """
    return 1.0 / max(1.0 - parameters * float(weights @ weights), 0.2)
