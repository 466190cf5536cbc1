"""Episodes of Gymnasium environments that a curriculum gives contexts to (extra `gym`).

An environment cannot be saved in the middle of an episode. But episodes begin with known seeds, so
a state holds the actions of the current ones, and `restore` plays them again.
"""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from typing import Any

import numpy as np

from selfpaced.deep.curriculum import Curriculum
from selfpaced.deep.gym_task import GymTask
from selfpaced.deep.taught_batch import TaughtBatch, TaughtStep
from selfpaced.maths.arrays import Array, IntArray
from selfpaced.maths.randomness import generator_state, restored_generator
from selfpaced.spaces.constrained import Infeasible
from selfpaced.types import State, part_of, prefixed


class TaughtEnvironments(TaughtBatch):
    """n environments of a `GymTask` at contexts of a curriculum; `rng` draws the episodes' seeds.

    Environments must repeat an episode exactly if seed, context and actions are the same.
    """

    def __init__(
        self, task: GymTask, n: int, curriculum: Curriculum, rng: np.random.Generator
    ) -> None:
        super().__init__(curriculum)
        self._task, self._rng = task, rng
        self._environments = task.new_environments(n)
        if not all(env.get_wrapper_attr("defines_success") for env in self._environments):
            curriculum.expect_no_successes()
        self._sums, self._seeds = np.zeros(n), np.zeros(n, dtype=np.int64)
        self._actions: list[list[Any]] = [[] for _ in range(n)]  # of the current episodes
        rows = np.arange(n)
        self._contexts = curriculum.next_contexts(rows)
        self._seen: Any = [None] * n
        self._begin(rows)

    def __repr__(self) -> str:
        return f"TaughtEnvironments({len(self._seen)} of {self._task.name}, {self.curriculum!r})"

    @property
    def current_contexts(self) -> Array:
        """(n, d): the context of each episode."""
        return self._contexts

    def observe(self) -> Array:
        """(n, o): what a policy observes now."""
        return np.array(self._seen, dtype=float)

    def step(self, actions: Array) -> TaughtStep:
        """Simulate one step, with actions (n, a): numbers of actions, or clipped to [-1, 1]."""
        n = len(actions)
        rewards, returns, successes = np.zeros((3, n))
        ended, truncated = np.zeros((2, n), dtype=bool)
        natural = self._task.natural_actions(actions)
        for i, env in enumerate(self._environments):
            self._actions[i].append(natural[i])
            self._seen[i], rewards[i], ended[i], truncated[i], info = env.step(natural[i])
            returns[i], successes[i] = info["episode_return"], info["episode_success"]
        self._sums += rewards
        over, observations = ended | truncated, self.observe()
        if over.any():
            rows = np.flatnonzero(over)
            contexts = self._contexts[rows].copy()
            steps = np.array([len(self._actions[i]) for i in rows])
            self._note_finished(contexts, self._sums[rows], successes[rows], steps)
            with self._teacher_timed():
                self.curriculum.finished(rows, returns[rows], successes[rows])
                self._contexts[rows] = self.curriculum.next_contexts(rows)
            self._begin(rows)
        return TaughtStep(rewards, over, truncated & ~ended, observations)

    def _begin(self, rows: IntArray) -> None:
        """Begin new episodes in the environments `rows` (k,), at their `_contexts`."""
        self._seeds[rows] = self._rng.integers(2**31, size=len(rows))
        for i in rows:
            self._sums[i], self._actions[i] = 0.0, []
            while not self._reset(i):
                self.curriculum.refused([i])
                self._contexts[i] = self.curriculum.next_contexts([i])[0]

    def _reset(self, i: int) -> bool:
        """Begin an episode with the known seed and context; False if the context is refused."""
        options = {"context": self._contexts[i]}
        try:
            self._seen[i], _ = self._environments[i].reset(
                seed=int(self._seeds[i]), options=options
            )
        except Infeasible:
            return False
        return True

    def state(self) -> State:
        """Everything that later steps depend on, as plain arrays."""
        return {
            "contexts": self._contexts.copy(),
            "seeds": self._seeds.copy(),
            "rng": generator_state(self._rng),
            "observations": self.observe(),
            **{f"actions.{i}": np.array(done) for i, done in enumerate(self._actions)},
            **prefixed("curriculum.", self.curriculum.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`, by playing the current episodes again.

        Raise a ValueError if they do not end where they did.
        """
        self.curriculum.restore(part_of(state, "curriculum."))
        self._contexts, self._seeds = np.array(state["contexts"]), np.array(state["seeds"])
        self._rng = restored_generator(state["rng"])
        for i, env in enumerate(self._environments):
            self._reset(i)
            self._actions[i], self._sums[i] = list(state[f"actions.{i}"]), 0.0
            for action in self._actions[i]:
                self._seen[i], reward, *_ = env.step(action)
                self._sums[i] += reward
        differ = np.flatnonzero((self.observe() != state["observations"]).any(axis=1))
        if differ.size:
            raise ValueError(
                f"environment must repeat an episode exactly, with the same seed, context and "
                f"actions, so that a training can continue; {self._task.name} does not in "
                f"{differ.size} of {len(self._seen)} episodes"
            )
        self.forget_finished()
