"""The random streams of a run, and generators as plain arrays."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1


class Streams(NamedTuple):
    """The separate random streams of one run.

    Because measuring has a stream of its own, measuring more often changes nothing that is
    learned.
    """

    learn: np.random.Generator
    """What learners and teachers draw from: contexts, parameters, initial weights."""
    world: np.random.Generator
    """What tasks draw from: the noise of rollouts."""
    measure: np.random.SeedSequence
    """The seed of the measurements; `measuring` makes one generator of it for each."""


def streams_of(seed: int) -> Streams:
    """The streams of the run with this `seed`."""
    learn, world, measure = np.random.SeedSequence(seed).spawn(3)
    return Streams(np.random.default_rng(learn), np.random.default_rng(world), measure)


def measuring(measure: np.random.SeedSequence, iteration: int) -> np.random.Generator:
    """The generator of the measurement after `iteration`; 0 stands for the final one.

    It is the same however often a run measures, stops or restarts.
    """
    child = np.random.SeedSequence(measure.entropy, spawn_key=(*measure.spawn_key, iteration))
    return np.random.default_rng(child)


def generator_state(rng: np.random.Generator) -> NDArray[Any]:
    """The exact state of a PCG64 generator (what `default_rng` makes) as six unsigned integers."""
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


def restored_generator(words: NDArray[Any]) -> np.random.Generator:
    """The generator whose state `generator_state` returned as `words`."""
    integers = [int(word) for word in words]
    if len(integers) != 6:
        raise ValueError(f"a generator's state must be 6 integers; got {len(integers)}")
    bit_generator = np.random.PCG64()
    bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": (integers[0] << 64) | integers[1],
            "inc": (integers[2] << 64) | integers[3],
        },
        "has_uint32": integers[4],
        "uinteger": integers[5],
    }
    return np.random.Generator(bit_generator)
