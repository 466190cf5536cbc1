"""Asks for a few contexts, served from a larger batch.

Teachers that mix several ways to sample give each its share of a batch. Environments ask for one
context at a time, of which a tenth is none.
"""

from collections.abc import Callable

import numpy as np

from selfpaced.maths.arrays import Array


class SmallAsks:
    """`batch(n, rng)` for n from `at_once` on; below, parts of shuffled batches of `at_once`."""

    def __init__(
        self, batch: Callable[[int, np.random.Generator], Array], at_once: int, dimension: int
    ) -> None:
        self._batch, self._at_once = batch, at_once
        self.left = np.zeros((0, dimension))  # of the last batch

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        if n >= self._at_once:
            return self._batch(n, rng)
        if len(self.left) < n:
            batch = self._batch(self._at_once, rng)
            self.left = np.concatenate([self.left, batch[rng.permutation(self._at_once)]])
        asked, self.left = self.left[:n], self.left[n:]
        return asked
