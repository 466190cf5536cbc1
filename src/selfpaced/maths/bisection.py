"""Bisection for the largest t in [0, 1] at which a condition still holds."""

import math
from collections.abc import Callable

import scipy


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


def largest_root(margin: Callable[[float], float], halvings: int) -> float:
    """`largest_that_holds` for the condition that a smooth `margin(t)` is at least 0.

    Brent's method finds the same multiple of 2^-halvings with a quarter of the evaluations.
    """
    least = math.ldexp(1.0, -halvings)
    if margin(1.0) >= 0.0:
        return 1.0 - least
    low, high = 0.5, 1.0
    while margin(low) < 0.0:
        low, high = low / 2, low
        if low < least:
            return 0.0
    root = float(scipy.optimize.brentq(margin, low, high, xtol=1e-15))
    return math.floor(root / least) * least
