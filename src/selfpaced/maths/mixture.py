"""Mixtures of Gaussians, fitted by expectation maximisation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array

ITERATIONS = 12
TOLERANCE = 5e-3  # of the mean log-likelihood, between two iterations


class Mixture(NamedTuple):
    """k Gaussians over d dimensions."""

    weights: Array  # (k,)
    means: Array  # (k, d)
    covariances: Array  # (k, d, d)
    log_likelihood: float  # of the data it was fitted to

    @property
    def aic(self) -> float:
        """Akaike's criterion: less is better."""
        k, d = self.means.shape
        parameters = k - 1 + k * d + k * d * (d + 1) / 2
        return 2 * parameters - 2 * self.log_likelihood


def fit_mixtures(
    data: Array, sizes: Sequence[int], floor: float, rng: np.random.Generator
) -> list[Mixture]:
    """A mixture for `data` (n, d) of each of `sizes`; variances at least `floor`.

    Each starts from rows of the data. All are fitted at once, component under component: apart,
    most of the time would go into small operations. The data shall be of order 1, and `floor`
    not far below: moments are taken around zero.
    """
    n, d = data.shape
    firsts = np.cumsum([0, *sizes[:-1]])  # of each mixture, among all components
    counts = np.repeat(sizes, sizes)  # (k,): of the mixture that a component belongs to
    means = data[[row for size in sizes for row in _spread(data, size, rng)]]
    least = floor * np.eye(d)
    covariances = np.cov(data.T).reshape(d, d) / counts[:, None, None] + least
    weights = 1.0 / counts
    before, likelihood = np.full(len(sizes), -np.inf), np.full(len(sizes), -np.inf)
    squares = (data[:, :, None] * data[:, None, :]).reshape(n, d * d)
    powers = np.column_stack([np.ones(n), data, squares])  # of degree 0, 1 and 2
    for _ in range(ITERATIONS):
        logs = np.log(weights)[:, None] + _coefficients(means, covariances) @ powers.T  # (k, n)
        top = np.maximum.reduceat(logs, firsts)
        shares = np.exp(logs - np.repeat(top, sizes, axis=0))
        total = np.add.reduceat(shares, firsts)
        likelihood = (top + np.log(total)).sum(axis=1)
        shares /= np.repeat(total, sizes, axis=0)
        moments = shares @ powers
        mass = moments[:, 0] + 1e-9
        weights = mass / np.repeat(np.add.reduceat(mass, firsts), sizes)
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
    """(k, 1 + d + d^2): the log densities as polynomials, 1 first, then x, then x x^T."""
    k, d = means.shape
    precisions = np.asarray(np.linalg.inv(covariances), dtype=float)
    linear = (precisions @ means[:, :, None])[:, :, 0]
    constant = -0.5 * (means * linear).sum(axis=1) - 0.5 * d * np.log(2 * np.pi)
    constant -= 0.5 * np.asarray(np.linalg.slogdet(covariances)[1], dtype=float)
    return np.column_stack([constant, linear, -0.5 * precisions.reshape(k, d * d)])


def _spread(data: Array, k: int, rng: np.random.Generator) -> list[int]:
    """k rows of `data`, each likely to be far from those before it (k-means++)."""
    chosen = [int(rng.integers(len(data)))]
    nearest = ((data - data[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(k - 1):
        total = nearest.sum()
        chances = nearest / total if total > 0 else np.full(len(data), 1.0 / len(data))
        chosen.append(int(rng.choice(len(data), p=chances)))
        nearest = np.minimum(nearest, ((data - data[chosen[-1]]) ** 2).sum(axis=1))
    return chosen
