"""Which contexts are of intermediate difficulty, by the success rate of repeated episodes."""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array, IntArray

EASY, HARD = 0.9, 0.1  # success rates between which a context is of intermediate difficulty


class GroupedEpisodes(NamedTuple):
    """Episodes grouped by context."""

    contexts: Array
    """(k, d): contexts, all different."""
    rates: Array
    """(k,): the success rate of each."""
    counts: IntArray
    """(k,): how many episodes each had."""
    newest: IntArray
    """(k,): the row of each one's last episode."""


def grouped(rows: Array) -> GroupedEpisodes:
    """Episodes in rows (n, d + 2) of context, success and batch number, grouped by context."""
    if len(rows) == 0:
        none = np.zeros(0, dtype=np.int64)
        return GroupedEpisodes(rows[:, :-2], np.zeros(0), none, none)
    order = _sorted_rows(rows[:, :-2])
    contexts = rows[order, :-2]
    starts = _group_starts(contexts)
    ends = np.r_[starts[1:], len(rows)]
    counts = ends - starts
    rates = np.add.reduceat(rows[order, -2], starts) / counts
    return GroupedEpisodes(contexts[starts], rates, counts, order[ends - 1])


def _group_starts(ordered: Array) -> IntArray:
    """(k,): the first of each group of equal rows that follow each other in `ordered` (n, d)."""
    return np.flatnonzero(np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)])


def _sorted_rows(contexts: Array) -> IntArray:
    """(n,): the order that sorts `contexts` (n, d) by column 0, then 1, ...; equal rows stay.

    Few different contexts agree in column 0, so the other columns are sorted for these only.
    """
    order = np.argsort(contexts[:, 0], kind="stable")
    ordered = contexts[order]
    runs = np.cumsum(np.r_[False, ordered[1:, 0] != ordered[:-1, 0]])  # of one column 0 each
    starts = _group_starts(ordered)
    mixed = np.bincount(runs[starts]) > 1  # runs that hold different contexts
    unsorted = np.flatnonzero(mixed[runs])
    order[unsorted] = order[unsorted][np.lexsort(ordered[unsorted, ::-1].T)]
    return order


def labelled(told: GroupedEpisodes) -> tuple[Array, Array]:
    """Contexts tried at least twice, and labels: 1 for intermediate difficulty, else 0."""
    often = told.counts >= 2
    labels = (told.rates > HARD) & (told.rates < EASY)
    return told.contexts[often], labels[often].astype(float)
