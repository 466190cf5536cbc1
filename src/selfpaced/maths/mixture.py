"""Mixtures of Gaussians, several sizes fitted at once by expectation maximisation.

With the data x_i, i = 1, ..., n, the components N(m_j, S_j), their weights w_j and the smallest
variance `floor`, every iteration computes the share p_ij of component j in point i and from it

    p_ij = w_j N(x_i | m_j, S_j) / sum_l w_l N(x_i | m_l, S_l)
    w_j = sum_i p_ij / n,   m_j = sum_i p_ij x_i / (n w_j)
    S_j = sum_i p_ij x_i x_i^T / (n w_j) - m_j m_j^T + floor I.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array

ITERATIONS = 12  # largest number of iterations of one fit
TOLERANCE = 5e-3  # nats per point: fitting ends once no mixture's log-likelihood gains more


class Mixture(NamedTuple):
    """A mixture of k Gaussians in d dimensions."""

    weights: Array
    """(k,): the probability of each component; they sum to 1."""
    means: Array
    """(k, d): the mean of each component."""
    covariances: Array
    """(k, d, d): the covariance of each component."""
    log_likelihood: float
    """Log-likelihood of the fitted data, in nats, before the last iteration's changes."""

    def __repr__(self) -> str:
        k, d = self.means.shape
        return f"Mixture({k} Gaussians, {d} dimensions, AIC {self.aic:.4g})"

    @property
    def aic(self) -> float:
        """Akaike's information criterion, 2 (parameters - log-likelihood): smaller is better."""
        k, d = self.means.shape
        parameters = k - 1 + k * d + k * d * (d + 1) / 2
        return 2 * parameters - 2 * self.log_likelihood


def fit_mixtures(
    data: Array, sizes: Sequence[int], floor: float, rng: np.random.Generator
) -> list[Mixture]:
    """One mixture fitted to `data` (n, d) for each number of components in `sizes`.

    Means start at rows of the data that lie far apart. `floor` is added to every variance. The data
    must be of order 1 and `floor` not many orders smaller, because second moments are taken around
    zero and rounding would hide small variances.

    The components of all mixtures are rows of the same arrays: fitted one by one, most of the time
    would go into small NumPy operations.
    """
    n, d = data.shape
    firsts = np.cumsum([0, *sizes[:-1]])  # row of each mixture's first component
    counts = np.repeat(sizes, sizes)  # (k,): size of the mixture that each component is in
    apart = ((data[:, None] - data) ** 2).sum(axis=2)
    means = data[[row for size in sizes for row in _spread(apart, size, rng)]]
    least = floor * np.eye(d)
    covariances = np.cov(data.T).reshape(d, d) / counts[:, None, None] + least
    weights = 1.0 / counts
    before, likelihood = np.full(len(sizes), -np.inf), np.full(len(sizes), -np.inf)
    squares = (data[:, :, None] * data[:, None, :]).reshape(n, d * d)
    powers = np.column_stack([np.ones(n), data, squares])  # monomials of degree 0, 1 and 2
    mixture = np.repeat(np.arange(len(sizes)), sizes)  # (k,): which one each component is in
    for _ in range(ITERATIONS):
        logs = _coefficients(means, covariances) @ powers.T  # (k, n)
        logs += np.log(weights)[:, None]
        top = np.maximum.reduceat(logs, firsts)
        logs -= top[mixture]
        shares = np.exp(logs, out=logs)
        total = np.add.reduceat(shares, firsts)
        likelihood = (top + np.log(total)).sum(axis=1)
        shares /= total[mixture]
        moments = shares @ powers
        mass = moments[:, 0] + 1e-9
        weights = mass / np.add.reduceat(mass, firsts)[mixture]
        means = moments[:, 1 : d + 1] / mass[:, None]
        seconds = (moments[:, d + 1 :] / mass[:, None]).reshape(-1, d, d)
        covariances = seconds - means[:, :, None] * means[:, None, :] + least
        if (likelihood - before < TOLERANCE * n).all():
            break
        before = likelihood
    parts = [slice(first, first + size) for first, size in zip(firsts, sizes, strict=True)]
    return [
        Mixture(weights[part], means[part], covariances[part], float(found))
        for part, found in zip(parts, likelihood, strict=True)
    ]


def _coefficients(means: Array, covariances: Array) -> Array:
    """(k, 1 + d + d^2): each log-density as coefficients of 1, of x and of x x^T."""
    k, d = means.shape
    precisions = np.asarray(np.linalg.inv(covariances), dtype=float)
    linear = (precisions @ means[:, :, None])[:, :, 0]
    found = np.empty((k, 1 + d + d * d))
    constant = -0.5 * (means * linear).sum(axis=1) - 0.5 * d * math.log(2 * math.pi)
    found[:, 0] = constant - 0.5 * np.linalg.slogdet(covariances)[1]
    found[:, 1 : d + 1] = linear
    np.multiply(precisions.reshape(k, d * d), -0.5, out=found[:, d + 1 :])
    return found


def _spread(apart: Array, k: int, rng: np.random.Generator) -> list[int]:
    """Numbers of k points, each drawn with a chance that grows with its distance squared.

    The distance is to the nearest point drawn before (k-means++). `apart` (n, n): the squared
    distances of all points.
    """
    n = len(apart)
    chosen = [int(rng.integers(n))]
    nearest = apart[chosen[0]]
    for _ in range(k - 1):
        total = nearest.sum()
        chances = nearest / total if total > 0 else np.full(n, 1.0 / n)
        # What rng.choice(n, p=chances) does, without its checks.
        reached = chances.cumsum()
        reached /= reached[-1]
        chosen.append(int(reached.searchsorted(rng.random(), side="right")))
        nearest = np.minimum(nearest, apart[chosen[-1]])
    return chosen
