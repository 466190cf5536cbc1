"""Episodes of a step-based task that are simulated as one batch.

An environment for one episode is a batch of one (`reacher_env.py`, `stepwise_env.py`); a vector of
environments is a batch of many (`batched_env.py`).
"""

from typing import NamedTuple, Protocol

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.maths.box import Box


class StepOutcomes(NamedTuple):
    """What one step of every episode led to, one entry per episode."""

    rewards: Array
    """(n,): the reward of this step."""
    ended: BoolArray
    """(n,): True where this step ended the episode; time limits do not count."""
    solved: BoolArray
    """(n,): True where the episode would count as a success if it ended now."""


class BatchedEpisodes(Protocol):
    """n episodes that are simulated at once. Row i depends on row i alone."""

    context_space: Box
    """Which contexts exist."""
    return_discount: float
    """Discount of the returns that teachers are told of."""

    def begin(self, rows: IntArray, contexts: Array) -> None:
        """Begin new episodes in `rows` (k,) at `contexts` (k, d); the other rows continue."""
        ...

    def move(self, actions: Array) -> StepOutcomes:
        """Simulate one step of every episode, with actions (n, a) in the action space."""
        ...

    def observe(self) -> Array:
        """(n, o): what a policy observes now."""
        ...

    def seed(self, seed: int) -> None:
        """Seed the noise of the episodes, if they have any."""
        ...
