"""Several small networks of the same shape, computed at once: outputs and exact gradients.

Hidden layers are rectified (ReLU) and the last one is linear. All parameters lie in one flat array,
as those of a `Perceptron` do. The networks are the first axis of weights and outputs, so that one
call multiplies the matrices of all of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.perceptron import Floats

Layers = list[tuple[Floats, Floats]]
"""Weights (networks, inputs, outputs) and biases (networks, 1, outputs) of each layer."""


class Scratch:
    """Arrays for results in between, which are overwritten in the next computation.

    New arrays of this size would come from the operating system, page by page, every time; that
    took 40% of a gradient step of SAC.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def __repr__(self) -> str:
        return f"Scratch({len(self._arrays)} arrays)"

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """The array called `name`, with any content."""
        known = self._arrays.get(name)
        if known is None or known.shape != shape or known.dtype != dtype:
            known = self._arrays[name] = np.empty(shape, dtype=dtype)
        return known


@dataclass(frozen=True)
class ReluNetworks:
    """The shape of some networks.

    >>> import numpy as np
    >>> from selfpaced.maths.relu_networks import ReluNetworks
    >>> critics = ReluNetworks(2, (7, 64, 64, 1))
    >>> layers = critics.layers(critics.initial(np.random.default_rng(0)))
    >>> critics.outputs(layers, np.zeros((5, 7), dtype=np.float32))[-1].shape
    (2, 5, 1)
    """

    networks: int
    """How many there are."""
    sizes: tuple[int, ...]
    """Number of inputs, of units in each hidden layer, and of outputs."""

    @property
    def count(self) -> int:
        """The number of parameters of all networks."""
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        return self.networks * sum(a * b + b for a, b in pairs)

    def layers(self, parameters: Floats) -> Layers:
        """Views of the flat `parameters`."""
        found, start, n = Layers(), 0, self.networks
        for a, b in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            weights, biases = np.split(parameters[start : start + n * (a * b + b)], [n * a * b])
            found.append((weights.reshape(n, a, b), biases.reshape(n, 1, b)))
            start += n * (a * b + b)
        return found

    def initial(self, rng: np.random.Generator) -> Floats:
        """Weights and biases, uniform within 1 / sqrt(inputs) of 0, as torch draws them."""
        parameters = np.zeros(self.count, dtype=np.float32)
        for weights, biases in self.layers(parameters):
            most = 1.0 / np.sqrt(weights.shape[1])
            weights[:] = rng.uniform(-most, most, weights.shape)
            biases[:] = rng.uniform(-most, most, biases.shape)
        return parameters

    @staticmethod
    def outputs(layers: Layers, x: Floats, scratch: Scratch | None = None) -> list[Floats]:
        """The inputs `x` (n, sizes[0]) of all networks, then the outputs (k, n, size) of layers.

        Those of hidden layers are in `scratch`, if it is given.
        """
        found, room = [x], Scratch() if scratch is None else scratch
        for k, (weights, biases) in enumerate(layers[:-1]):
            shape = (len(weights), len(x), weights.shape[2])
            hidden = room.array(f"hidden {k}", shape, x.dtype)
            np.matmul(found[-1], weights, out=hidden)
            hidden += biases
            found.append(np.maximum(hidden, 0.0, out=hidden))
        weights, biases = layers[-1]
        last = found[-1] @ weights
        last += biases
        return [*found, last]

    @staticmethod
    def backward(
        layers: Layers,
        gradients: Layers | None,
        outputs: list[Floats],
        by_output: Floats,
        scratch: Scratch | None = None,
    ) -> Floats:
        """Write the gradient of a loss into `gradients`, which are views like `layers`.

        `by_output` (k, n, sizes[-1]) is its gradient in the last of the `outputs`. Return the
        gradient in the sums of the first layer, before rectifying. None: only that is computed.
        It is in `scratch`, if that is given.
        """
        delta, room = by_output, Scratch() if scratch is None else scratch
        for k in range(len(layers) - 1, -1, -1):
            if gradients is not None:
                by_weights, by_biases = gradients[k]
                np.matmul(outputs[k].swapaxes(-1, -2), delta, out=by_weights)
                np.add.reduce(delta, axis=1, keepdims=True, out=by_biases)
            if k:
                below = room.array(f"delta {k % 2}", outputs[k].shape, delta.dtype)
                np.matmul(delta, layers[k][0].swapaxes(-1, -2), out=below)
                active = room.array("active", outputs[k].shape, np.bool_)
                delta = np.multiply(below, np.greater(outputs[k], 0.0, out=active), out=below)
        return delta
