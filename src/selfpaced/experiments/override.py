"""Numbers of an algorithm changed by name and text, as on the command line."""

import dataclasses
import types
import typing
from typing import Any

from selfpaced.suggest import named


def override(numbers: Any, path: str, text: str | float) -> Any:
    """A copy of the dataclass `numbers` with the field at the dotted `path` set to `text`."""
    text = str(text)
    name, _, rest = path.partition(".")
    fields = [field.name for field in dataclasses.fields(numbers)]
    named(f"number of {type(numbers).__name__}", name, fields)
    value = getattr(numbers, name)
    if rest:
        if not dataclasses.is_dataclass(value):
            raise ValueError(f"{name} has no numbers of its own: it is {value!r}")
        return dataclasses.replace(numbers, **{name: override(value, rest, text)})
    hint = typing.get_type_hints(numbers.__class__)[name]
    return dataclasses.replace(numbers, **{name: _parsed(name, text, hint)})


def _parsed(name: str, text: str, hint: Any) -> Any:
    """`text` as the type that `hint` asks for."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if types.NoneType in options and text.lower() == "none":
        return None
    for option in options:
        if typing.get_origin(option) is typing.Literal and text in typing.get_args(option):
            return text
        if option is str:
            return text
        if option is bool and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if option in (int, float):
            try:
                return option(text)
            except ValueError:
                continue
    wanted = " or ".join(_in_words(option) for option in options)
    raise ValueError(f"{name} must be {wanted}; got {text!r}")


def _in_words(option: Any) -> str:
    if typing.get_origin(option) is typing.Literal:
        return " or ".join(map(repr, typing.get_args(option)))
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return words.get(option, "none" if option is types.NoneType else "set through its own numbers")
