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
        try:
            return _read(text, option)
        except ValueError:
            continue
    wanted = " or ".join(_in_words(option) for option in options)
    raise ValueError(f"{name} must be {wanted}; got {text!r}")


def _read(text: str, option: Any) -> Any:
    """`text` as the one type `option`; a ValueError if it is none of that type."""
    if option in (int, float, str):
        return option(text)
    if option is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if typing.get_origin(option) is typing.Literal and text in typing.get_args(option):
        return text
    if typing.get_origin(option) is tuple:
        kinds, words = typing.get_args(option), text.split(",")
        if kinds[-1] is Ellipsis:  # of any length
            kinds = kinds[:1] * len(words)
        return tuple(_read(word, kind) for word, kind in zip(words, kinds, strict=True))
    raise ValueError(text)


def _in_words(option: Any) -> str:
    if typing.get_origin(option) is typing.Literal:
        return " or ".join(map(repr, typing.get_args(option)))
    if typing.get_origin(option) is tuple:
        kind, *others = typing.get_args(option)
        count = "" if Ellipsis in others else f"{1 + len(others)} "
        several = {int: "whole numbers", float: "numbers"}.get(kind, "words")
        return f"{count}{several}, with commas and without spaces between them"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return words.get(option, "none" if option is types.NoneType else "set through its own numbers")
