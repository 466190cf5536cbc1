"""Optimal transport between two sets of points of one size, in the unit cube."""

from typing import Any

import numpy as np
import scipy

from selfpaced.maths.arrays import Array, IntArray


def matching(one: Array, other: Array) -> IntArray:
    """(n,): which row of `other` (n, e) each row of `one` (n, e) goes to, at the least cost.

    The cost is the sum of squared distances, so this is the optimal transport for W2.
    """
    costs = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
    return cheapest(costs)


def cheapest(costs: Array) -> IntArray:
    """(n,): the column for each row of `costs` (n, n), each once, such that their sum is least."""
    assign: Any = scipy.optimize.linear_sum_assignment  # it loads when it is first used
    return np.asarray(assign(costs)[1], dtype=np.int64)


def wasserstein(one: Array, other: Array) -> float:
    """W2 of two sets of points (n, e): the root of the mean squared distance of matched points."""
    apart = one - other[matching(one, other)]
    return float(np.sqrt((apart**2).sum(axis=1).mean()))
