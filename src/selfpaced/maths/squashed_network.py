"""A policy that acts at every step, as SAC learns it: a squashed Gaussian from a small network."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array

SQUASHED_FORMAT = "selfpaced-squashed-network-1"
LEAST_LOG_STD, MOST_LOG_STD = -20.0, 2.0  # bounds of the logarithm of the deviation, as in SAC


@dataclass(frozen=True, eq=False, repr=False)
class SquashedNetworkPolicy:
    """a = limit tanh(u) with u ~ N(m(s), diag(exp(2 l(s)))); a network gives m and l.

    Its hidden layers are rectified (ReLU), and its last one is linear.
    """

    weights: tuple[Array, ...]
    """The weights of each layer, (inputs, outputs); the last has 2 d outputs, m and then l."""
    biases: tuple[Array, ...]
    """The biases of each layer, (outputs,)."""
    action_limit: float
    """Every entry of an action lies between minus this number and this number."""

    def __repr__(self) -> str:
        layers = [len(self.weights[0]), *(len(b) for b in self.biases)]
        return f"SquashedNetworkPolicy(layers {'-'.join(str(size) for size in layers)})"

    @property
    def dimension(self) -> int:
        """d: the number of action dimensions."""
        return len(self.biases[-1]) // 2

    def parameters(self, observations: Array) -> tuple[Array, Array]:
        """m (n, d) and exp(l) (n, d) for `observations` (n, o)."""
        x = observations
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.maximum(x @ W + b, 0.0)
        m, log_std = np.split(x @ self.weights[-1] + self.biases[-1], 2, axis=1)
        return m, np.exp(np.clip(log_std, LEAST_LOG_STD, MOST_LOG_STD))

    def mean(self, observations: Array) -> Array:
        """(n, d): the action at the mean of the Gaussian, for `observations` (n, o)."""
        return self.action_limit * np.tanh(self.parameters(observations)[0])

    def sample(self, observations: Array, rng: np.random.Generator) -> Array:
        """(n, d): one action per row of `observations` (n, o)."""
        m, std = self.parameters(observations)
        return self.action_limit * np.tanh(m + std * rng.standard_normal(m.shape))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The policy as plain arrays, from which `policy_from` makes it again."""
        layers = {f"weights.{i}": W for i, W in enumerate(self.weights)}
        layers |= {f"biases.{i}": b for i, b in enumerate(self.biases)}
        return {
            "format": np.array(SQUASHED_FORMAT),
            **layers,
            "action_limit": np.array(self.action_limit),
        }


def squashed_from(arrays: dict[str, NDArray[Any]]) -> SquashedNetworkPolicy:
    """The policy whose `SquashedNetworkPolicy.arrays` these are."""
    layers = range(sum(name.startswith("weights.") for name in arrays))
    return SquashedNetworkPolicy(
        weights=tuple(np.asarray(arrays[f"weights.{i}"], dtype=float) for i in layers),
        biases=tuple(np.asarray(arrays[f"biases.{i}"], dtype=float) for i in layers),
        action_limit=float(arrays["action_limit"]),
    )
