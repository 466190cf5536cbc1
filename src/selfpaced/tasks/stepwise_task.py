"""`StepwiseTask`: tasks that are simulated step by step in NumPy, many rows at once.

A subclass says how one step goes. It can then be used in two ways. A policy that sees the state
can act in it (deep RL, through `deep/stepwise_env.py`). And it is an episodic task: theta holds
an affine controller, whose actions are K o + k for the observation o.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray, check_rows
from selfpaced.maths.box import Box
from selfpaced.tasks.batch import checked_batch, task_repr
from selfpaced.types import Outcomes

LARGEST_GAIN = 10.0  # bound of every entry of K and k of an affine controller


class Step(NamedTuple):
    """The result of one step, one entry per row."""

    states: Array
    """(n, s): the states after the step."""
    rewards: Array
    """(n,): the reward of the step."""
    ended: BoolArray
    """(n,): True where the step ends the episode before its last step."""
    solved: BoolArray
    """(n,): True where the episode would be a success if it ended here."""


class StepwiseTask(ABC):
    """A task that is simulated step by step. Its subclasses say how a step goes.

    The first two columns of a state are the position.
    """

    name: str
    """The task's name in the specs of stored runs, so it must not change."""
    context_space: Box
    """Which contexts exist."""
    context_names: tuple[str, ...]
    """Names of the context's dimensions, for figures."""
    observation_space: Box
    """Bounds of the observations that a policy sees."""
    action_dimension: int
    """Number of dimensions of an action."""
    action_limit: float = 1.0
    """Every entry of an action lies between minus this number and this number."""
    steps: int
    """Largest number of steps in an episode."""
    discount: float = 1.0
    """Weight of a reward relative to that of the step before, in the return of an episode."""
    start_noise: int = 0
    """Random numbers, uniform in [0, 1), that `begin` gets for every row."""
    step_noise: int = 0
    """Standard normal random numbers that `move` gets for every row."""

    def __repr__(self) -> str:
        return task_repr(self)

    @property
    def theta_space(self) -> Box:
        """Which parameters an affine controller may have."""
        return controller_space(self.observation_space.dimension, self.action_dimension)

    @property
    def noisy(self) -> bool:
        """True if episodes are random, even if the actions are not."""
        return self.start_noise + self.step_noise > 0

    @abstractmethod
    def begin(self, contexts: Array, noise: Array) -> Array:
        """States (n, s) at the start of an episode, one per context.

        `noise` (n, `start_noise`) holds random numbers, uniform in [0, 1).
        """

    @abstractmethod
    def move(self, contexts: Array, states: Array, actions: Array, noise: Array) -> Step:
        """One step of every row. Row i of the result depends on row i alone.

        `noise` (n, `step_noise`) holds standard normal random numbers.
        """

    @abstractmethod
    def observe(self, contexts: Array, states: Array) -> Array:
        """(n, o): what a policy sees, including the context."""

    @abstractmethod
    def draw(self, context: Array, trajectories: Array, axes: Any) -> None:
        """Draw the scene of `context` and trajectories (k, t, 2) on Matplotlib axes."""

    def simulate_policy(
        self,
        contexts: Array,
        act: Callable[[Array], Array],
        rng: np.random.Generator | None = None,
    ) -> tuple[Outcomes, Array]:
        """Outcomes and positions (n, steps + 1, 2) of one episode per context.

        `act` maps the observations (k, o) of the k episodes still running to actions (k, a).
        `rng` draws the noise of the task; a task without noise does not need it.
        """
        return self._simulate(contexts, lambda observations, rows: act(observations), rng)

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Returns and successes of one episode per row, with the controllers `thetas`."""
        return self._simulate_controllers(contexts, thetas, rng)[0]

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, steps + 1, 2): positions over time; they stay the same after an episode's end."""
        return self._simulate_controllers(contexts, thetas, rng)[1]

    def _simulate_controllers(
        self, contexts: Array, thetas: Array, rng: np.random.Generator
    ) -> tuple[Outcomes, Array]:
        """Simulate every row with the affine controller in its own row of `thetas`."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        return self._simulate(contexts, affine_controllers(thetas, self.action_dimension), rng)

    def _simulate(
        self,
        contexts: Array,
        act: Callable[[Array, IntArray], Array],
        rng: np.random.Generator | None,
    ) -> tuple[Outcomes, Array]:
        """Simulate one episode per row; `act` gets observations and the rows they belong to.

        Rows whose episode has ended keep their state. The reward is the discounted sum over the
        steps. All noise is drawn beforehand, row by row, so that a row does not depend on others.
        """
        contexts = check_rows("contexts", contexts, self.context_space.dimension)
        if self.noisy and rng is None:
            raise ValueError(f"rng must be given, because {self.name} has noise; got None")
        rng = np.random.default_rng(0) if rng is None else rng  # which nothing is drawn from
        n = len(contexts)
        starts = np.random.default_rng(rng.integers(2**63)) if self.start_noise else rng
        noise = rng.standard_normal((n, self.steps, self.step_noise))
        states = self.begin(contexts, starts.random((n, self.start_noise)))
        paths = np.empty((n, self.steps + 1, 2))
        paths[:, 0] = states[:, :2]
        rewards, solved = np.zeros(n), np.zeros(n, dtype=bool)
        rows: IntArray = np.arange(n)  # those whose episode is still running
        for t in range(1, self.steps + 1):
            if rows.size:
                here = contexts[rows]
                limit = self.action_limit
                actions = np.clip(act(self.observe(here, states[rows]), rows), -limit, limit)
                step = self.move(here, states[rows], actions, noise[rows, t - 1])
                states[rows], solved[rows] = step.states, step.solved
                rewards[rows] += self.discount ** (t - 1) * step.rewards
                rows = rows[~step.ended]
            paths[:, t] = states[:, :2]
        return Outcomes(rewards, solved.astype(float)), paths


def controller_space(inputs: int, outputs: int) -> Box:
    """The box of the thetas of affine controllers from `inputs` to `outputs` dimensions.

    theta lists, one output after the other, the row of K and then the entry of k.
    """
    size = outputs * (inputs + 1)
    return Box([-LARGEST_GAIN] * size, [LARGEST_GAIN] * size)


def affine_controllers(thetas: Array, outputs: int) -> Callable[[Array, IntArray], Array]:
    """A function of observations (k, o) and their rows (k,) that returns actions (k, outputs).

    The action in row i is K o + k with the K and k in row i of `thetas` (n, outputs * (o + 1)).
    """
    gains = thetas.reshape(len(thetas), outputs, -1)

    def act(observations: Array, rows: IntArray) -> Array:
        K, k = gains[rows, :, :-1], gains[rows, :, -1]
        return (K @ observations[:, :, None])[:, :, 0] + k

    return act
