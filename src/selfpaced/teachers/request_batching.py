"""Requests for a few contexts, served from a larger batch.

Some teachers mix several ways to sample and give each its share of a batch. Environments ask for
one context at a time, and a 10% share of one context rounds to zero. Small requests are therefore
served from a shuffled batch, of which every way to sample gets its share.
"""

from collections.abc import Callable

import numpy as np

from selfpaced.maths.arrays import Array


class RequestBatcher:
    """Serves requests below `at_once` contexts from shuffled batches of `at_once`.

    Larger requests go directly to `batch(n, rng)`, the function that draws n contexts.
    """

    def __init__(
        self, batch: Callable[[int, np.random.Generator], Array], at_once: int, dimension: int
    ) -> None:
        self._batch, self._at_once = batch, at_once
        self.left = np.zeros((0, dimension))  # contexts that were drawn and not asked for yet

    def __repr__(self) -> str:
        return f"RequestBatcher(batches of {self._at_once}, {len(self.left)} contexts left)"

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): contexts from a batch of their own, or the next of a shuffled one."""
        if n >= self._at_once:
            return self._batch(n, rng)
        if len(self.left) < n:
            batch = self._batch(self._at_once, rng)
            self.left = np.concatenate([self.left, batch[rng.permutation(self._at_once)]])
        asked, self.left = self.left[:n], self.left[n:]
        return asked
