"""A box of contexts that grows where its faces are mastered (ADR; OpenAI, 2019).

ADR stands for automatic domain randomisation. It widens the range of contexts as far as the learner
succeeds, and needs no target.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.targets.target import Target
from selfpaced.teachers.episodes import episode_values
from selfpaced.teachers.feasible_teacher import feasible_only, ordered_space
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State

ON_A_FACE = 0.5  # share of the contexts that are put on a face, to test it


@dataclass(frozen=True, kw_only=True)
class ADR:
    """Automatic domain randomisation: a box that grows. It needs successes and no target.

    The box starts small, in the middle of the context space. Half of the contexts lie on one of
    its faces. The success rate at a face decides whether the face moves out or in.

    >>> import numpy as np
    >>> from selfpaced import ADR, Box, Gaussian
    >>> teacher = ADR().start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> contexts = teacher.ask(100, np.random.default_rng(0))
    >>> teacher.tell(contexts, rewards=np.zeros(100), successes=(contexts[:, 0] > 0.5) * 1.0)
    >>> teacher
    ADRTeacher(contexts from [0.475] to [0.575], 0 episodes at its faces since they were judged)
    """

    first_width: float = 0.1
    """Initial width of the box, as a share of the context space's; values above 1 count as 1."""
    step: float = 0.05
    """Distance by which a face moves each time, as a share of half the context space's width."""
    grow_above: float = 0.8
    """Success rate at a face, from 0 to 1, above which the face moves out."""
    shrink_below: float = 0.4
    """Success rate at a face below which it moves in; must be below `grow_above`."""
    window: int = 10
    """Episodes at a face after which it is judged; the count then starts again."""

    def __post_init__(self) -> None:
        check_at_least("window", self.window, 1)
        check_positive("first_width", self.first_width)
        check_positive("step", self.step)
        if not 0.0 <= self.shrink_below < self.grow_above <= 1.0:
            raise ValueError(
                f"shrink_below must be below grow_above, both in [0, 1]; "
                f"got {self.shrink_below}, {self.grow_above}"
            )

    def start(self, context_space: Box, target: Target) -> "ADRTeacher":
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        space = ordered_space(context_space, "ADR")
        return feasible_only(ADRTeacher(self, space), space)


class ADRTeacher(StartedTeacher):
    """ADR between two batches: the inner box, and the successes at each of its 2 d faces."""

    _judged_by = "success"

    def __init__(self, config: ADR, box: Box) -> None:
        self._config, self._box = config, box
        half = min(config.first_width, 1.0) * box.width / 2
        faces = np.stack([box.centre - half, box.centre + half])  # (2, d): low, high
        self._faces = np.clip(faces, box.low, box.high)  # rounding may put a face outside
        # (2, d): episodes and successes at each face since it was judged last.
        self._counts = np.zeros((2, box.dimension), dtype=np.int64)
        self._wins = np.zeros((2, box.dimension))

    def __repr__(self) -> str:
        low, high = self._faces.round(4).tolist()
        return (
            f"ADRTeacher(contexts from {low} to {high}, {self._counts.sum()} episodes at its faces "
            "since they were judged)"
        )

    @property
    def faces(self) -> Array:
        """(2, d): lower and upper bounds of the inner box, from which contexts are drawn."""
        return self._faces.copy()

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d) from the inner box, about half of them on one of its faces."""
        low, high = self._faces
        contexts = low + rng.random((n, self._box.dimension)) * (high - low)
        on_face = rng.random(n) < ON_A_FACE
        side = rng.integers(2, size=n)
        axis = rng.integers(self._box.dimension, size=n)
        rows = np.flatnonzero(on_face)
        contexts[rows, axis[rows]] = self._faces[side[rows], axis[rows]]
        return self._box.snapped(contexts)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Count the successes at each face, and judge the faces with enough episodes."""
        values = episode_values("success", rewards, successes, "ADR")
        for side in range(2):
            for axis in range(self._box.dimension):
                faces = self._box.snapped(self._faces)
                # A context on a face that has moved since it was drawn counts for no face.
                here = values[contexts[:, axis] == faces[side, axis]]
                self._counts[side, axis] += len(here)
                self._wins[side, axis] += here.sum()
                if self._counts[side, axis] >= self._config.window:
                    self._judge(side, axis)

    def _judge(self, side: int, axis: int) -> None:
        """Move a face by its success rate, but not past the centre or out of the context space."""
        rate = self._wins[side, axis] / self._counts[side, axis]
        outwards = 1.0 if side else -1.0
        step = outwards * self._config.step * self._box.width[axis] / 2
        if rate > self._config.grow_above:
            self._faces[side, axis] += step
        elif rate < self._config.shrink_below:
            self._faces[side, axis] -= step
        centre = self._box.centre[axis]
        bounds = (centre, self._box.high[axis]) if side else (self._box.low[axis], centre)
        self._faces[side, axis] = np.clip(self._faces[side, axis], *bounds)
        self._counts[side, axis], self._wins[side, axis] = 0, 0.0

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {"faces": self._faces, "counts": self._counts, "wins": self._wins}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._check_state(state, ("faces", "counts", "wins"), rows=("faces",))
        self._faces, self._wins = np.array(state["faces"]), np.array(state["wins"])
        self._counts = np.array(state["counts"])
