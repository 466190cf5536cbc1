"""A policy that answers at every step: a small network, Gaussian around its output."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array

NETWORK_FORMAT = "selfpaced-network-1"
CLIP = 10.0  # of normalised observations, in deviations
EPSILON = 1e-8  # added to their variance
ACTION_LIMIT = 1.0  # actions lie in [-1, 1]


@dataclass(frozen=True, eq=False)
class NetworkPolicy:
    """pi(a | s) = N(a | network(s), std^2): hidden layers with tanh, observations normalised."""

    weights: tuple[Array, ...]  # (inputs, outputs) of each layer
    biases: tuple[Array, ...]  # (outputs,)
    std: Array  # (d,)
    observation_mean: Array  # (o,)
    observation_variance: Array  # (o,)

    def mean(self, observations: Array) -> Array:
        """(n, d) mean actions for observations (n, o), not clipped."""
        x = observations - self.observation_mean
        x = np.clip(x / np.sqrt(self.observation_variance + EPSILON), -CLIP, CLIP)
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.tanh(x @ W + b)
        return x @ self.weights[-1] + self.biases[-1]

    def sample(self, observations: Array, rng: np.random.Generator) -> Array:
        """(n, d) actions in [-1, 1]."""
        means = self.mean(observations)
        drawn = means + self.std * rng.standard_normal(means.shape)
        return np.clip(drawn, -ACTION_LIMIT, ACTION_LIMIT)

    @property
    def dimension(self) -> int:
        return len(self.std)

    @property
    def entropy(self) -> float:
        """In nats, of an action before it is clipped; the same for every observation."""
        return float(np.log(self.std).sum() + 0.5 * len(self.std) * np.log(2 * np.pi * np.e))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The policy as plain arrays, which `load_policy` understands."""
        layers = {f"weights.{i}": W for i, W in enumerate(self.weights)}
        layers |= {f"biases.{i}": b for i, b in enumerate(self.biases)}
        return {
            "format": np.array(NETWORK_FORMAT),
            **layers,
            "std": self.std,
            "observation_mean": self.observation_mean,
            "observation_variance": self.observation_variance,
        }


def network_from(arrays: dict[str, NDArray[Any]]) -> NetworkPolicy:
    """The policy whose `arrays` these are."""
    layers = sum(name.startswith("weights.") for name in arrays)

    def floats(name: str) -> Array:
        return np.asarray(arrays[name], dtype=float)

    return NetworkPolicy(
        tuple(floats(f"weights.{i}") for i in range(layers)),
        tuple(floats(f"biases.{i}") for i in range(layers)),
        floats("std"),
        floats("observation_mean"),
        floats("observation_variance"),
    )
