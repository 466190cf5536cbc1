"""SPRL without a schedule: contexts move on when the learner is ready."""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.maths.arrays import Array, check_positive
from selfpaced.maths.policy import LinearGaussianPolicy
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
    lost most of what was once gained, it is measured by a share of that instead. It asks for
    rewards that mean the same in every context, and for noise below a third of what can be gained.
    """

    def __init__(self, reward_bound: float | None) -> None:
        self._bound = reward_bound
        self.first = np.nan  # mean reward of the first buffer
        self.usual = np.nan  # its median: what the initial policy earns, whatever crashes cost
        self.largest = 0.0  # gain of the best tenth over it, so far

    def of(self, newest: Samples, buffered: Array) -> float:
        """A share from 0 to 1. `buffered` (n,) are the rewards of the buffer."""
        if np.isnan(self.first):
            self.first, self.usual = float(buffered.mean()), float(np.median(buffered))
        gain = float(np.quantile(buffered, BEST)) - self.first
        self.largest = max(self.largest, gain)
        if self._bound is not None:
            return float((newest.rewards >= self._bound).mean())
        if not np.isnan(newest.successes).all():
            return float(np.nanmean(newest.successes))
        scale = max(gain, FADED * self.largest)
        if scale <= 0.0:
            return 0.0
        return float(np.clip((newest.rewards.mean() - self.first) / scale, 0.0, 1.0))


def corrected(new: LinearGaussianPolicy, weights: Array, before: float) -> LinearGaussianPolicy:
    """`new`, fitted to few weighted samples, with the covariance that its fit has lost.

    A fit with k parameters per dimension underestimates it by 1 - k sum w^2. The correction makes
    up for that, and never for more than the entropy has fallen below what it was `before`:
    repeated, it would otherwise widen without end.
    """
    k, d = new.A.shape[1], new.A.shape[0]
    lost = float(np.exp(2 * (before - new.entropy) / d))
    scale = min(1.0 / max(1.0 - k * float(weights @ weights), 1e-6), lost)
    if scale <= 1.0:
        return new
    return LinearGaussianPolicy(new.features, new.A, scale * new.covariance)


def floor_in_deviations(rewards: Array, usual: float, floor: float) -> float:
    """`floor`, a share of the rewards' deviation, where no reward counts as worse than `usual`.

    A crash that costs a thousand times what can be gained would otherwise be all that the
    temperature looks at. As a share of the deviation of the `rewards` as they are.
    """
    return floor * float(np.maximum(rewards, usual).std() / rewards.std())
