"""How strongly SPRL is pulled to the target: the schedule of alpha, which users can replace."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from selfpaced.maths.arrays import check_at_least, check_positive

NO_KL = 1e-6  # stands for a sampled KL of 0 or less, where no alpha_max says what alpha is then


class Progress(NamedTuple):
    """What a schedule may look at."""

    iteration: int  # k of Algorithm 1, from 1
    mean_reward: float  # over the buffer
    first_reward: float  # the same over the first full buffer: what the initial policy earns
    kl: float  # sample mean over the buffer of log q(c) - log mu(c), as the authors' program
    exact_kl: float  # KL(q || mu) itself; studies/open_points.py compares both


class Schedule(Protocol):
    """alpha of the next update; 0 leaves the contexts to the reward alone."""

    def alpha(self, progress: Progress) -> float: ...


@dataclass(frozen=True, kw_only=True)
class FractionOfReward:
    """The paper's: alpha KL makes up the fraction zeta of the mean reward.

    alpha_k = zeta |mean reward| / KL for k > K_alpha, else 0 (Algorithm 1), at most alpha_max.
    """

    zeta: float
    k_alpha: int  # updates before alpha leaves zero
    alpha_max: float = np.inf

    def __post_init__(self) -> None:
        _check(self.zeta, self.k_alpha, self.alpha_max)

    def alpha(self, progress: Progress) -> float:
        if progress.iteration <= self.k_alpha:
            return 0.0
        return _fraction(self.zeta, abs(progress.mean_reward), progress.kl, self.alpha_max)


@dataclass(frozen=True, kw_only=True)
class FractionOfGain:
    """For a task nobody has tuned: a fraction of what has been gained over the initial policy.

    As `FractionOfReward`, with the mean reward minus that of the first buffer in its place, so
    that the zero of the reward does not matter, and negative rewards are as good as any.
    """

    zeta: float = 1.0
    k_alpha: int = 20
    alpha_max: float = np.inf

    def __post_init__(self) -> None:
        _check(self.zeta, self.k_alpha, self.alpha_max)

    def alpha(self, progress: Progress) -> float:
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
    """zeta reward / KL, at most alpha_max: also where the contexts are at the target already."""
    if kl <= 0.0 and np.isfinite(alpha_max):
        return alpha_max
    return min(zeta * reward / (kl if kl > 0.0 else NO_KL), alpha_max)
