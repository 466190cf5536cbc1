"""Small networks in NumPy: their outputs, exact gradients, and Adam.

All parameters of a network lie in one flat array, and the weights of its layers are views of it. So
a step of the optimiser is a handful of operations on one array. For networks of a hundred units
this takes less time than in a general framework, which spends most of it between operations.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
"""Floating-point numbers, of single precision when a network is trained."""
DECAY_1, DECAY_2, EPSILON = 0.9, 0.999, 1e-5  # of Adam, as Stable-Baselines3's PPO sets them


@dataclass(frozen=True)
class Perceptron:
    """The shape of a network with tanh in its hidden layers and a linear output.

    >>> import numpy as np
    >>> from selfpaced.maths.perceptron import Perceptron
    >>> network = Perceptron((6, 64, 64, 2))
    >>> parameters = network.initial(np.random.default_rng(0), gain=0.01)
    >>> network.outputs(parameters, np.zeros((5, 6), dtype=np.float32))[-1].shape
    (5, 2)
    """

    sizes: tuple[int, ...]
    """Number of inputs, of units in each hidden layer, and of outputs."""

    @property
    def count(self) -> int:
        """The number of parameters."""
        return sum(a * b + b for a, b in zip(self.sizes[:-1], self.sizes[1:], strict=True))

    def layers(self, parameters: Floats) -> list[tuple[Floats, Floats]]:
        """Views of the flat `parameters`: weights (inputs, outputs) and biases of each layer."""
        found, start = list[tuple[Floats, Floats]](), 0
        for a, b in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            weights = parameters[start : start + a * b].reshape(a, b)
            found.append((weights, parameters[start + a * b : start + a * b + b]))
            start += a * b + b
        return found

    def initial(self, rng: np.random.Generator, gain: float) -> Floats:
        """Orthogonal weights of size sqrt(2), or `gain` in the last layer; biases are 0."""
        parameters = np.zeros(self.count, dtype=np.float32)
        layers = self.layers(parameters)
        for k, (weights, _) in enumerate(layers):
            size = gain if k == len(layers) - 1 else np.sqrt(2.0)
            weights[:] = size * _orthogonal(self.sizes[k], self.sizes[k + 1], rng)
        return parameters

    def outputs(self, parameters: Floats, x: Floats) -> list[Floats]:
        """The inputs `x` (n, sizes[0]), then the outputs of every layer for them."""
        return self.outputs_of(self.layers(parameters), x)

    @staticmethod
    def outputs_of(layers: list[tuple[Floats, Floats]], x: Floats) -> list[Floats]:
        """As `outputs`, for layers that are known already."""
        found = [x]
        for weights, biases in layers[:-1]:
            hidden = found[-1] @ weights
            hidden += biases
            found.append(np.tanh(hidden, out=hidden))
        weights, biases = layers[-1]
        last = found[-1] @ weights
        last += biases
        found.append(last)
        return found

    @staticmethod
    def add_gradient(
        layers: list[tuple[Floats, Floats]],
        gradients: list[tuple[Floats, Floats]],
        outputs: list[Floats],
        by_output: Floats,
    ) -> None:
        """Write the gradient of a loss into `gradients`, which are views like `layers`.

        `by_output` (n, sizes[-1]) is its gradient in the last of the `outputs`.
        """
        delta = by_output
        for k in range(len(layers) - 1, -1, -1):
            by_weights, by_biases = gradients[k]
            np.matmul(outputs[k].T, delta, out=by_weights)
            np.add.reduce(delta, axis=0, out=by_biases)
            if k:
                slope = outputs[k] * outputs[k]
                np.subtract(1.0, slope, out=slope)  # of tanh
                delta = delta @ layers[k][0].T
                delta *= slope


def _orthogonal(rows: int, columns: int, rng: np.random.Generator) -> NDArray[Any]:
    """(rows, columns): a random matrix whose shorter side is orthonormal."""
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diag(r))  # so that all such matrices are equally likely
    return q if rows >= columns else q.T


class Adam:
    """Adam on one flat array of parameters (Kingma and Ba, 2015)."""

    first: Floats
    """(p,): the mean of the gradients, which decays by 0.9 per step."""
    second: Floats
    """(p,): the mean of their squares, which decays by 0.999 per step."""
    steps: int
    """Steps so far."""

    def __init__(self, count: int, epsilon: float = EPSILON) -> None:
        self._epsilon = np.float32(epsilon)
        self.first, self.second = np.zeros((2, count), dtype=np.float32)
        self.steps = 0
        self._square, self._change = np.zeros((2, count), dtype=np.float32)

    def __repr__(self) -> str:
        return f"Adam({len(self.first)} parameters, {self.steps} steps)"

    def step(self, parameters: Floats, gradient: Floats, learning_rate: float) -> None:
        """Move `parameters` (p,) in place against their `gradient` (p,)."""
        self.steps += 1
        first, second = self.first, self.second
        square, change = self._square, self._change
        first *= np.float32(DECAY_1)
        np.multiply(gradient, np.float32(1.0 - DECAY_1), out=change)
        first += change
        second *= np.float32(DECAY_2)
        np.multiply(gradient, gradient, out=square)
        square *= np.float32(1.0 - DECAY_2)
        second += square
        np.sqrt(second, out=square)
        square /= np.float32(np.sqrt(1.0 - DECAY_2**self.steps))
        square += self._epsilon
        np.divide(first, square, out=change)
        change *= np.float32(learning_rate / (1.0 - DECAY_1**self.steps))
        parameters -= change
