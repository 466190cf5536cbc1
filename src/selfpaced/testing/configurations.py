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
    require_methods("a configuration", config, "start")
    who = type(config).__name__
    _check_frozen(config, who)
    with must_work(f"pickling {who}, which other processes get,"):
        copy = pickle.loads(pickle.dumps(config))
    require(
        copy == config,
        f"{who} must be equal to a configuration of the same values; {config!r} is not",
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
    raise AssertionError(f"{who} must be frozen; its attribute {name!r} can be set")


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
    require(made == config, f"repr of {who} must make an equal configuration; got {shown}")


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
