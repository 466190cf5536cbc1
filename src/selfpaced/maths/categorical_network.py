"""A policy that chooses one of a few actions at every step: a softmax over a network's outputs."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array
from selfpaced.maths.network import NetworkPolicy, network_from

CATEGORICAL_FORMAT = "selfpaced-categorical-network-1"


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalNetworkPolicy(NetworkPolicy):
    """pi(a | s) = exp(f_a(s)) / sum_b exp(f_b(s)) with a network f, for actions 0, 1, ...

    `mean` returns f(s), the scores; `std` is empty.
    """

    def __repr__(self) -> str:
        return f"Categorical{super().__repr__()}"

    def sample(self, observations: Array, rng: np.random.Generator) -> Array:
        """(n, 1): the number of one action per row of `observations` (n, o)."""
        scores = self.mean(observations)
        # The largest of scores with independent Gumbel noise has the probabilities of the softmax.
        return (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)[:, None].astype(float)

    def probabilities(self, observations: Array) -> Array:
        """(n, k): the probability of each action, for `observations` (n, o)."""
        return np.asarray(scipy.special.softmax(self.mean(observations), axis=1), dtype=float)

    @property
    def dimension(self) -> int:
        """k: the number of actions."""
        return len(self.biases[-1])

    @property
    def entropy(self) -> float:
        """The entropy of an action, in nats, at the mean observation."""
        shares = self.probabilities(self.observation_mean[None])[0]
        return -float(shares @ np.log(np.maximum(shares, 1e-300)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The policy as plain arrays, from which `policy_from` makes it again."""
        return {**super().arrays(), "format": np.array(CATEGORICAL_FORMAT)}


def categorical_from(arrays: dict[str, NDArray[Any]]) -> CategoricalNetworkPolicy:
    """The policy whose `CategoricalNetworkPolicy.arrays` these are."""
    network = network_from(arrays)
    return CategoricalNetworkPolicy(
        **{field.name: getattr(network, field.name) for field in fields(network)}
    )
