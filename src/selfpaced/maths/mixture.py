"""Mixtures of Gaussians, fitted by expectation maximisation."""

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


def fit_mixture(data: Array, k: int, floor: float, rng: np.random.Generator) -> Mixture:
    """`k` Gaussians for `data` (n, d), started from k of its rows; variances at least `floor`."""
    n, d = data.shape
    means = data[_spread(data, k, rng)]
    least = floor * np.eye(d)
    spread = np.cov(data.T).reshape(d, d) / k + least
    covariances, weights = np.tile(spread, (k, 1, 1)), np.full(k, 1.0 / k)
    before, likelihood = -np.inf, -np.inf
    for _ in range(ITERATIONS):
        logs = np.log(weights)[:, None] + _log_densities(data, means, covariances)  # (k, n)
        top = logs.max(axis=0)
        shares = np.exp(logs - top)
        total = shares.sum(axis=0)
        likelihood = float((top + np.log(total)).sum())
        shares /= total
        mass = shares.sum(axis=1) + 1e-9
        weights, means = mass / mass.sum(), shares @ data / mass[:, None]
        offsets = data - means[:, None]  # (k, n, d)
        scatter = (shares[:, :, None] * offsets).transpose(0, 2, 1) @ offsets
        covariances = scatter / mass[:, None, None] + least
        if likelihood - before < TOLERANCE * n:
            break
        before = likelihood
    return Mixture(weights, means, covariances, likelihood)


def _log_densities(data: Array, means: Array, covariances: Array) -> Array:
    """(k, n): of every row under every component."""
    chols = np.linalg.cholesky(covariances)
    inverses = np.linalg.inv(chols)
    z = (data - means[:, None]) @ inverses.transpose(0, 2, 1)
    log_det = np.log(np.diagonal(chols, axis1=1, axis2=2)).sum(axis=1)
    constant = 0.5 * data.shape[1] * np.log(2 * np.pi)
    return -0.5 * np.einsum("knd,knd->kn", z, z) - (log_det + constant)[:, None]


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
