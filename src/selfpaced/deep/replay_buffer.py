"""The last transitions of some environments, from which batches are drawn."""

import numpy as np

from selfpaced.deep.sac_learner import Transitions
from selfpaced.maths.arrays import BoolArray
from selfpaced.maths.perceptron import Floats
from selfpaced.types import State


class ReplayBuffer:
    """Keeps `places` transitions of each of n environments; the oldest are replaced first."""

    def __init__(self, places: int, n: int, observed: int, actions: int) -> None:
        self._columns = Transitions(
            observations=np.zeros((places, n, observed), dtype=np.float32),
            actions=np.zeros((places, n, actions), dtype=np.float32),
            rewards=np.zeros((places, n), dtype=np.float32),
            following=np.zeros((places, n, observed), dtype=np.float32),
            ended=np.zeros((places, n), dtype=np.float32),
        )
        self._added = 0  # steps of all environments so far

    def __repr__(self) -> str:
        return f"ReplayBuffer({len(self)} of {self._columns.rewards.size} transitions)"

    def __len__(self) -> int:
        places, n = self._columns.rewards.shape
        return n * min(self._added, places)

    def add(
        self,
        observations: Floats,
        actions: Floats,
        rewards: Floats,
        following: Floats,
        ended: BoolArray,
    ) -> None:
        """Keep one step of every environment: a transition per row."""
        place = self._added % len(self._columns.rewards)
        step = (observations, actions, rewards, following, ended)
        for column, rows in zip(self._columns, step, strict=True):
            column[place] = rows
        self._added += 1

    def sample(self, size: int, rng: np.random.Generator) -> Transitions:
        """`size` transitions, each drawn evenly from all."""
        rows = rng.integers(len(self), size=size)
        flat = (column.reshape(-1, *column.shape[2:]) for column in self._columns)
        return Transitions(*(column[rows] for column in flat))

    def state(self) -> State:
        """The transitions as plain arrays."""
        held = min(self._added, len(self._columns.rewards))
        columns = self._columns._asdict().items()
        return {"added": np.array(self._added)} | {name: c[:held].copy() for name, c in columns}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._added = int(state["added"])
        for name, column in self._columns._asdict().items():
            column[: len(state[name])] = state[name]
