"""Movements as weighted basis functions over time (appendix, the ProMP of both robot tasks)."""

import numpy as np

from selfpaced.maths.arrays import Array


def basis(times: Array, centres: Array, width: float) -> Array:
    """(t, k): activation of each of k Gaussian bases at each of t times, each row summing to 1.

    b_j = exp(-(t - c_j)^2 / 2L) with L = `width`, over their sum; the paper prints no minus sign.
    """
    exponents = -((times[:, None] - centres) ** 2) / (2.0 * width)
    activations = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return activations / activations.sum(axis=1, keepdims=True)


def basis_velocity(times: Array, centres: Array, width: float) -> Array:
    """(t, k): the derivative of `basis` in time."""
    activations = basis(times, centres, width)
    slopes = -(times[:, None] - centres) / width  # of the exponents
    return activations * (slopes - (activations * slopes).sum(axis=1, keepdims=True))
