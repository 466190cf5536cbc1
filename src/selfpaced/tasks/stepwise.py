"""Tasks that are played step by step in NumPy, many rows at once.

A task of this kind says how a step goes; it can then be followed by a policy that sees the state
(deep RL, through `selfpaced.deep.stepwise`), and it is an episodic task as well: theta is an affine
controller, whose actions are K o + k of the observation o.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray, check_rows
from selfpaced.maths.box import Box
from selfpaced.tasks.batch import checked_batch
from selfpaced.types import Outcomes

LARGEST_GAIN = 10.0  # of an affine controller


class Step(NamedTuple):
    """What a step led to, one entry per row."""

    states: Array  # (n, s)
    rewards: Array  # (n,)
    ended: BoolArray  # (n,): the episode is over before its time
    solved: BoolArray  # (n,): it would count as a success if it ended here


class StepwiseTask(ABC):
    """How a step goes. Positions are the first two columns of a state."""

    name: str
    context_space: Box
    context_names: tuple[str, ...]
    observation_space: Box
    actions: int  # dimensions of an action, each in [-1, 1]
    steps: int  # of an episode, at most

    @property
    def theta_space(self) -> Box:
        return controller_space(self.observation_space.dimension, self.actions)

    @abstractmethod
    def begin(self, contexts: Array) -> Array:
        """States (n, s) at the start, one per context."""

    @abstractmethod
    def move(self, contexts: Array, states: Array, actions: Array) -> Step:
        """One step of every row; row i depends on nothing but row i."""

    @abstractmethod
    def observe(self, contexts: Array, states: Array) -> Array:
        """(n, o): what a policy sees, the context included."""

    @abstractmethod
    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the scene of `context` and trajectories (k, t, 2) on Matplotlib axes."""

    def follow(self, contexts: Array, act: Callable[[Array], Array]) -> tuple[Outcomes, Array]:
        """Outcomes and trajectories (n, steps + 1, 2) of a policy that sees every state."""
        return self._play(contexts, lambda seen, rows: act(seen))

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        return self._controlled(contexts, thetas)[0]

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        return self._controlled(contexts, thetas)[1]

    def _controlled(self, contexts: Array, thetas: Array) -> tuple[Outcomes, Array]:
        """Every row by its own affine controller."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        return self._play(contexts, affine_controllers(thetas, self.actions))

    def _play(
        self, contexts: Array, act: Callable[[Array, IntArray], Array]
    ) -> tuple[Outcomes, Array]:
        """Rows that have ended stay where they are; the reward is the sum over the steps."""
        contexts = check_rows("contexts", contexts, self.context_space.dimension)
        n = len(contexts)
        states = self.begin(contexts)
        paths = np.empty((n, self.steps + 1, 2))
        paths[:, 0] = states[:, :2]
        rewards, solved = np.zeros(n), np.zeros(n, dtype=bool)
        rows: IntArray = np.arange(n)
        for t in range(1, self.steps + 1):
            if rows.size:
                here = contexts[rows]
                actions = np.clip(act(self.observe(here, states[rows]), rows), -1.0, 1.0)
                step = self.move(here, states[rows], actions)
                states[rows], solved[rows] = step.states, step.solved
                rewards[rows] += step.rewards
                rows = rows[~step.ended]
            paths[:, t] = states[:, :2]
        return Outcomes(rewards, solved.astype(float)), paths


def controller_space(inputs: int, outputs: int) -> Box:
    """Where the thetas of affine controllers lie: rows of K and k, one output after the other."""
    size = outputs * (inputs + 1)
    return Box([-LARGEST_GAIN] * size, [LARGEST_GAIN] * size)


def affine_controllers(thetas: Array, outputs: int) -> Callable[[Array, IntArray], Array]:
    """K o + k of observations o (k, inputs), row by row by its own of `thetas` (n, ...)."""
    gains = thetas.reshape(len(thetas), outputs, -1)

    def act(seen: Array, rows: IntArray) -> Array:
        K, k = gains[rows, :, :-1], gains[rows, :, -1]
        return (K @ seen[:, :, None])[:, :, 0] + k

    return act
