"""Several small networks of the same shape, computed at once: outputs and exact gradients.

Hidden layers are rectified (ReLU) and the last one is linear. All parameters lie in one flat array,
as those of a `Perceptron` do. The networks are the first axis of weights and outputs, so that one
call multiplies the matrices of all of them.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.perceptron import Floats

Layers = list[tuple[Floats, Floats]]
"""Weights (networks, inputs, outputs) and biases (networks, 1, outputs) of each layer."""


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
    def outputs(layers: Layers, x: Floats) -> list[Floats]:
        """The inputs `x` (n, sizes[0]) of all networks, then the outputs (k, n, size) of layers."""
        found = [x]
        for weights, biases in layers[:-1]:
            hidden = found[-1] @ weights
            hidden += biases
            found.append(np.maximum(hidden, 0.0, out=hidden))
        weights, biases = layers[-1]
        last = found[-1] @ weights
        last += biases
        return [*found, last]

    @staticmethod
    def backward(
        layers: Layers, gradients: Layers | None, outputs: list[Floats], by_output: Floats
    ) -> Floats:
        """Write the gradient of a loss into `gradients`, which are views like `layers`.

        `by_output` (k, n, sizes[-1]) is its gradient in the last of the `outputs`. Return the
        gradient in the sums of the first layer, before rectifying. None: only that is computed.
        """
        delta = by_output
        for k in range(len(layers) - 1, -1, -1):
            if gradients is not None:
                by_weights, by_biases = gradients[k]
                np.matmul(outputs[k].swapaxes(-1, -2), delta, out=by_weights)
                np.add.reduce(delta, axis=1, keepdims=True, out=by_biases)
            if k:
                delta = delta @ layers[k][0].swapaxes(-1, -2)
                delta *= outputs[k] > 0.0
        return delta
