"""Which of many points is nearest."""

import numpy as np

from selfpaced.maths.arrays import Array, IntArray

FEW_COLUMNS = 4  # up to which a tree is the faster way, unless there are few points
FEW_POINTS = 32  # for which building a tree takes longer than computing all distances
AT_ONCE = 128  # rows whose distances are computed together, so that they stay in the cache


def nearest_rows(points: Array, others: Array) -> IntArray:
    """(n,): the row of `others` (m, e) that is nearest to each of the `points` (n, e).

    A k-d tree has to look at most of its points once there are many columns. Then, and for few
    `points`, all distances are computed, as |x|^2 - 2 x y + |y|^2 without the first term, which
    does not matter.
    """
    if points.shape[1] <= FEW_COLUMNS and len(points) > FEW_POINTS:
        from scipy.spatial import KDTree  # takes a moment to load

        return np.asarray(KDTree(others).query(points)[1], dtype=np.int64)
    doubled, squares = np.ascontiguousarray(-2.0 * others.T), (others**2).sum(axis=1)
    nearest = np.empty(len(points), dtype=np.int64)
    for first in range(0, len(points), AT_ONCE):
        rows = slice(first, first + AT_ONCE)
        distances = points[rows] @ doubled
        distances += squares
        nearest[rows] = distances.argmin(axis=1)
    return nearest
