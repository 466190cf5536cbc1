"""The contexts through which a curriculum came, by which it goes back when success is lost.

A learner can lose what it had mastered: its world has changed, or an update has broken its policy.
The last mastered contexts are then those of the target, which are now too hard. So a curriculum
keeps a trail e_0, ..., e_k of contexts that were mastered, oldest first. While success stays lost,
each step back skips twice as many of them as the one before,

    e_k,  e_(k-2),  e_(k-6),  e_(k-14),  ...,  e_0,

so that it is back at its beginning after about log2(k) steps.
"""

from collections.abc import Sequence

import numpy as np

from selfpaced.maths.arrays import Array

MOST = 64  # entries of a trail; beyond that, every second one is dropped


class Trail:
    """Contexts that were mastered, oldest first; each entry is a tuple of arrays."""

    def __init__(self) -> None:
        self._entries: list[tuple[Array, ...]] = []
        self._stride = 1  # entries by which the next step back goes

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Trail({len(self)} entries)"

    def add(self, *entry: Array) -> None:
        """Add contexts that are mastered now; the next step back begins with them."""
        self._entries.append(tuple(np.array(array, dtype=float) for array in entry))
        self._stride = 1
        if len(self) > MOST:  # the oldest and the newest stay
            self._entries = [self._entries[0], *self._entries[:0:-2][::-1]]

    def back(self) -> tuple[Array, ...] | None:
        """The contexts to go back to, without those after them; None if nothing is left."""
        if not self._entries:
            return None
        at = max(0, len(self) - self._stride)
        found = self._entries[at]
        del self._entries[at:]
        self._stride *= 2
        return found

    def state(self) -> dict[str, Array]:
        """The state as plain arrays; empty for an empty trail that was never used."""
        if not self._entries and self._stride == 1:
            return {}
        columns = zip(*self._entries, strict=True)
        stacked = {f"trail.{i}": np.stack(column) for i, column in enumerate(columns)}
        return {"trail.stride": np.array(self._stride), **stacked}

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from a `state`, which may hold other arrays besides."""
        self._entries, self._stride = [], int(state.get("trail.stride", np.array(1)))
        columns: list[Sequence[Array]] = []
        while f"trail.{len(columns)}" in state:
            columns.append(list(np.array(state[f"trail.{len(columns)}"], dtype=float)))
        self._entries = list(zip(*columns, strict=True))
