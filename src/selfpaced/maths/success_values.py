"""What an update maximises where a task reports rewards and successes.

Rewards say more than successes, as long as they agree with them: then they are what is maximised.
The agreement is the probability that a rollout that succeeded earned more than one that failed in a
nearby context,

    agreement = sum_ij K_ij [r_i > r_j] / sum_ij K_ij,   i succeeded, j failed,
    K_ij = exp(-|c_i - c_j|^2 / (2 BANDWIDTH^2)),        contexts in their standard deviations,

where equal rewards count one half. Only nearby contexts are compared, since rewards may differ in
scale from one context to another. Where rewards agree with successes less than AGREES of the time,
because they are noisy or ask for something else, the values are successes plus RANKS times the rank
of the reward from 0 to 1, which orders rollouts of equal success.
"""

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray

AGREES = 0.9
"""Agreement from which rewards alone are maximised."""
RANKS = 0.2
"""Weight of the ranks of rewards beside successes."""
BANDWIDTH = 0.5
"""Distance of contexts, in standard deviations of the samples, up to which they are compared."""
ENOUGH = 5
"""Successes among the samples below which rewards alone are maximised."""
COMPARED = 150  # most rollouts of each kind that are compared, spread evenly over the samples


def values_of(contexts: Array, rewards: Array, successes: Array) -> Array:
    """(n,): what to maximise, from contexts (n, d), rewards (n,) and successes (n,) of 0, 1 or nan.

    The rewards themselves (the same array) are returned where they suffice.
    """
    if successes_are_rare(successes):
        return rewards
    succeeded = successes > 0.5
    if agreement(contexts, rewards, succeeded) >= AGREES:
        return rewards
    return succeeded + RANKS * ranks(rewards)


def successes_are_rare(successes: Array) -> bool:
    """True if fewer than ENOUGH of `successes` (n,), 0, 1 or nan, are 1."""
    return bool(np.count_nonzero(successes > 0.5) < ENOUGH)


def agreement(contexts: Array, rewards: Array, succeeded: BoolArray) -> float:
    """From 0 to 1: how often a success earns more than a failure in a nearby context.

    1 if there are only successes or only failures.
    """
    won, lost = _spread_evenly(succeeded), _spread_evenly(~succeeded)
    if won.size == 0 or lost.size == 0 or rewards[won].min() > rewards[lost].max():
        return 1.0
    deviations = contexts.std(axis=0)
    deviations[deviations == 0.0] = 1.0
    white = (contexts - contexts.mean(axis=0)) / deviations / BANDWIDTH
    # log K_ij = c_i c_j - |c_i|^2 / 2 - |c_j|^2 / 2 is one product of two matrices.
    halves, ones = -0.5 * (white**2).sum(axis=1), np.ones(len(white))
    near = np.column_stack([white, halves, ones])[won] @ (
        np.column_stack([white, ones, halves])[lost].T
    )
    near -= near.max()  # the nearest pair counts, however far it is
    np.exp(near, out=near)
    # Successes below the best failure and failures above the worst success: all others agree.
    low = rewards[won] <= rewards[lost].max()
    high = rewards[lost] >= rewards[won].min()
    earned_less = 1.0 - np.sign(rewards[won[low], None] - rewards[lost[high]])
    return 1.0 - 0.5 * float((earned_less * near[low][:, high]).sum() / near.sum())


def ranks(values: Array) -> Array:
    """(n,): the ranks of `values` (n,), from 0 for the least to 1; equal values share theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return middle[where] / max(len(values) - 1, 1)


def _spread_evenly(chosen: BoolArray) -> IntArray:
    """At most COMPARED of the rows that are `chosen` (n,), evenly spread."""
    rows = np.flatnonzero(chosen)
    if len(rows) <= COMPARED:
        return rows
    return rows[np.arange(COMPARED) * (len(rows) - 1) // (COMPARED - 1)]
