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

AT_ONCE = 10
"""Episodes that a teacher is told of at once; as many contexts wait for the next ones.

Asking a teacher for every single episode took 5% to 12% of the CPU time of PPO.
"""


class TaughtEpisodes(TaughtBatch):
    """n episodes at contexts of a curriculum. Those that are over are followed by new ones.

    `rng` draws the noise of the task. The curriculum numbers contexts from 0 to n + `AT_ONCE` - 1:
    n of them are played, and each of the others waits for an episode, or its episode is over and
    the teacher has not been told yet. When none waits, the teacher is told of all `AT_ONCE`
    episodes, and chooses as many contexts.
    """

    def __init__(
        self, task: StepwiseTask, n: int, curriculum: Curriculum, rng: np.random.Generator
    ) -> None:
        super().__init__(curriculum)
        self._task = task
        self._episodes = StepwiseEpisodes(task, n, rng)
        self._steps = np.zeros(n, dtype=np.int64)  # of each episode so far
        self._sums, self._returns = np.zeros((2, n))  # of its rewards, as they are and discounted
        self._numbers, self._waiting = np.split(np.arange(n + AT_ONCE), [n])
        self._chosen = np.zeros((n + AT_ONCE, task.context_space.dimension))  # by number
        self._untold: list[Array] = [np.zeros((0, 3))]  # number, return and success of episodes
        self._choose(np.arange(n + AT_ONCE))
        self._episodes.begin(np.arange(n), self._chosen[:n])

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
        """Take note of the episodes `rows` (k,), which are over, and begin others there."""
        successes = solved[rows].astype(float)
        contexts = self._episodes.contexts[rows]
        self._note_finished(contexts, self._sums[rows], successes, self._steps[rows])
        ended = np.array([self._numbers[rows], self._returns[rows], successes], dtype=float).T
        done = 0
        while done < len(rows):
            taken = rows[done : done + len(self._waiting)]
            self._untold.append(ended[done : done + len(taken)])
            self._numbers[taken] = self._waiting[: len(taken)]
            self._waiting = self._waiting[len(taken) :]
            done += len(taken)
            if len(self._waiting) == 0:
                self._tell()
        self._episodes.begin(rows, self._chosen[self._numbers[rows]])
        self._steps[rows], self._sums[rows], self._returns[rows] = 0, 0.0, 0.0

    def _tell(self) -> None:
        """Tell the teacher of the episodes that it does not know, and let it choose others."""
        numbers, returns, successes = np.concatenate(self._untold).T
        self._waiting, self._untold = numbers.astype(np.int64), [np.zeros((0, 3))]
        with self._teacher_timed():
            self.curriculum.finished(self._waiting, returns, successes)
        self._choose(self._waiting)

    def _choose(self, numbers: IntArray) -> None:
        """Let the teacher choose the contexts `numbers` (k,)."""
        with self._teacher_timed():
            self._chosen[numbers] = self.curriculum.next_contexts(numbers)

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
            "numbers": self._numbers.copy(),
            "waiting": self._waiting.copy(),
            "chosen": self._chosen.copy(),
            "untold": np.concatenate(self._untold),
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
        self._numbers, self._waiting = np.array(state["numbers"]), np.array(state["waiting"])
        self._chosen, self._untold = np.array(state["chosen"]), [np.array(state["untold"])]
        self.forget_finished()
