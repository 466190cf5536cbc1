"""The global random generators of NumPy, Python and torch, which nothing may use."""

import random
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from selfpaced.testing.assertions import must_work, require

_SEEDS = count(20_240)


@contextmanager
def watched(call: str) -> Generator[None, None, None]:
    """Raise an AssertionError that names the `call` if the block fails or draws from elsewhere."""
    with no_global_randomness(call), must_work(call):
        yield


@contextmanager
def no_global_randomness(call: str) -> Generator[None, None, None]:
    """Seed all global generators for the block, and raise an AssertionError if it changes one.

    Each block gets another seed, so results that depend on a global generator differ from block to
    block. Afterwards the generators are as they were before.
    """
    generators, seed = _loaded(), next(_SEEDS)
    before = [generator.get() for generator in generators]
    try:
        for generator in generators:
            generator.seed(seed)
        seeded = [_words(generator.get()) for generator in generators]
        yield
        for generator, words in zip(generators, seeded, strict=True):
            require(
                _words(generator.get()) == words,
                f"{call} must draw from the generator that it is given; "
                f"it used {generator.name}, which is global",
            )
    finally:
        for generator, state in zip(generators, before, strict=True):
            generator.set(state)


class _Global(NamedTuple):
    name: str
    get: Callable[[], Any]
    set: Callable[[Any], Any]
    seed: Callable[[int], Any]


def _loaded() -> list[_Global]:
    """The global generators; torch's only where something has loaded torch."""
    numpy: Any = np.random
    found = [
        _Global("np.random", numpy.get_state, numpy.set_state, numpy.seed),
        _Global("Python's module random", random.getstate, random.setstate, random.seed),
    ]
    torch: Any = sys.modules.get("torch")
    if torch is not None:

        def seed_torch(seed: int) -> None:  # torch.manual_seed would seed graphics cards, too
            torch.set_rng_state(torch.Generator().manual_seed(seed).get_state())

        found.append(
            _Global("torch's generator", torch.get_rng_state, torch.set_rng_state, seed_torch)
        )
    return found


def _words(state: Any) -> Any:
    """The state of a generator as values that compare: arrays and tensors as bytes."""
    if isinstance(state, tuple):
        return tuple(_words(part) for part in state)  # pyright: ignore[reportUnknownVariableType]
    return np.asarray(state).tobytes() if hasattr(state, "dtype") else state
