"""Names people type: the one they meant, or an error that suggests it."""

import difflib
from collections.abc import Iterable


def named(kind: str, name: str, known: Iterable[str]) -> str:
    """`name` if it is one of `known`, else a ValueError: "did you mean ...?"."""
    names = sorted(known)
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"unknown {kind} {name!r}; {hint}known: {', '.join(names)}")
