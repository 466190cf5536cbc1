"""How far rollouts on the current contexts are mastered, by successes or by rewards alone."""

import warnings

import numpy as np

from selfpaced.maths.arrays import Array, mean_of_known
from selfpaced.types import Samples, State

BEST = 0.9  # the quantile of the buffered rewards that counts as the best that can be done
FADED = 0.3  # the gain that counts as 1 is at least this share of the largest gain so far
PAIRS = 50  # repeated rollouts that tell how noisy rewards are
HIGHER = 1.25  # factor from the variance of noise seen in PAIRS to one that is seldom exceeded
CERTAIN = 2.0  # standard errors by which noise may have flattered a mean reward
MOSTLY_NOISE = 0.5  # share of the rewards' variance from which on the user is warned


class MasteryJudge:
    """Says what share of the newest batch is mastered.

    With a reward threshold, or successes of the task, that is the success rate. Otherwise it is
    how far the mean reward has come from that of the initial policy to the best tenth of the
    buffer: 0 at first, near 1 when most rollouts are as good as the best. If the best rewards have
    fallen by most of the largest gain so far, a share of that gain is the scale instead. For this,
    rewards must mean the same in every context.

    Noise makes the best tenth look better than anything that can be done. So the first batches
    after it is known that successes are missing hold every rollout twice (`wants_repeats`). Half
    of the mean squared difference of their rewards is the variance of the noise, of which HIGHER
    times as much counts, since too little would keep contexts waiting for ever. With the variance
    S^2 of the buffered rewards and their mean m, the best tenth q counts as

        m + sqrt(1 - noise / S^2) (q - m),

    which is right for Gaussian rewards, and the newest mean counts as CERTAIN standard errors of
    the noise less than it is. Without noise neither changes anything.
    """

    def __init__(self, reward_threshold: float | None) -> None:
        self._threshold = reward_threshold
        self.first = np.nan  # mean reward of the first full buffer
        self.usual = np.nan  # its median, which rare crashes do not change
        self._largest = 0.0  # largest gain of the best tenth over `first` so far
        self._pairs = 0.0  # repeated rollouts so far
        self._squares = 0.0  # sum of the squared differences of their rewards
        self._blind = False  # True once a batch without successes was seen

    @property
    def by_rewards(self) -> bool:
        """True if neither a threshold nor successes of the newest batch say what is mastered."""
        return self._threshold is None and self._blind

    @property
    def wants_repeats(self) -> bool:
        """True while the second half of the next batch should repeat the first half."""
        return self.by_rewards and self._pairs < PAIRS

    def look(self, batch: Samples) -> None:
        """Notice whether `batch` has successes, and how much its repeated rollouts differ."""
        if self.wants_repeats:
            half = len(batch) // 2
            one, other = slice(0, half), slice(half, 2 * half)
            same = (batch.contexts[one] == batch.contexts[other]).all(axis=1)
            same &= (batch.thetas[one] == batch.thetas[other]).all(axis=1)
            differences = (batch.rewards[one] - batch.rewards[other])[same]
            self._pairs += len(differences)
            self._squares += float((differences**2).sum())
        self._blind = bool(np.isnan(batch.successes).all())

    def mastered(self, newest: Samples, buffered: Array) -> float:
        """The share, from 0 to 1, for the `newest` batch; `buffered` (n,) are all rewards kept."""
        if np.isnan(self.first):
            self.first, self.usual = float(buffered.mean()), float(np.median(buffered))
            self._warn_of_noise(buffered)
        noise = HIGHER * self._squares / (2 * self._pairs) if self._pairs else 0.0
        gain = _best(buffered, noise) - self.first
        self._largest = max(self._largest, gain)
        if self._threshold is not None:
            return float((newest.rewards >= self._threshold).mean())
        rate = mean_of_known(newest.successes)
        if not np.isnan(rate):
            return rate
        scale = max(gain, FADED * self._largest)
        if scale <= 0.0:
            return 0.0
        sure = newest.rewards.mean() - CERTAIN * np.sqrt(noise / len(newest))
        return float(np.clip((sure - self.first) / scale, 0.0, 1.0))

    def _warn_of_noise(self, rewards: Array) -> None:
        """Warn, before most rollouts are spent, if there is little to judge mastery by."""
        noise, variance = self._squares / (2 * max(self._pairs, 1.0)), float(rewards.var())
        if noise > MOSTLY_NOISE * variance:
            warnings.warn(
                f"equal rollouts earn different rewards: {min(1.0, noise / variance):.0%} of the "
                "rewards' variance is noise. The task reports no successes, so that contexts move "
                "by rewards alone, which may fail here. Let the task report successes, or give "
                "SPRL(pacing=Mastery(reward_threshold=...)).",
                stacklevel=2,
            )

    def state(self) -> State:
        """The state as plain arrays."""
        numbers = [self.first, self.usual, self._largest, self._pairs, self._squares, self._blind]
        return {"judge": np.array(numbers, dtype=float)}

    def restore(self, state: State) -> None:
        """Continue from a `state`; older ones know nothing of noise."""
        known = state["judge"].tolist()
        self.first, self.usual, self._largest = known[:3]
        self._pairs, self._squares, self._blind = known[3:] or (0.0, 0.0, False)
        self._blind = bool(self._blind)


def _best(rewards: Array, noise: float) -> float:
    """The best tenth of `rewards` (n,), less what `noise`, a variance, adds to it."""
    best = _quantile(rewards, BEST)
    if noise == 0.0:
        return best
    mean = float(rewards.mean())
    share = max(0.0, 1.0 - noise / float(rewards.var())) if np.ptp(rewards) > 0.0 else 0.0
    return mean + float(np.sqrt(share)) * (best - mean)


def _quantile(values: Array, share: float) -> float:
    """np.quantile of `values` (n,), which spends thirty times as long on its many options."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    ordered = np.partition(values, (below, above))
    low, high = float(ordered[below]), float(ordered[above])
    return low + (place - below) * (high - low)
