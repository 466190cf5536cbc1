"""Random streams of a run, and generators as plain arrays."""

from typing import Any

import numpy as np

from selfpaced.types import AnyArray, Streams

_MASK = (1 << 64) - 1


def streams_of(seed: int) -> Streams:
    """The separate streams of a run: learning, world and measuring."""
    learn, world, measure = np.random.SeedSequence(seed).spawn(3)
    return Streams(np.random.default_rng(learn), np.random.default_rng(world), measure)


def measuring(measure: np.random.SeedSequence, iteration: int) -> np.random.Generator:
    """The generator of one measurement: the same however often the run measures or restarts."""
    child = np.random.SeedSequence(measure.entropy, spawn_key=(*measure.spawn_key, iteration))
    return np.random.default_rng(child)


def generator_state(rng: np.random.Generator) -> AnyArray:
    """The exact state of a PCG64 generator (what default_rng makes) as six unsigned integers."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    if state["bit_generator"] != "PCG64":
        raise ValueError(
            f"rng must be a PCG64 generator, as np.random.default_rng makes; "
            f"got {state['bit_generator']}"
        )
    words: list[int] = []
    for number in (state["state"]["state"], state["state"]["inc"]):
        words += [number >> 64, number & _MASK]
    return np.array([*words, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def restored_generator(words: AnyArray) -> np.random.Generator:
    """The generator whose state `generator_state` gave."""
    numbers = [int(word) for word in words]
    if len(numbers) != 6:
        raise ValueError(f"a generator's state must be 6 integers; got {len(numbers)}")
    bit_generator = np.random.PCG64()
    bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": (numbers[0] << 64) | numbers[1],
            "inc": (numbers[2] << 64) | numbers[3],
        },
        "has_uint32": numbers[4],
        "uinteger": numbers[5],
    }
    return np.random.Generator(bit_generator)
