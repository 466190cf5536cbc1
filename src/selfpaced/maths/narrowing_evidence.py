"""How far samples justify a narrower policy, and how cautious a temperature must be.

A weighted fit to few samples is too narrow on average, by chance alone. The mastery rule therefore
lets the policy lose entropy only where the samples that carry weight lie nearer to the mean of the
policy that drew them than samples in general do. With the squared Mahalanobis distances delta_i
of the parameters from that mean, and weights w_i that sum to 1:

    evidence = min(0, 1/2 log( sum_i w_i delta_i  /  mean_i delta_i ))        nats per dimension
    trust    = mu / (mu + d),   mu = (1 / sum_i w_i^2) / batches             from 0 to 1

d is the number of parameters and mu the effective number of samples that one batch contributes.
One update may change the policy's entropy by no less than

    narrowing * trust * evidence * d nats,

where narrowing is a number, and smaller where there are fewer samples than the policy needs.
"""

import numpy as np

from selfpaced.maths.arrays import Array, deviation_of, solve_lower
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.reps import effective_samples


def squared_distances(policy: LinearGaussianPolicy, contexts: Array, thetas: Array) -> Array:
    """(n,): delta_i, squared distances of `thetas` from the mean of the `policy` that drew them.

    They are in units of the policy's standard deviations (Mahalanobis distances).
    """
    white = solve_lower(policy.chol, (thetas - policy.mean(contexts)).T)
    return np.asarray((white**2).sum(axis=0))


def evidence_for_narrower_policy(distances: Array, weights: Array) -> float:
    """Nats per dimension, 0 or less: how much nearer weighted samples lie than samples in general.

    Each of the squared `distances` (n,) is from the policy that drew the sample. Distances from
    the present policy would be too short for samples with weight, because it was fitted to them.
    There is no evidence where the distances are 0: a policy whose samples cannot be told from its
    mean, as floats, has converged.
    """
    usual, weighted = float(distances.mean()), float(weights @ distances)
    if not (usual > 0.0 and weighted > 0.0):
        return 0.0
    return min(0.0, 0.5 * float(np.log(weighted / usual)))


def trust_in_evidence(weights: Array, batches: int, dimension: int) -> float:
    """From 0 to 1: how much samples with these `weights` say about `dimension` parameters.

    mu / (mu + d) has the form of the rate at which CMA-ES adapts its step size.
    """
    mu = effective_samples(weights) / batches
    return mu / (mu + dimension)


def entropy_that_may_go(
    distances: Array, weights: Array, batches: int, dimension: int, narrowing: float
) -> float:
    """Nats, 0 or less: the largest change of the policy's entropy that the samples justify.

    `narrowing` is the number of nats per nat of evidence, for many samples.
    """
    evidence = evidence_for_narrower_policy(distances, weights)
    evidence *= narrowing * trust_in_evidence(weights, batches, dimension)
    return evidence * dimension


def floor_without_disasters(rewards: Array, usual: float, floor: float) -> float:
    """A temperature floor for `rewards` (n,), as a share of their standard deviation.

    It equals `floor` times the standard deviation of the rewards with everything worse than
    `usual` raised to it. Otherwise a crash that costs a thousand times what can be gained would
    alone determine the temperature.
    """
    return floor * deviation_of(np.maximum(rewards, usual)) / deviation_of(rewards)
