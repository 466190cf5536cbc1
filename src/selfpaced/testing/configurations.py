"""What every configuration promises, whether of a teacher or of an algorithm."""

import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from selfpaced.testing.assertions import must_work, require, require_methods


def check_configuration(config: Any) -> None:
    """Check that `config` is frozen, can be pickled, and is equal to one of the same values.

    Other processes get it pickled, and stored runs are told apart by its values.
    """
    require_methods("configuration", config, "start")
    who = type(config).__name__
    _check_frozen(config, who)
    with must_work(f"pickling {who}, which other processes get,"):
        copy = pickle.loads(pickle.dumps(config))
    require(
        _equal(copy, config),
        f"{who} must be equal to a configuration of the same values; {config!r} is not"
        f"{_cause(config, copy)}",
    )


def _equal(one: Any, other: Any) -> bool:
    """The result of == as a truth value; False where it has none, as of arrays."""
    try:
        return bool(one == other)
    except Exception:  # of whatever the values are
        return False


def _cause(config: Any, copy: Any) -> str:
    """The fields that make `config` unequal to its `copy`, as the end of a sentence."""
    fields = dataclasses.fields(config) if dataclasses.is_dataclass(config) else ()
    names = [field.name for field in fields if field.compare]
    pairs = {name: (getattr(config, name), getattr(copy, name)) for name in names}
    unequal = [f"{name} ({type(a).__name__})" for name, (a, b) in pairs.items() if not _equal(a, b)]
    if not unequal:
        return " (a class with @dataclass(frozen=True) is)"
    return (
        f", because of {', '.join(unequal)}: configurations must be comparable, and fields that "
        "are or hold arrays, or nan, break ==; use tuples of numbers"
    )


def _check_frozen(config: Any, who: str) -> None:
    known: list[str] = list(getattr(config, "__dict__", {}))
    if dataclasses.is_dataclass(config):
        known = [field.name for field in dataclasses.fields(config)]
    name = known[0] if known else "something"
    try:
        setattr(config, name, getattr(config, name, None))
    except (AttributeError, TypeError):
        return
    if not known:
        delattr(config, name)
    raise AssertionError(
        f"{who} must be frozen; its attribute {name!r} can be set "
        "(a class with @dataclass(frozen=True) is frozen)"
    )


def check_constructor_repr(config: Any) -> None:
    """Check that `config` prints as the call that makes it, which people can copy."""
    who, shown = type(config).__name__, repr(config)
    names = {"np": np, "array": np.array, "inf": np.inf, "nan": np.nan, **_types_in(config)}
    try:
        made = eval(shown, {"__builtins__": {}}, names)
    except Exception as error:  # whatever the text happens to be
        raise AssertionError(
            f"repr of {who} must be the call of its constructor; {shown} raises {error!r}"
        ) from error
    require(_equal(made, config), f"repr of {who} must make an equal configuration; got {shown}")


def _types_in(part: Any) -> dict[str, Any]:
    """The classes that the repr of `part` may name: its own and those of what it holds."""
    found: dict[str, Any] = {type(part).__name__: type(part)}
    if dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            found |= _types_in(getattr(part, field.name))
    elif isinstance(part, Mapping):
        for value in cast(Mapping[Any, Any], part).values():
            found |= _types_in(value)
    elif isinstance(part, list | tuple):
        for value in cast(tuple[Any, ...], part):
            found |= _types_in(value)
    return found
