"""Changes fields of a configuration by name and text, as on the command line."""

import dataclasses
import types
import typing
from typing import Any

from selfpaced.names import named


def override(config: Any, path: str, text: str | float) -> Any:
    """A copy of the configuration `config` with the field at the dotted `path` set to `text`.

    `override(SPRL(), "pacing.rule.step", "0.05")` changes a field of a field. Raise a ValueError
    if there is no such field, or if `text` does not fit its type.
    """
    text = str(text)
    name, _, rest = path.partition(".")
    fields = [field.name for field in dataclasses.fields(config)]
    named(f"field of {type(config).__name__}", name, fields)
    value = getattr(config, name)
    if rest:
        if not dataclasses.is_dataclass(value):
            raise ValueError(f"{name} has no fields of its own: it is {value!r}")
        return dataclasses.replace(config, **{name: override(value, rest, text)})
    hint = typing.get_type_hints(config.__class__)[name]
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if types.NoneType in options and text.lower() == "none":
        return dataclasses.replace(config, **{name: None})
    if not any(_is_readable(option) for option in options):
        raise ValueError(_not_as_a_whole(name, value))
    return dataclasses.replace(config, **{name: _parsed(name, text, options)})


def _is_readable(option: Any) -> bool:
    """True if a text can be read as a value of the type `option`."""
    return option in (int, float, str, bool) or typing.get_origin(option) in (typing.Literal, tuple)


def _not_as_a_whole(name: str, value: Any) -> str:
    """Why the field `name` cannot be set from text, and which field to set instead."""
    path = name
    while dataclasses.is_dataclass(value) and dataclasses.fields(value):
        first = dataclasses.fields(value)[0].name
        path, value = f"{path}.{first}", getattr(value, first)
    if path == name:
        return f"{name} cannot be set from text; it is {value!r}"
    return f"{name} cannot be set as a whole; set one of its fields, such as {path}"


def _parsed(name: str, text: str, options: tuple[Any, ...]) -> Any:
    """`text` as a value of the first of the types `options` that it fits."""
    for option in options:
        try:
            return _read(text, option)
        except ValueError:
            continue
    readable = [option for option in options if _is_readable(option) or option is types.NoneType]
    wanted = " or ".join(dict.fromkeys(_in_words(option) for option in readable))
    raise ValueError(f"{name} must be {wanted}; got {text!r}")


def _read(text: str, option: Any) -> Any:
    """`text` as a value of the type `option`; raise a ValueError if it does not fit."""
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
    """What a value of the type `option` must be, for error messages."""
    if typing.get_origin(option) is typing.Literal:
        return " or ".join(map(repr, typing.get_args(option)))
    if typing.get_origin(option) is tuple:
        kind, *others = typing.get_args(option)
        count = "" if Ellipsis in others else f"{1 + len(others)} "
        several = {int: "whole numbers", float: "numbers"}.get(kind, "words")
        return f"{count}{several}, with commas and without spaces between them"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return words.get(option, "none")
