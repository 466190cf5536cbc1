"""Schedules of alpha, which weighs the KL of the contexts to the target against the reward (Eq. 2).

With the update k = 1, 2, ..., the mean reward R_k over the buffer and the KL to the target KL_k:

    FractionOfReward    alpha_k = zeta |R_k| / KL_k                    Algorithm 1 and Sec. 3.3
    FractionOfGain      alpha_k = zeta max(0, R_k - R_1) / KL_k        ours

for k > K_alpha, and alpha_k = 0 before, so that the contexts follow the reward alone at first.
Neither exceeds alpha_max. Algorithm 1 prints neither alpha_max nor the absolute value; the authors'
program has both. As in that program, KL_k is not KL(q || mu) in closed form but its estimate from
the buffer, the mean of log q(c) - log mu(c). The estimate can be 0 or less: then alpha_k is
alpha_max or, if that is infinite, the KL counts as `NO_KL`.

Users can write a schedule of their own: an object with `alpha(progress)`.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from selfpaced.maths.arrays import check_at_least, check_positive

NO_KL = 1e-6  # nats: replaces an estimated KL of 0 or less where alpha_max is infinite


class Progress(NamedTuple):
    """What a schedule may base alpha on."""

    iteration: int
    """k of Algorithm 1: the number of the update, from 1."""
    mean_reward: float
    """R_k: the mean reward over the buffer, as learners see it (with `Problem.reward_shift`)."""
    first_reward: float
    """R_1: the mean reward over the first full buffer, which the initial policy has earned."""
    kl: float
    """KL_k, in nats: the mean of log q(c) - log mu(c) over the buffer. It can be 0 or less."""
    exact_kl: float
    """KL(q || mu), in nats, in closed form; `studies/open_points.py` compares it with `kl`."""


class Schedule(Protocol):
    """Chooses alpha for every update, as `FractionOfReward` does."""

    def alpha(self, progress: Progress) -> float:
        """alpha of this update, 0 or more; at 0 the contexts follow the reward alone."""
        ...


def checked_alpha(schedule: Schedule, progress: Progress) -> float:
    """alpha of `schedule` at `progress`; raise a ValueError unless it is finite and at least 0."""
    alpha = schedule.alpha(progress)
    if not (np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"schedule must give a finite alpha of at least 0; got {alpha}")
    return alpha


@dataclass(frozen=True, kw_only=True)
class FractionOfReward:
    """The paper's schedule: alpha times the KL to the target makes up a share of the mean reward.

    alpha_k = zeta |R_k| / KL_k for k > K_alpha, else 0, and at most alpha_max (Algorithm 1).
    """

    zeta: float
    """Share of the mean reward, above 0. The paper's lie between 0.002 and 3 (Table 1)."""
    k_alpha: int
    """K_alpha: updates before alpha leaves 0, so that the policy can learn easy contexts first."""
    alpha_max: float = np.inf
    """Largest alpha, above 0. Without a limit alpha grows as the contexts reach the target."""

    def __post_init__(self) -> None:
        _check(self.zeta, self.k_alpha, self.alpha_max)

    def alpha(self, progress: Progress) -> float:
        """zeta |R_k| / KL_k, or 0 up to update `k_alpha`."""
        if progress.iteration <= self.k_alpha:
            return 0.0
        return _fraction(self.zeta, abs(progress.mean_reward), progress.kl, self.alpha_max)


@dataclass(frozen=True, kw_only=True)
class FractionOfGain:
    """A schedule for tasks that nobody has tuned: a share of the gain over the initial policy.

    alpha_k = zeta max(0, R_k - R_1) / KL_k for k > K_alpha, else 0, and at most alpha_max. Adding
    a constant to all rewards changes nothing, so negative rewards work as well as positive ones.
    """

    zeta: float = 1.0
    """Share of the gain in mean reward, above 0."""
    k_alpha: int = 20
    """K_alpha: updates before alpha leaves 0, so that the policy can learn easy contexts first."""
    alpha_max: float = np.inf
    """Largest alpha, above 0. Without a limit alpha grows as the contexts reach the target."""

    def __post_init__(self) -> None:
        _check(self.zeta, self.k_alpha, self.alpha_max)

    def alpha(self, progress: Progress) -> float:
        """zeta max(0, R_k - R_1) / KL_k, or 0 up to update `k_alpha`."""
        if progress.iteration <= self.k_alpha:
            return 0.0
        gain = max(progress.mean_reward - progress.first_reward, 0.0)
        return _fraction(self.zeta, gain, progress.kl, self.alpha_max)


def _check(zeta: float, k_alpha: int, alpha_max: float) -> None:
    check_positive("zeta", zeta)
    check_at_least("k_alpha", k_alpha, 0)
    if not alpha_max > 0:
        raise ValueError(f"alpha_max must be above 0; got {alpha_max}")


def _fraction(zeta: float, reward: float, kl: float, alpha_max: float) -> float:
    """zeta reward / KL, at most alpha_max; also for an estimated KL of 0 or less."""
    if kl <= 0.0 and np.isfinite(alpha_max):
        return alpha_max
    return min(zeta * reward / (kl if kl > 0.0 else NO_KL), alpha_max)
