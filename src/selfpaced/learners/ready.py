"""SPRL without a schedule: contexts move on when the learner is ready."""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.maths.arrays import Array, check_kind, check_number, check_positive, solve_lower
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.readiness import Readiness
from selfpaced.maths.reps import effective_samples
from selfpaced.types import Samples

BEST = 0.9  # the quantile of the rewards that counts as what can be done
FADED = 0.3  # share of the largest gain so far below which nothing can be said to be mastered
NARROWING = 3.0  # nats of entropy that may go for each of evidence, if samples are plenty


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The rule in place of alpha and its schedule. Each part can be switched off.

    Contexts move by `pace`. The policy learns by C-REPS on them, as the paper's weights do.
    """

    pace: Readiness = field(default_factory=Readiness)
    hold_entropy: bool = True  # of the policy, while contexts move on, until
    until_kl: float = 1.0  # the contexts are as near to the target as this
    narrow_by_evidence: bool = True  # the policy: only as far as samples near its mean win
    temperature_floor: float = 0.1  # of eta, in deviations of the rewards: rare failures count
    reward_bound: float | None = None  # a reward from which on a rollout counts as a success

    def __post_init__(self) -> None:
        check_kind("pace", self.pace, Readiness)
        check_positive("until_kl", self.until_kl)
        if self.reward_bound is not None:
            check_number("reward_bound", self.reward_bound)
        for name in ("hold_entropy", "narrow_by_evidence"):
            check_kind(name, getattr(self, name), bool)
        if check_number("temperature_floor", self.temperature_floor) < 0.0:
            raise ValueError(f"temperature_floor must be at least 0; got {self.temperature_floor}")


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


def squared_distances(policy: LinearGaussianPolicy, samples: Samples) -> Array:
    """(n,): of the thetas from the mean of the `policy` that drew them, in its deviations."""
    white = solve_lower(policy.chol, (samples.thetas - policy.mean(samples.contexts)).T)
    return np.asarray((white**2).sum(axis=0))


def evidence_for_narrowing(distances: Array, weights: Array) -> float:
    """Nats per dimension, 0 or less: how much nearer than all samples the weighted ones lie.

    `distances` (n,) are squared, each from the policy that drew the sample: those from the present
    policy would be near where weight was before, for it was fitted to them.
    """
    return min(0.0, 0.5 * float(np.log(weights @ distances / distances.mean())))


def trust_in_evidence(weights: Array, batches: int, dimension: int) -> float:
    """From 0 to 1: few samples say little about many dimensions.

    mu / (mu + d) with the effective samples mu that an update adds to a buffer of `batches`, as in
    the rate at which CMA-ES adapts its step size.
    """
    mu = effective_samples(weights) / batches
    return mu / (mu + dimension)


def floor_in_deviations(rewards: Array, usual: float, floor: float) -> float:
    """`floor`, a share of the rewards' deviation, where no reward counts as worse than `usual`.

    A crash that costs a thousand times what can be gained would otherwise be all that the
    temperature looks at. As a share of the deviation of the `rewards` as they are.
    """
    return floor * float(np.maximum(rewards, usual).std() / rewards.std())
