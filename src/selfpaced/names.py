"""Names that people type, see in figures or find as folders: suggestions, and checks."""

import difflib
import re
from collections.abc import Iterable
from typing import Any, cast


def named(kind: str, name: str, known: Iterable[str]) -> str:
    """Return `name` if it is one of `known`; raise a ValueError with a suggestion otherwise."""
    names = sorted(known)
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"unknown {kind} {name!r}; {hint}known: {', '.join(names)}")


def checked_name(name: str) -> str:
    """Return the `name` of an experiment or algorithm if it can be a folder's name.

    Raise a ValueError otherwise.
    """
    if not re.fullmatch(r"[\w.-]{1,100}", name) or name.startswith("."):
        raise ValueError(
            f"name must be letters, digits, '-', '_' and '.', at most 100, for it names a folder; "
            f"got {name!r}"
        )
    return name


def checked_context_names(names: object, dimension: int) -> tuple[str, ...] | None:
    """`names` as a tuple; raise a ValueError unless they are None or one text per dimension."""
    if names is None:
        return None
    several = isinstance(names, Iterable) and not isinstance(names, str)
    listed: list[Any] = list(cast(Iterable[Any], names)) if several else []
    if len(listed) != dimension or not all(isinstance(name, str) for name in listed):
        raise ValueError(
            f"context_names must be a tuple with one name per dimension of a context, here "
            f"{dimension}; got {names!r}"
        )
    return tuple(listed)
