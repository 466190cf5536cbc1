"""Names that people type or that become folders: suggestions for misspelled ones, and checks."""

import difflib
import re
from collections.abc import Iterable


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
