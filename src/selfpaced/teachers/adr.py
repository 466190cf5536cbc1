"""A box that grows where its faces are mastered (automatic domain randomisation; OpenAI, 2019)."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.teachers.episodes import judged
from selfpaced.types import State

ON_A_FACE = 0.5  # share of the contexts that test a face


@dataclass(frozen=True, kw_only=True)
class ADR:
    """Automatic domain randomisation: needs successes, and no target.

    It starts around the middle of the context box. Half of the contexts lie on one of its own
    box's faces; what is achieved there moves the face out, or in.
    """

    first: float = 0.1  # half-width of the first box, as a share of the context box's half-width
    step: float = 0.05  # by which a face moves, in the same unit
    high: float = 0.8  # success at a face above which it moves out
    low: float = 0.4  # success below which it moves in
    window: int = 10  # episodes at a face that decide

    def __post_init__(self) -> None:
        check_at_least("window", self.window, 1)
        check_positive("first", self.first)
        check_positive("step", self.step)
        if not 0.0 <= self.low < self.high <= 1.0:
            raise ValueError(f"low must be below high, both in [0, 1]; got {self.low}, {self.high}")

    def start(self, context_space: Box, target: Gaussian) -> "ADRTeacher":
        return ADRTeacher(self, context_space)


class ADRTeacher:
    """The inner box, and the last successes at each of its 2 d faces."""

    def __init__(self, numbers: ADR, box: Box) -> None:
        self._numbers, self._box = numbers, box
        half = min(numbers.first, 1.0) * box.width / 2
        faces = np.stack([box.centre - half, box.centre + half])  # (2, d): low, high
        self._faces = np.clip(faces, box.low, box.high)  # rounding may lead beyond
        self._counts = np.zeros((2, box.dimension), dtype=np.int64)
        self._wins = np.zeros((2, box.dimension))

    @property
    def faces(self) -> Array:
        """(2, d): lower and upper bounds of the inner box."""
        return self._faces.copy()

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        low, high = self._faces
        contexts = low + rng.random((n, self._box.dimension)) * (high - low)
        on_face = rng.random(n) < ON_A_FACE
        side = rng.integers(2, size=n)
        axis = rng.integers(self._box.dimension, size=n)
        rows = np.flatnonzero(on_face)
        contexts[rows, axis[rows]] = self._faces[side[rows], axis[rows]]
        return contexts

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        values = judged("success", rewards, successes, "ADR")
        for side in range(2):
            for axis in range(self._box.dimension):
                # Contexts on a face that has moved since lie on none.
                here = values[contexts[:, axis] == self._faces[side, axis]]
                self._counts[side, axis] += len(here)
                self._wins[side, axis] += here.sum()
                if self._counts[side, axis] >= self._numbers.window:
                    self._judge(side, axis)

    def _judge(self, side: int, axis: int) -> None:
        rate = self._wins[side, axis] / self._counts[side, axis]
        outwards = 1.0 if side else -1.0
        step = outwards * self._numbers.step * self._box.width[axis] / 2
        if rate > self._numbers.high:
            self._faces[side, axis] += step
        elif rate < self._numbers.low:
            self._faces[side, axis] -= step
        centre = self._box.centre[axis]
        bounds = (centre, self._box.high[axis]) if side else (self._box.low[axis], centre)
        self._faces[side, axis] = np.clip(self._faces[side, axis], *bounds)
        self._counts[side, axis], self._wins[side, axis] = 0, 0.0

    def state(self) -> State:
        return {"faces": self._faces, "counts": self._counts, "wins": self._wins}

    def restore(self, state: State) -> None:
        self._faces, self._wins = np.array(state["faces"]), np.array(state["wins"])
        self._counts = np.array(state["counts"])
