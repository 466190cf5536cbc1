"""Random generators of one training, which replace NumPy's and torch's global ones for a time.

Stable-Baselines3 draws from the global generators. Trainings of this library must not disturb each
other, nor the program around them, and must continue exactly from a stored state.
"""

import contextlib
from collections.abc import Generator
from typing import Any

import numpy as np

from selfpaced.types import State


class GlobalGenerators:
    """States of NumPy's and torch's global generators that belong to one training.

    `torch`: the module, which is passed in because it is imported only when a training starts.
    `rng`: draws the two seeds.
    """

    def __init__(self, torch: Any, rng: np.random.Generator) -> None:
        self._torch = torch
        seeds = rng.integers(2**32, size=2)
        self._numpy_state: Any = np.random.RandomState(int(seeds[0])).get_state(legacy=False)
        self._torch_state: Any = torch.Generator().manual_seed(int(seeds[1])).get_state()

    @contextlib.contextmanager
    def in_place(self) -> Generator[None, None, None]:
        """Use this training's generators as the global ones; then put back the program's."""
        others = np.random.get_state(legacy=False), self._torch.get_rng_state()  # noqa: NPY002
        np.random.set_state(self._numpy_state)  # noqa: NPY002
        self._torch.set_rng_state(self._torch_state)
        try:
            yield
        finally:
            self._numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002
            self._torch_state = self._torch.get_rng_state()
            np.random.set_state(others[0])  # noqa: NPY002
            self._torch.set_rng_state(others[1])

    def state(self) -> State:
        """Both generators' states as plain arrays."""
        words, gauss = self._numpy_state["state"], self._numpy_state["gauss"]
        return {
            "numpy.key": np.array(words["key"]),
            "numpy.position": np.array(words["pos"]),
            "numpy.gauss": np.array([self._numpy_state["has_gauss"], gauss], dtype=float),
            "torch": self._torch_state.numpy().copy(),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        has_gauss, gauss = state["numpy.gauss"].tolist()
        self._numpy_state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(state["numpy.key"]), "pos": int(state["numpy.position"])},
            "has_gauss": int(has_gauss),
            "gauss": gauss,
        }
        self._torch_state = self._torch.from_numpy(np.array(state["torch"]))
