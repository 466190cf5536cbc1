"""What batches of episodes with a curriculum have in common."""

import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from selfpaced.deep.curriculum import Curriculum
from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.types import State


class TaughtStep(NamedTuple):
    """What one step of every episode led to, one entry per episode."""

    rewards: Array
    """(n,): the reward of the step."""
    over: BoolArray
    """(n,): True where the episode is over, so that a new one has begun."""
    truncated: BoolArray
    """(n,): True where the time limit ended the episode, and nothing else did."""
    observations: Array
    """(n, o): what is observed after the step, and before new episodes begin."""


class TaughtBatch(ABC):
    """n episodes at contexts of a curriculum. Those that are over are followed by new ones."""

    curriculum: Curriculum
    """The teacher, and the contexts that it has handed out."""
    finished: list[tuple[float, float, int]]
    """Sum of the rewards, success and length of each episode since `forget_finished`."""
    finished_contexts: list[Array]
    """(d,): the context of each of them."""
    teacher_seconds: float
    """CPU time that the teacher has taken in this process, with the curriculum around it.

    The 0.3 s to load SciPy's optimisers, once per process, are not part of it.
    """

    def __init__(self, curriculum: Curriculum) -> None:
        importlib.import_module("scipy.optimize")
        self.curriculum, self.teacher_seconds = curriculum, 0.0
        self.forget_finished()

    @abstractmethod
    def observe(self) -> Array:
        """(n, o): what a policy observes now."""

    @abstractmethod
    def step(self, actions: Array) -> TaughtStep:
        """Simulate one step, with actions (n, a) that are clipped to what the task allows."""

    @property
    @abstractmethod
    def current_contexts(self) -> Array:
        """(n, d): the context of each episode."""

    @abstractmethod
    def state(self) -> State:
        """Everything that later steps depend on, as plain arrays."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""

    @contextmanager
    def _teacher_timed(self) -> Generator[None]:
        """What happens inside counts as the teacher's time."""
        began = time.process_time()
        yield
        self.teacher_seconds += time.process_time() - began

    def _note_finished(
        self, contexts: Array, sums: Array, successes: Array, steps: IntArray
    ) -> None:
        """List k episodes as finished, with their contexts (k, d) and a column (k,) of each."""
        self.finished += zip(sums.tolist(), successes.tolist(), steps.tolist(), strict=True)
        self.finished_contexts += list(contexts)

    def forget_finished(self) -> None:
        """Forget the episodes that are listed as finished."""
        self.finished, self.finished_contexts = [], []

    @property
    def contexts(self) -> Array:
        """(k, d): contexts of the episodes that are listed as finished; of all if none is."""
        return np.array(self.finished_contexts or self.current_contexts)

    def metrics(self) -> dict[str, float]:
        """Success rate, reward per step and length of the finished episodes; nan if none is."""
        if not self.finished:
            return {"success": np.nan, "step_reward": np.nan, "episode_steps": np.nan}
        sums, successes, steps = np.array(self.finished).T
        return {
            "success": float(successes.mean()),
            "step_reward": float(sums.sum() / steps.sum()),
            "episode_steps": float(steps.mean()),
        }
