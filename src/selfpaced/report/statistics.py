"""Comparisons of algorithms with few seeds: bootstrap intervals, paired differences, best half."""

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.report.data import Group

RESAMPLES = 4000  # bootstrap samples of a mean
LEVEL = 0.95  # confidence level of an interval


def bootstrap(values: Array) -> tuple[float, float, float]:
    """Mean of `values` (n,) and the ends of its 95% percentile-bootstrap interval.

    All three are nan if there are no values, or if one is nan. The bootstrap's seed is fixed, so
    that the same values give the same interval.
    """
    if len(values) == 0 or np.isnan(values).any():
        return np.nan, np.nan, np.nan
    rng = np.random.default_rng(0)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(values.mean()), float(low), float(high)


def paired(one: Group, other: Group, name: str) -> tuple[int, float, float, float]:
    """Number of shared seeds, then mean and 95% interval of the difference in the final `name`.

    `name` is an entry of the result, such as "target_reward"; the difference is `one` minus
    `other`. It is paired, because a seed gives both algorithms the same random streams.
    """
    mine, theirs = ({run.seed: run.result[name] for run in group.runs} for group in (one, other))
    shared = sorted(mine.keys() & theirs.keys())
    differences = np.array([mine[seed] - theirs[seed] for seed in shared], dtype=float)
    return len(shared), *bootstrap(differences)


def best_half(group: Group) -> Group:
    """The better half of the runs by final success rate, or by reward where success is unknown.

    The paper shows ball-in-a-cup in this way.
    """
    judged = "target_reward" if np.isnan(group.success).any() else "target_success"
    ranked = sorted(group.runs, key=lambda run: -run.result[judged])
    kept = sorted(ranked[: max(1, len(ranked) // 2)], key=lambda run: run.seed)
    return Group(group.experiment, group.algorithm, tuple(kept))
