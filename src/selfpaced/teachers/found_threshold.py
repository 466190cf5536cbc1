"""A threshold on returns of unknown scale, found from the returns themselves."""

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.types import State

SHARE = 0.5  # of the way from the first returns to the best ones, as 0.5 is between 0 and 1
QUANTILE = 0.9  # of a window's returns: what the learner reaches often, and not once by luck


class FoundThreshold:
    """Half-way between the returns of the first policy and the best ones so far.

    The first are the median of the first window of episodes. The best are the largest 90%
    quantile of any window. So the threshold follows returns of any scale and offset, and single
    outliers do not move it. As the learner improves, it rises. Until a window is better than the
    first one's median, there is no threshold and nothing counts as mastered.

    It is one number for all contexts. If the return that can be reached differs much between
    contexts, give a threshold yourself, or successes.
    """

    def __init__(self) -> None:
        self._first = self._best = np.nan

    def __repr__(self) -> str:
        return f"FoundThreshold({self.value:.4g})"

    def add(self, returns: Array) -> None:
        """Take note of one window of episodes by their `returns` (n,)."""
        if len(returns) == 0:
            return
        if np.isnan(self._first):
            self._first = self._best = float(np.median(returns))
        self._best = max(self._best, float(np.quantile(returns, QUANTILE)))

    @property
    def value(self) -> float:
        """The threshold; infinite while there is none."""
        if not self._best > self._first:
            return np.inf
        return self._first + SHARE * (self._best - self._first)

    def state(self) -> State:
        """The first and the best returns as plain arrays."""
        return {"found_threshold": np.array([self._first, self._best])}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._first, self._best = (float(value) for value in state["found_threshold"])
