"""How far one can go."""

from collections.abc import Callable


def largest_share(holds: Callable[[float], bool], halvings: int) -> float:
    """The largest share in [0, 1) at which `holds`, to 2^-halvings, on the side where it does.

    It must hold at 0 and, once it fails, fail from there on.
    """
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
