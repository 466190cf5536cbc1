"""A policy that acts at every step of an episode: Gaussian around the output of a small network."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array

NETWORK_FORMAT = "selfpaced-network-1"
CLIP = 10.0  # normalised observations are clipped to this many standard deviations
EPSILON = 1e-8  # added to the variance of observations, which can be 0
ACTION_LIMIT = 1.0  # actions lie in [-1, 1], unless the policy says otherwise


@dataclass(frozen=True, eq=False, repr=False)
class NetworkPolicy:
    """pi(a | s) = N(a | f(s), diag(std^2)) with a network f, for actions within bounds.

    The network normalises its observations; its hidden layers have tanh, its last one is linear.
    """

    weights: tuple[Array, ...]
    """The weights of each layer, (inputs, outputs); a layer computes x W + b."""
    biases: tuple[Array, ...]
    """The biases of each layer, (outputs,)."""
    std: Array
    """(d,): the standard deviation of each action dimension, the same for every observation."""
    observation_mean: Array
    """(o,): subtracted from observations."""
    observation_variance: Array
    """(o,): observations are divided by its square root, then clipped."""
    observation_clip: float = CLIP
    """Normalised observations are clipped to this many standard deviations."""
    action_limit: float = ACTION_LIMIT
    """Every entry of an action is clipped to lie between minus this number and this number."""

    def __repr__(self) -> str:
        layers = [len(self.observation_mean), *(len(b) for b in self.biases)]
        sizes = "-".join(str(size) for size in layers)
        return f"NetworkPolicy(layers {sizes}, entropy {self.entropy:.3g} nats)"

    def mean(self, observations: Array) -> Array:
        """(n, d): mean actions for `observations` (n, o), not clipped to the bounds."""
        x, clip = observations - self.observation_mean, self.observation_clip
        x = np.clip(x / np.sqrt(self.observation_variance + EPSILON), -clip, clip)
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.tanh(x @ W + b)
        return x @ self.weights[-1] + self.biases[-1]

    def sample(self, observations: Array, rng: np.random.Generator) -> Array:
        """(n, d): one action per row of `observations` (n, o), clipped to the bounds."""
        means = self.mean(observations)
        drawn = means + self.std * rng.standard_normal(means.shape)
        return np.clip(drawn, -self.action_limit, self.action_limit)

    @property
    def dimension(self) -> int:
        """d: the number of action dimensions."""
        return len(self.std)

    @property
    def entropy(self) -> float:
        """The entropy of an action, in nats; the same for every observation.

        It is that of the Gaussian, before actions are clipped.
        """
        return float(np.log(self.std).sum() + 0.5 * len(self.std) * np.log(2 * np.pi * np.e))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The policy as plain arrays, from which `policy_from` makes it again."""
        layers = {f"weights.{i}": W for i, W in enumerate(self.weights)}
        layers |= {f"biases.{i}": b for i, b in enumerate(self.biases)}
        bounds = np.array([self.observation_clip, self.action_limit])
        usual = tuple(bounds.tolist()) == (CLIP, ACTION_LIMIT)
        return {
            "format": np.array(NETWORK_FORMAT),
            **layers,
            "std": self.std,
            "observation_mean": self.observation_mean,
            "observation_variance": self.observation_variance,
            **({} if usual else {"bounds": bounds}),
        }


def network_from(arrays: dict[str, NDArray[Any]]) -> NetworkPolicy:
    """The policy whose `NetworkPolicy.arrays` these are."""
    layers = sum(name.startswith("weights.") for name in arrays)

    def floats(name: str) -> Array:
        return np.asarray(arrays[name], dtype=float)

    clip, limit = floats("bounds").tolist() if "bounds" in arrays else (CLIP, ACTION_LIMIT)
    return NetworkPolicy(
        weights=tuple(floats(f"weights.{i}") for i in range(layers)),
        biases=tuple(floats(f"biases.{i}") for i in range(layers)),
        std=floats("std"),
        observation_mean=floats("observation_mean"),
        observation_variance=floats("observation_variance"),
        observation_clip=clip,
        action_limit=limit,
    )
