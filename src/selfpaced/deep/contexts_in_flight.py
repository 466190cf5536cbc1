"""Contexts that a teacher has handed out and whose episodes have not ended yet.

They are kept in arrays, so that 100,000 environments need no loop over environments.
"""

import numpy as np

from selfpaced.maths.arrays import Array, IntArray

FEW = 100  # environments, for which a set tells faster than an array whether any occurs twice


class ContextsInFlight:
    """A queue of contexts for every environment; the oldest context leaves first.

    Environments are numbered from 0. The arrays grow with the largest number that is seen.
    """

    def __init__(self, dimension: int) -> None:
        self._contexts = np.zeros((0, 1, dimension))  # (environments, places, d), as rings
        self._first = np.zeros(0, dtype=np.int64)  # place of each environment's oldest context
        self._counts = np.zeros(0, dtype=np.int64)  # contexts in flight of each environment

    def __len__(self) -> int:
        """The number of contexts in flight, of all environments."""
        return int(self._counts.sum())

    def __repr__(self) -> str:
        return f"ContextsInFlight({len(self)} contexts of {len(self._counts)} environments)"

    def add(self, ids: IntArray, contexts: Array) -> None:
        """Append `contexts` (k, d) to the queues of the environments `ids` (k,), which may repeat.

        Several contexts for one environment are queued in the order of their rows.
        """
        if len(ids) == 0:
            return
        self._grow_to(int(ids.max()) + 1)
        distinct = _distinct(ids)
        behind = self._counts[ids]
        if not distinct:
            behind += _repeats_before(ids)
        while behind.max() >= self._contexts.shape[1]:
            self._add_places()
        places = (self._first[ids] + behind) % self._contexts.shape[1]
        self._contexts[ids, places] = contexts
        if distinct:
            self._counts[ids] += 1
        else:
            np.add.at(self._counts, ids, 1)

    def has_each(self, ids: IntArray) -> bool:
        """True if no environment occurs twice in `ids` (k,) and all have a context in flight.

        This is the rule, and quick to tell. If it is False, `counts` says more.
        """
        if not _distinct(ids) or max(ids.tolist(), default=-1) >= len(self._counts):
            return False
        return bool(self._counts[ids].all())

    def counts(self, ids: IntArray) -> IntArray:
        """(k,): contexts in flight of each of the environments `ids` (k,)."""
        found = np.zeros(len(ids), dtype=np.int64)
        known = ids < len(self._counts)
        found[known] = self._counts[ids[known]]
        return found

    def oldest(self, ids: IntArray) -> Array:
        """(k, d): the oldest contexts of the environments `ids` (k,).

        An environment that occurs twice yields its two oldest, in order. Each must have as many.
        """
        places = self._first[ids]
        if not _distinct(ids):
            places = (places + _repeats_before(ids)) % self._contexts.shape[1]
        return self._contexts[ids, places]

    def drop_oldest(self, ids: IntArray) -> None:
        """Forget the contexts that `oldest(ids)` returns."""
        places = self._contexts.shape[1]
        if _distinct(ids):
            self._counts[ids] -= 1
            self._first[ids] = (self._first[ids] + 1) % places
        else:
            np.add.at(self._counts, ids, -1)
            np.add.at(self._first, ids, 1)
            self._first %= places

    def drop_until(self, environment: int, context: Array) -> None:
        """Forget the contexts of one environment up to `context` (d,); none if it has not got it.

        The contexts before it are of episodes that a reset has cut short.
        """
        if environment >= len(self._counts):
            return
        count = int(self._counts[environment])
        places = (self._first[environment] + np.arange(count)) % self._contexts.shape[1]
        equal = np.flatnonzero((self._contexts[environment, places] == context).all(axis=1))
        if equal.size:
            self.drop_oldest(np.full(int(equal[0]) + 1, environment))

    def rows(self) -> tuple[IntArray, Array]:
        """All contexts in flight: environments (k,) and contexts (k, d), oldest first in each."""
        ids = np.repeat(np.arange(len(self._counts)), self._counts)
        return ids, self.oldest(ids)

    def _grow_to(self, environments: int) -> None:
        missing = environments - len(self._counts)
        if missing > 0:
            places = np.zeros((missing, *self._contexts.shape[1:]))
            self._contexts = np.concatenate([self._contexts, places])
            self._first = np.concatenate([self._first, np.zeros(missing, dtype=np.int64)])
            self._counts = np.concatenate([self._counts, np.zeros(missing, dtype=np.int64)])

    def _add_places(self) -> None:
        """Double the places of every ring; the oldest contexts move to place 0."""
        environments, places, _ = self._contexts.shape
        order = (self._first[:, None] + np.arange(places)) % places
        sorted_rings = self._contexts[np.arange(environments)[:, None], order]
        self._contexts = np.concatenate([sorted_rings, np.zeros_like(sorted_rings)], axis=1)
        self._first[:] = 0


def _distinct(ids: IntArray) -> bool:
    """True if no entry of `ids` (k,) occurs twice; only asked of few, where it is the rule."""
    return len(ids) < FEW and len(set(ids.tolist())) == len(ids)


def _repeats_before(ids: IntArray) -> IntArray:
    """(k,): how often each entry of `ids` (k,) has occurred before."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    run = np.repeat(starts, np.diff(np.concatenate([starts, [len(ids)]])))
    before = np.empty(len(ids), dtype=np.int64)
    before[order] = np.arange(len(ids)) - run
    return before
