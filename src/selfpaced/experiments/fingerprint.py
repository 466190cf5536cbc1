"""Fingerprints of a user's own code, so that edited code is not mixed into old results.

A spec stores values: bounds, targets, configurations. It cannot store what a reward function does.
So a checksum is taken of every function and class that a problem and an algorithm are made of, as
far as they were written outside of installed packages, and of the values they use: the function
that makes the problem, the task with what it holds, and everything of the user's own that these
refer to. Comments, docstrings, formatting and what only figures use (`draw`) do not count.
"""

import ast
import dataclasses
import dis
import functools
import hashlib
import importlib.util
import inspect
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

import selfpaced

PACKAGE = Path(__file__).resolve().parents[1]
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
INSTALLED = ("site-packages", "dist-packages")  # folders of installed packages
FOR_FIGURES = ("draw", "picture", "film", "landscape", "__repr__")  # methods that change no result
WRAPPED = ("__wrapped__", "__func__", "func", "fget", "pyfunc")  # where wrappers keep functions
MAIN = ("__main__", "__mp_main__")  # names of a script's module in its own process and a worker
IGNORED_FIELDS = ("type_params", "type_comment", "kind")  # of syntax trees, in some Pythons only


def code_fingerprint(*parts: Any) -> dict[str, Any] | None:
    """Checksums of the user's own code in `parts`; None if there is none.

    "sources" maps the name of every function, class and value to a checksum; "selfpaced" is this
    package's version.
    """
    walk = _Walk()
    for part in parts:
        walk.visit(part, "problem")
    if not walk.sources:
        return None
    return {"selfpaced": selfpaced.__version__, "sources": dict(sorted(walk.sources.items()))}


class _Walk:
    """Collects checksums from object to object; each is visited once."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self._seen: dict[int, Any] = {}  # keeps objects alive, so that no id is used twice

    def visit(self, part: Any, name: str) -> None:
        """Look at `part`, which the user's code calls `name`."""
        if id(part) in self._seen or part is None:
            return
        self._seen[id(part)] = part
        if isinstance(part, functools.partial):
            arguments = enumerate(part.args), part.keywords.items()
            self.visit(part.func, name)
            for key, value in (pair for pairs in arguments for pair in pairs):
                self._visit_value(value, f"{_name(part.func)}({key})")
        elif isinstance(part, types.MethodType):
            self.visit(part.__func__, name)
            self.visit(part.__self__, name)
        elif isinstance(part, types.FunctionType):
            self._visit_function(part)
        elif isinstance(part, type):
            self._visit_class(part)
        elif isinstance(part, Mapping):
            for key, value in cast(Mapping[Any, Any], part).items():
                self.visit(value, f"{name}[{key!r}]")
        elif isinstance(part, list | tuple | set | frozenset):
            for value in cast(Iterable[Any], part):
                self.visit(value, name)
        elif not isinstance(part, types.ModuleType):
            self._visit_object(part, name)

    def _visit_value(self, part: Any, name: str) -> None:
        """Add `part` if it is plain data; look at it as an object otherwise."""
        text = _data_text(part)
        if text is None:
            self.visit(part, name)
        else:
            self._add(name, text)

    def _visit_function(self, function: Any) -> None:
        own = _is_own(function)
        if not own and not _is_ours(function):
            return
        name = _name(function)
        self.visit(getattr(function, "__wrapped__", None), name)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        for variable, cell in cells:
            if _is_filled(cell):
                self._visit_held(cell.cell_contents, f"{name}.{variable}", own)
        defaults = enumerate(function.__defaults__ or ())
        keywords: dict[str, Any] = function.__kwdefaults__ or {}
        for key, value in (*defaults, *keywords.items()):
            self._visit_held(value, f"{name}({key})", own)
        if own:
            self._add(name, _code_text(function.__code__))
            for code in _codes(function.__code__):
                self._visit_names(code.co_names, function.__globals__)
                self._visit_local_imports(code)

    def _visit_held(self, value: Any, name: str, own: bool) -> None:
        """A value that a function holds: of the user's own functions plain data counts, too."""
        if own:
            self._visit_value(value, name)
        else:
            self.visit(value, name)

    def _visit_names(self, names: tuple[str, ...], known: Mapping[str, Any]) -> None:
        """Visit each global that code names; of the user's own modules, what it takes from them."""
        for name in names:
            found = known.get(name)
            if isinstance(found, types.ModuleType):
                if _is_own(found) and id(found) not in self._seen:
                    self._seen[id(found)] = found
                    self._visit_names(names, vars(found))
                    del self._seen[id(found)]  # other code may take other names from it
            elif name in known and not name.startswith("__"):
                self._visit_value(found, f"{_module_name(known.get('__name__', ''))}.{name}")

    def _visit_local_imports(self, code: types.CodeType) -> None:
        """Modules that a function imports when it is called: their whole source counts."""
        for instruction in dis.get_instructions(code):
            if instruction.opname == "IMPORT_NAME":
                try:
                    found = importlib.util.find_spec(str(instruction.argval))
                except (ImportError, ValueError):
                    continue
                if found is not None and found.origin and _is_own_file(found.origin):
                    self._add(found.name, _tree_text(Path(found.origin).read_text()))

    def _visit_class(self, kind: Any) -> None:
        if not _is_own(kind):
            return
        name = _name(kind)
        self._add(name, _class_text(kind))
        for base in kind.__bases__:
            self.visit(base, name)
        members: dict[str, Any] = dict(vars(cast(type, kind)))
        for key, value in members.items():
            if key in FOR_FIGURES or (key.startswith("__") and not callable(value)):
                continue
            for inner in (value, *(getattr(value, where, None) for where in WRAPPED)):
                if isinstance(inner, types.FunctionType):
                    self._visit_function(inner)

    def _visit_object(self, part: Any, name: str) -> None:
        kind: Any = part.__class__
        self.visit(kind, name)
        for where in WRAPPED:  # functools.cache, np.vectorize, decorators that are classes
            inner = inspect.getattr_static(part, where, None)
            if callable(inner):
                self.visit(inner, name)
        if dataclasses.is_dataclass(part):
            for field in dataclasses.fields(part):
                self.visit(getattr(part, field.name), f"{name}.{field.name}")
        elif _is_own(kind):
            for key, value in getattr(part, "__dict__", {}).items():
                if not key.startswith("_"):  # caches and counters are private, we hope
                    self._visit_value(value, f"{_name(kind)}().{key}")
        elif _is_ours(kind):
            for key, value in getattr(part, "__dict__", {}).items():
                self.visit(value, f"{name}.{key}")
        else:
            self.visit(getattr(part, "env", None), name)  # the inside of a Gymnasium wrapper

    def _add(self, name: str, text: str) -> None:
        """Add a checksum; several lambdas of one place are counted."""
        checksum = hashlib.sha256(text.encode()).hexdigest()[:16]
        key, count = name, 1
        while self.sources.get(key, checksum) != checksum:
            count += 1
            key = f"{name}#{count}"
        self.sources[key] = checksum


