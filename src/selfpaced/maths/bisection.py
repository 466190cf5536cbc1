"""Bisection for the largest t in [0, 1] at which a condition still holds."""

from collections.abc import Callable


def largest_that_holds(holds: Callable[[float], bool], halvings: int) -> float:
    """The largest t in [0, 1) for which `holds(t)` is true, exact to 2^-halvings.

    The condition must hold at 0 and, from the t at which it first fails, fail for all larger t.
    The result lies on the side where it holds.
    """
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
