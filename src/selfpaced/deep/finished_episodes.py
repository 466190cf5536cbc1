"""Episodes that have ended, as a teacher is told of them."""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array


class Episodes(NamedTuple):
    """Finished episodes, one per row."""

    contexts: Array
    """(n, d): the context of each episode."""
    returns: Array
    """(n,): the sum of each episode's rewards."""
    successes: Array
    """(n,): 1 for success, 0 for failure; nan where the environment does not define success."""


def joined(parts: list[Episodes]) -> Episodes:
    """The episodes of all `parts`, in order."""
    return Episodes(*(np.concatenate(column) for column in zip(*parts, strict=True)))
