"""Fingerprints of a user's own code, so that edited code is not mixed into old results.

A spec stores values: bounds, targets, configurations. It cannot store what a reward function does.
So a checksum is taken of the source of every function and class that a problem and an algorithm
are made of, as far as they were written outside of installed packages: the function that makes the
problem, the task with what it holds, and everything of the user's own that these refer to.
Comments and blank lines do not count.
"""

import dataclasses
import functools
import hashlib
import inspect
import io
import sys
import sysconfig
import tokenize
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import selfpaced

PACKAGE = Path(__file__).resolve().parents[1]
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
INSTALLED = ("site-packages", "dist-packages")  # folders of installed packages


def code_fingerprint(*parts: Any) -> dict[str, Any] | None:
    """Checksums of the user's own code in `parts`; None if there is none.

    "sources" maps the qualified name of every function and class to a checksum; "selfpaced" is
    this package's version.
    """
    walk = _Walk()
    for part in parts:
        walk.visit(part)
    if not walk.sources:
        return None
    return {"selfpaced": selfpaced.__version__, "sources": dict(sorted(walk.sources.items()))}


class _Walk:
    """Collects checksums from object to object; each is visited once."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self._seen: dict[int, Any] = {}  # keeps objects alive, so that no id is used twice

    def visit(self, part: Any) -> None:
        if id(part) in self._seen or part is None or isinstance(part, bool | int | float | str):
            return
        self._seen[id(part)] = part
        if isinstance(part, functools.partial):
            self._visit_all([part.func, *part.args, *part.keywords.values()])
        elif isinstance(part, types.MethodType):
            self._visit_all([part.__func__, part.__self__])
        elif isinstance(part, types.FunctionType):
            self._visit_function(part)
        elif isinstance(part, type):
            self._visit_class(part)
        elif isinstance(part, Mapping):
            self._visit_all(cast(Mapping[Any, Any], part).values())
        elif isinstance(part, list | tuple | set | frozenset):
            self._visit_all(cast(Iterable[Any], part))
        elif not isinstance(part, types.ModuleType):
            self._visit_object(part)

    def _visit_all(self, parts: Iterable[Any]) -> None:
        for part in parts:
            self.visit(part)

    def _visit_function(self, function: Any) -> None:
        function = inspect.unwrap(function)
        own = _is_own(function)
        if not own and not _is_ours(function):
            return
        self._visit_all(cell.cell_contents for cell in function.__closure__ or () if _filled(cell))
        self._visit_all(function.__defaults__ or ())
        keywords: dict[str, Any] = function.__kwdefaults__ or {}
        self._visit_all(keywords.values())
        if own:
            self._add(function)
            for code in _codes(function.__code__):
                self._visit_names(code.co_names, function.__globals__)

    def _visit_names(self, names: tuple[str, ...], known: dict[str, Any]) -> None:
        """What code refers to by its global names; of its own modules, what it takes from them."""
        for name in names:
            found = known.get(name)
            if isinstance(found, types.ModuleType) and _is_own(found):
                self._visit_all(vars(found)[n] for n in names if n in vars(found))
            elif isinstance(found, int | float | str | bytes):
                self._add_constant(known, name, found)
            else:
                self.visit(found)

    def _visit_class(self, kind: Any) -> None:
        if not _is_own(kind):
            return
        self._add(kind)
        self._visit_all(kind.__bases__)
        members: dict[str, Any] = dict(vars(cast(type, kind)))
        for value in members.values():
            inner = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(inner, types.FunctionType):
                self._visit_function(inner)

    def _visit_object(self, part: Any) -> None:
        self.visit(type(part))
        if dataclasses.is_dataclass(part):
            self._visit_all(getattr(part, field.name) for field in dataclasses.fields(part))
        elif _is_own(type(part)) or _is_ours(type(part)):
            self._visit_all(getattr(part, "__dict__", {}).values())
        else:
            self.visit(getattr(part, "env", None))  # the inside of a Gymnasium wrapper

    def _add(self, part: Any) -> None:
        try:
            source = _normalised(inspect.getsource(part))
        except (OSError, TypeError):  # typed into a console: there is no source to compare
            source = f"{part!r}".partition(" at 0x")[0]
        self.sources[f"{part.__module__}.{part.__qualname__}"] = _checksum(source)

    def _add_constant(self, known: dict[str, Any], name: str, value: Any) -> None:
        if not name.startswith("__"):
            self.sources[f"{known.get('__name__', '')}.{name}"] = _checksum(repr(value))


def _is_own(part: Any) -> bool:
    """Whether a function, class or module was written outside of installed packages."""
    name = part.__name__ if isinstance(part, types.ModuleType) else part.__module__
    module = part if isinstance(part, types.ModuleType) else sys.modules.get(str(name))
    if name == "__main__":
        return True
    file = getattr(module, "__file__", None)
    if file is None:
        return False
    path = Path(file).resolve()
    beside = path.is_relative_to(PACKAGE) or path.is_relative_to(STANDARD_LIBRARY)
    return not beside and not set(INSTALLED) & set(path.parts)


def _is_ours(part: Any) -> bool:
    """Whether a function or class is this package's: what it holds may be the user's."""
    return str(part.__module__).startswith("selfpaced.")


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _codes(code: types.CodeType) -> Iterable[types.CodeType]:
    """`code` and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _normalised(source: str) -> str:
    """`source` without comments, blank lines and spaces at the ends of lines."""
    lines = source.splitlines()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, IndentationError):  # a method, or a lambda in an expression
        tokens = []
    for token in tokens:
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
