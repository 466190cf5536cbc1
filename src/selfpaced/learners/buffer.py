"""The experience buffer of the REPS learners: the batches of the last few iterations."""

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.features import Features
from selfpaced.types import Samples, State


class Buffer:
    """The last `size` batches of samples, with their value features.

    An update learns from all of them. The features of a batch are computed once, when it arrives.
    """

    def __init__(self, size: int, features: Features) -> None:
        self.size = check_at_least("buffer_size", size, 1)
        self._phi = features
        self._batches: list[Samples] = []
        self._features: list[Array] = []

    def __repr__(self) -> str:
        rollouts = sum(len(batch) for batch in self._batches)
        return f"Buffer({len(self._batches)} of {self.size} batches, {rollouts} rollouts)"

    def append(self, batch: Samples) -> None:
        """Add `batch` as the newest one; the oldest leaves if there are more than `size`."""
        self._batches = [*self._batches, batch][-self.size :]
        self._features = [*self._features, self._phi(batch.contexts)][-self.size :]

    def clear(self) -> None:
        """Forget all batches."""
        self._batches, self._features = [], []

    @property
    def full(self) -> bool:
        """True once there are `size` batches; learners only collect samples until then."""
        return len(self._batches) == self.size

    def pooled(self) -> Samples:
        """All samples as one batch, oldest first."""
        return _together(self._batches)

    def newest(self, rollouts: int) -> Samples:
        """The newest batches that hold at least so many `rollouts`, as one; all if they do not."""
        first, held = len(self._batches), 0
        while held < rollouts and first > 0:
            first -= 1
            held += len(self._batches[first])
        return _together(self._batches[first:])

    def features(self) -> Array:
        """(n, m): value features of the pooled samples."""
        return np.concatenate(self._features)

    def state(self) -> State:
        """The batches as plain arrays, one after another, with the size of each."""
        sizes = np.array([len(batch) for batch in self._batches], dtype=np.int64)
        if not self._batches:
            return {"sizes": sizes}
        pooled = self.pooled()
        return {
            "sizes": sizes,
            "contexts": pooled.contexts,
            "thetas": pooled.thetas,
            "rewards": pooled.rewards,
            "successes": pooled.successes,
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`; the features are computed again."""
        self.clear()
        ends = np.cumsum(state["sizes"])
        for start, end in zip(ends - state["sizes"], ends, strict=True):
            rows = slice(int(start), int(end))
            names = ("contexts", "thetas", "rewards", "successes")
            self.append(
                Samples(**{name: np.array(state[name][rows], dtype=float) for name in names})
            )


def _together(batches: list[Samples]) -> Samples:
    """`batches` as one."""
    if len(batches) == 1:
        return batches[0]
    return Samples(
        contexts=np.concatenate([batch.contexts for batch in batches]),
        thetas=np.concatenate([batch.thetas for batch in batches]),
        rewards=np.concatenate([batch.rewards for batch in batches]),
        successes=np.concatenate([batch.successes for batch in batches]),
    )