def _name(part: Any) -> str:
    return f"{_module_name(getattr(part, '__module__', ''))}.{getattr(part, '__qualname__', part)}"


def _module_name(name: str) -> str:
    """The module's name; of a script, the name by which others would import it."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file).stem if name in MAIN and file else name


def _is_own(part: Any) -> bool:
    """True for a function, class or module that was written outside of installed packages."""
    name = part.__name__ if isinstance(part, types.ModuleType) else part.__module__
    module = part if isinstance(part, types.ModuleType) else sys.modules.get(str(name))
    if name in MAIN:
        return True
    file = getattr(module, "__file__", None)
    return file is not None and _is_own_file(file)


def _is_own_file(file: str) -> bool:
    path = Path(file).resolve()
    ours = path.is_relative_to(PACKAGE) or path.is_relative_to(STANDARD_LIBRARY)
    return path.suffix == ".py" and not ours and not set(INSTALLED) & set(path.parts)


def _is_ours(part: Any) -> bool:
    """True for code of selfpaced. It has no checksum, but the objects it holds are visited."""
    return str(part.__module__).startswith("selfpaced.")


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """`code` and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _code_text(code: types.CodeType) -> str:
    """A function as text. Without a source, as typed into a console, its instructions."""
    try:
        return _tree_text(inspect.getsource(code))
    except (OSError, TypeError):
        return repr((code.co_code, code.co_names, code.co_varnames))


def _class_text(kind: type) -> str:
    try:
        return _tree_text(inspect.getsource(kind))
    except (OSError, TypeError):
        return kind.__qualname__


def _tree_text(source: str) -> str:
    """What Python makes of `source`, as text that is the same for every version of Python."""
    try:
        return _dumped(ast.parse(textwrap.dedent(source)))
    except SyntaxError:  # a lambda inside an expression that is not whole: the text itself
        return " ".join(source.split())


def _dumped(node: Any) -> str:
    if isinstance(node, list):
        return f"[{','.join(_dumped(item) for item in cast(list[Any], node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if name not in IGNORED_FIELDS}
    if isinstance(fields.get("body"), list):
        fields["body"] = [item for item in fields["body"] if not _says_nothing(item)]
    shown = (
        f"{name}={_dumped(value)}" for name, value in fields.items() if value not in (None, [])
    )
    return f"{type(node).__name__}({','.join(shown)})"


def _says_nothing(node: ast.stmt) -> bool:
    """True for docstrings and for methods that only figures use."""
    if isinstance(node, ast.FunctionDef):
        return node.name in FOR_FIGURES
    text = node.value if isinstance(node, ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def _data_text(value: Any) -> str | None:
    """Plain data as text; None if `value` is something else, or holds something else."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | Path):
        return repr(value)
    if isinstance(value, np.ndarray | np.generic):
        array: Any = np.asarray(cast(Any, value))
        checksum = hashlib.sha256(array.tobytes()).hexdigest()
        return f"{array.dtype}{array.shape}{checksum}" if array.dtype.kind in "biufcSU" else None
    if isinstance(value, list | tuple):
        texts = [_data_text(item) for item in cast(list[Any], value)]
        return None if None in texts else f"{texts}"
    if isinstance(value, set | frozenset | dict):
        held: Any = cast(Any, value)
        items: list[Any] = list(held.items()) if hasattr(held, "items") else list(held)
        texts = [_data_text(item) for item in items]
        return None if None in texts else f"{sorted(map(str, texts))}"
    return None
