"""Basis functions over time, which the movements of both robot tasks weigh (appendix C, ProMPs).

A movement is u(t) = theta^T psi(t) with the parameters theta and k Gaussian basis functions psi_j
of width L around the centres c_j:

    psi_j(t) = b_j(t) / sum_l b_l(t),    b_j(t) = exp(-(t - c_j)^2 / (2 L)).

The paper prints b_j without the minus sign, and calls the number of basis functions L as well.
"""

import numpy as np

from selfpaced.maths.arrays import Array


def basis(times: Array, centres: Array, width: float) -> Array:
    """(t, k): psi_j of each of k basis functions at each of t times; every row sums to 1.

    `times` (t,) and `centres` (k,) have the same unit, and `width`, L, that unit squared. In the
    paper a movement lasts from 0 to 1.
    """
    exponents = -((times[:, None] - centres) ** 2) / (2.0 * width)
    activations = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return activations / activations.sum(axis=1, keepdims=True)


def basis_velocity(times: Array, centres: Array, width: float) -> Array:
    """(t, k): the derivative of `basis` with respect to time."""
    activations = basis(times, centres, width)
    slopes = -(times[:, None] - centres) / width  # derivatives of the exponents
    return activations * (slopes - (activations * slopes).sum(axis=1, keepdims=True))
