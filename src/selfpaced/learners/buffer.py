"""The experience buffer: the samples of the last few iterations, with their value features."""

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.features import Features
from selfpaced.types import Samples, State


class Buffer:
    """The last `size` batches. Features are computed once per batch, when it arrives."""

    def __init__(self, size: int, features: Features) -> None:
        self.size = check_at_least("buffer_size", size, 1)
        self._phi = features
        self._batches: list[Samples] = []
        self._features: list[Array] = []

    def append(self, batch: Samples) -> None:
        self._batches = [*self._batches, batch][-self.size :]
        self._features = [*self._features, self._phi(batch.contexts)][-self.size :]

    @property
    def full(self) -> bool:
        return len(self._batches) == self.size

    def pooled(self) -> Samples:
        """All samples as one batch, oldest first."""
        return Samples(
            np.concatenate([batch.contexts for batch in self._batches]),
            np.concatenate([batch.thetas for batch in self._batches]),
            np.concatenate([batch.rewards for batch in self._batches]),
            np.concatenate([batch.successes for batch in self._batches]),
        )

    def features(self) -> Array:
        """Value features of the pooled samples, (N, m)."""
        return np.concatenate(self._features)

    def state(self) -> State:
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
        self._batches, self._features = [], []
        ends = np.cumsum(state["sizes"])
        for start, end in zip(ends - state["sizes"], ends, strict=True):
            rows = slice(int(start), int(end))
            self.append(
                Samples(
                    *(
                        np.array(state[name][rows], dtype=float)
                        for name in ("contexts", "thetas", "rewards", "successes")
                    )
                )
            )
