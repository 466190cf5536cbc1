"""Episodes of a stepwise task that a curriculum gives contexts to, as one batch.

They can be saved in the middle of an episode, because all of their state is in arrays.
"""

import numpy as np

from selfpaced.deep.curriculum import Curriculum
from selfpaced.deep.stepwise_episodes import StepwiseEpisodes
from selfpaced.deep.taught_batch import TaughtBatch, TaughtStep
from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.maths.randomness import generator_state, restored_generator
from selfpaced.tasks.stepwise_task import StepwiseTask
from selfpaced.types import State, part_of, prefixed


class TaughtEpisodes(TaughtBatch):
    """n episodes at contexts of a curriculum. Those that are over are followed by new ones.

    `rng` draws the noise of the task.
    """

    def __init__(
        self, task: StepwiseTask, n: int, curriculum: Curriculum, rng: np.random.Generator
    ) -> None:
        super().__init__(curriculum)
        self._task = task
        self._episodes = StepwiseEpisodes(task, n, rng)
        self._steps = np.zeros(n, dtype=np.int64)  # of each episode so far
        self._sums, self._returns = np.zeros((2, n))  # of its rewards, as they are and discounted
        rows = np.arange(n)
        self._episodes.begin(rows, curriculum.next_contexts(rows))

    def __repr__(self) -> str:
        return f"TaughtEpisodes({len(self._steps)} of {self._task.name}, {self.curriculum!r})"

    def observe(self) -> Array:
        """(n, o): what a policy observes now."""
        return self._episodes.observe()

    def step(self, actions: Array) -> TaughtStep:
        """Simulate one step, with actions (n, a) that are clipped to the task's limit."""
        limit, discount = self._task.action_limit, self._task.discount
        rewards, ended, solved = self._episodes.move(np.clip(actions, -limit, limit))
        self._sums += rewards
        self._returns += discount**self._steps * rewards
        self._steps += 1
        truncated = (self._steps >= self._task.steps) & ~ended
        over = ended | truncated
        observations = self._episodes.observe()
        if over.any():
            self._begin_anew(np.flatnonzero(over), solved)
        return TaughtStep(rewards, over, truncated, observations)

    def _begin_anew(self, rows: IntArray, solved: BoolArray) -> None:
        """Tell the teacher of the episodes `rows` (k,), and begin others there."""
        contexts = self._episodes.contexts[rows]
        successes = solved[rows].astype(float)
        self._note_finished(contexts, self._sums[rows], successes, self._steps[rows])
        self.curriculum.finished(rows, self._returns[rows], successes)
        self._episodes.begin(rows, self.curriculum.next_contexts(rows))
        self._steps[rows], self._sums[rows], self._returns[rows] = 0, 0.0, 0.0

    @property
    def current_contexts(self) -> Array:
        """(n, d): the context of each episode."""
        return self._episodes.contexts

    def state(self) -> State:
        """Everything that later steps depend on, as plain arrays."""
        episodes = self._episodes
        return {
            "contexts": episodes.contexts.copy(),
            "states": episodes.states.copy(),
            "noise": generator_state(episodes.rng),
            "steps": self._steps.copy(),
            "sums": np.array([self._sums, self._returns]),
            **prefixed("curriculum.", self.curriculum.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self.curriculum.restore(part_of(state, "curriculum."))
        self._episodes.contexts = np.array(state["contexts"])
        self._episodes.states = np.array(state["states"])
        self._episodes.rng = restored_generator(state["noise"])
        self._steps = np.array(state["steps"])
        self._sums, self._returns = np.array(state["sums"])
        self.forget_finished()
