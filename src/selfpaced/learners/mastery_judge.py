"""How far rollouts on the current contexts are mastered, by successes or by rewards alone."""

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.types import Samples

BEST = 0.9  # the quantile of the buffered rewards that counts as the best that can be done
FADED = 0.3  # the gain that counts as 1 is at least this share of the largest gain so far


class MasteryJudge:
    """Says what share of the newest batch is mastered.

    With a reward threshold, or successes of the task, that is the success rate. Otherwise it is
    how far the mean reward has come from that of the initial policy to the best tenth of the
    buffer: 0 at first, near 1 when most rollouts are as good as the best. If the best rewards have
    fallen by most of the largest gain so far, a share of that gain is the scale instead. For this,
    rewards must mean the same in every context, and their noise must be below a third of what can
    be gained.
    """

    def __init__(self, reward_threshold: float | None) -> None:
        self._threshold = reward_threshold
        self.first = np.nan  # mean reward of the first full buffer
        self.usual = np.nan  # its median, which rare crashes do not change
        self.largest = 0.0  # largest gain of the best tenth over `first` so far

    def mastered(self, newest: Samples, buffered: Array) -> float:
        """The share, from 0 to 1, for the `newest` batch; `buffered` (n,) are all rewards kept."""
        if np.isnan(self.first):
            self.first, self.usual = float(buffered.mean()), float(np.median(buffered))
        gain = float(np.quantile(buffered, BEST)) - self.first
        self.largest = max(self.largest, gain)
        if self._threshold is not None:
            return float((newest.rewards >= self._threshold).mean())
        if not np.isnan(newest.successes).all():
            return float(np.nanmean(newest.successes))
        scale = max(gain, FADED * self.largest)
        if scale <= 0.0:
            return 0.0
        return float(np.clip((newest.rewards.mean() - self.first) / scale, 0.0, 1.0))
