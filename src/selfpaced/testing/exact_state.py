"""Equality to the last bit: of arrays, states and records."""

import json
from collections.abc import Mapping
from reprlib import repr as shortened
from typing import Any, cast

import numpy as np

from selfpaced.maths.policy import policy_from
from selfpaced.store.files import npz_bytes, read_npz
from selfpaced.testing.assertions import must_work, require
from selfpaced.types import State

NUMBERS = "fiub"
"""Kinds of NumPy's types that a state may hold: floats, integers and booleans."""
NUMBERS_AND_TEXT = NUMBERS + "U"
"""Kinds of NumPy's types that a policy's arrays may hold."""


def same_bits(one: Any, other: Any) -> bool:
    """True if both arrays have the same type, shape and bytes; nan equals nan."""
    a, b = np.asarray(one), np.asarray(other)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def difference(one: Any, other: Any) -> str:
    """Where two arrays differ first, as a part of a sentence."""
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} of shape {a.shape} against {b.dtype} of shape {b.shape}"
    unequal = np.argwhere((a != b) & ~((a != a) & (b != b)))
    if not unequal.size:
        return "only in the sign of a zero or the bits of a nan"
    place = tuple(unequal[0].tolist())
    return f"{a[place]} against {b[place]} at index {place}"


def require_same(sentence: str, one: Any, other: Any) -> None:
    """Raise an AssertionError of `sentence` and the first difference unless both are the same."""
    if not same_bits(one, other):
        raise AssertionError(f"{sentence}; got {difference(one, other)}")


def same_states(one: State, other: State) -> bool:
    """True if both states have the same names, and under each the same array."""
    return one.keys() == other.keys() and all(same_bits(one[name], other[name]) for name in one)


def require_same_states(sentence: str, one: State, other: State) -> None:
    """Raise an AssertionError of `sentence` and what differs unless both states are the same."""
    lone = sorted(set(one) ^ set(other))
    require(not lone, f"{sentence}; {lone} are in one of both states only")
    for name, value in one.items():
        require_same(f"{sentence}; {name!r} differs", value, other[name])


def through_file(what: str, arrays: Any, kinds: str = NUMBERS) -> State:
    """What a checkpoint keeps of `arrays`: they are written as .npz bytes, and read again.

    Raise an AssertionError unless all are plain arrays, which need no pickle.
    """
    if not isinstance(arrays, dict):
        raise AssertionError(f"{what} must be a dictionary of arrays; got {arrays!r}")
    state = cast(State, arrays)
    values: dict[Any, Any] = dict(state)  # whatever they are
    for name, value in values.items():
        require(isinstance(name, str), f"{what} must have strings as names; got {name!r}")
        if not isinstance(value, np.ndarray | np.generic) or _kind(value) not in kinds:
            raise AssertionError(
                f"{what} must hold plain NumPy arrays of numbers, which need no pickle; "
                f"{name!r} is {value!r}"
            )
    with must_work(f"saving {what} with np.savez"):
        return read_npz(npz_bytes(state))


def _kind(array: Any) -> str:
    return array.dtype.kind


def saved_policy(what: str, policy: Any) -> State:
    """The arrays of `policy`, which must make the same policy again when they are loaded."""
    arrays = through_file(f"the arrays of {what}", policy.arrays(), NUMBERS_AND_TEXT)
    with must_work(f"loading {what} from its arrays"):
        again = policy_from(arrays).arrays()
    require_same_states(f"{what} must be the same when it is loaded", arrays, again)
    return arrays


def json_text(what: str, record: Any) -> str:
    """`record` as JSON, which tells any two different records apart.

    Raise an AssertionError unless it is plain data: what JSON gives back for it is the same.
    """
    if not isinstance(record, Mapping):
        raise AssertionError(f"{what} must be a dictionary; got {record!r}")
    entries = dict(cast(Mapping[Any, Any], record))
    for name, value in entries.items():
        try:
            json.dumps({name: value})
        except (TypeError, ValueError):
            raise AssertionError(
                f"{what} must be plain data for JSON, as floats and lists are; "
                f"{name!r} is of the type {type(value).__name__}: {shortened(value)}"
            ) from None
    text = json.dumps(entries)
    again = json.dumps(json.loads(text))
    require(again == text, f"{what} must be plain data for JSON; {text} is read as {again}")
    return text
