"""Episodes of a stepwise task (`tasks/stepwise_task.py`) in one batch."""

import numpy as np

from selfpaced.deep.batched_episodes import StepOutcomes
from selfpaced.maths.arrays import Array, IntArray
from selfpaced.maths.box import Box
from selfpaced.tasks.stepwise_task import StepwiseTask


class StepwiseEpisodes:
    """n episodes of a stepwise task in one batch (`BatchedEpisodes`)."""

    context_space: Box
    """Which contexts exist."""
    return_discount: float
    """Discount of the returns that teachers are told of."""
    contexts: Array
    """(n, d): the context of each episode."""
    states: Array
    """(n, s): the task's state of each episode; a position is its first two columns."""
    rng: np.random.Generator
    """What draws the noise of the task."""

    def __init__(self, task: StepwiseTask, n: int, rng: np.random.Generator | None = None) -> None:
        self.context_space, self.return_discount = task.context_space, task.discount
        self.rng = np.random.default_rng() if rng is None else rng
        self._task = task
        self.contexts = np.tile(task.context_space.centre, (n, 1))
        # Any noise does here: episodes that count begin by `begin`.
        self.states = task.begin(self.contexts, np.zeros((n, task.start_noise)))

    def begin(self, rows: IntArray, contexts: Array) -> None:
        """Begin new episodes in `rows` (k,) at `contexts` (k, d); the other rows continue."""
        self.contexts[rows] = contexts
        noise = self.rng.random((len(rows), self._task.start_noise))
        self.states[rows] = self._task.begin(contexts, noise)

    def move(self, actions: Array) -> StepOutcomes:
        """Simulate one step of every episode, with actions (n, a) within the task's limit."""
        noise = self.rng.standard_normal((len(actions), self._task.step_noise))
        step = self._task.move(self.contexts, self.states, actions, noise)
        self.states = step.states
        return StepOutcomes(step.rewards, step.ended, step.solved)

    def observe(self) -> Array:
        """(n, o): what a policy observes now."""
        return self._task.observe(self.contexts, self.states)

    def seed(self, seed: int) -> None:
        """Draw the noise from now on as a generator with this `seed` does."""
        self.rng = np.random.default_rng(seed)
