import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from selfpaced.maths.transport import quick_matching


def squared_distances(one, other):
    return ((one[:, None] - other) ** 2).sum(axis=2)


def clouds(kind, n, columns, seed):
    """Two sets of n points, as particles and samples of a target are."""
    rng = np.random.default_rng(seed)
    one, other = rng.random((2, n, columns))
    if kind == "narrow target":
        other = 0.9 + 1e-5 * rng.standard_normal((n, columns))
    elif kind == "two far clusters":
        one = 1e-4 * one + rng.integers(2, size=(n, 1))
    elif kind == "a flat coordinate":
        one[:, -1] = 0.5
    elif kind == "points that coincide":
        one = one[rng.integers(max(1, n // 4), size=n)]
    elif kind == "one point":
        one, other = one[:1].repeat(n, axis=0), other[:1].repeat(n, axis=0)
    elif kind == "categories":
        one, other = np.eye(columns)[rng.integers(columns, size=(2, n))] / np.sqrt(2)
    elif kind == "a lattice":
        one, other = rng.permuted(np.tile(np.arange(n) / n, (2, columns, 1)), axis=2).transpose(
            0, 2, 1
        )
    return one, other


KINDS = [
    "anywhere",
    "narrow target",
    "two far clusters",
    "a flat coordinate",
    "points that coincide",
    "one point",
    "categories",
    "a lattice",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [1, 2, 30, 100])
def test_no_matching_is_cheaper_than_the_quick_one(kind, columns, n):
    for seed in range(3):
        one, other = clouds(kind, n, columns, seed)
        costs = squared_distances(one, other)
        found = quick_matching(one, other)
        assert sorted(found) == list(range(n))
        least = costs[linear_sum_assignment(costs)].sum()
        assert costs[np.arange(n), found].sum() == pytest.approx(least, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", ["anywhere", "narrow target", "points that coincide"])
def test_the_quick_matching_is_that_of_the_plain_costs(kind):
    for seed in range(20):
        one, other = clouds(kind, 100, 2, seed)
        plain = linear_sum_assignment(squared_distances(one, other))[1]
        np.testing.assert_array_equal(quick_matching(one, other), plain)
