"""Mean and variance of all rows seen so far."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array
from selfpaced.maths.network import CLIP, EPSILON
from selfpaced.maths.perceptron import Floats


class RunningMoments:
    """Mean and variance of each column over all rows that were added.

    Before the first rows they are 0 and 1.
    """

    mean: Array
    """(d,): the mean of each column."""
    variance: Array
    """(d,): the variance of each column, as the mean square of what is left without the mean."""
    count: int
    """Rows so far."""

    def __init__(self, columns: int) -> None:
        self.mean, self.variance, self.count = np.zeros(columns), np.ones(columns), 0

    def __repr__(self) -> str:
        return f"RunningMoments({len(self.mean)} columns, {self.count} rows)"

    def add(self, rows: Floats) -> None:
        """Take `rows` (n, d) into account."""
        mean, variance = rows.mean(axis=0, dtype=float), rows.var(axis=0, dtype=float)
        total = self.count + len(rows)
        share, apart = len(rows) / total, mean - self.mean
        self.mean = self.mean + share * apart
        squares = (1.0 - share) * self.variance + share * variance
        self.variance = squares + share * (1.0 - share) * apart**2
        self.count = total

    def normalised(self, rows: Floats) -> Floats:
        """(n, d): `rows` in standard deviations from the mean, clipped to 10 of them."""
        scaled = (rows - self.mean) / np.sqrt(self.variance + EPSILON)
        return np.clip(scaled, -CLIP, CLIP).astype(np.float32)

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything as plain arrays."""
        return {"moments": np.array([self.mean, self.variance]), "count": np.array(self.count)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a `state`."""
        self.mean, self.variance = np.array(state["moments"])
        self.count = int(state["count"])
