"""Plain data on disk: JSON and arrays, written whole or not at all. Nothing is pickled."""

import dataclasses
import io
import json
import math
import os
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from selfpaced.types import State


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: dataclasses by name, arrays as lists, nan as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast(list[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)  # "inf", "-inf"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return {"type": type(value).__name__, **plain(vars(value))}  # a user's own schedule, say


def differences(asked: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Each place where two specs differ, in words."""
    if isinstance(asked, dict) and isinstance(stored, dict):
        a, s = cast(dict[str, Any], asked), cast(dict[str, Any], stored)
        for key in sorted({*a, *s}):
            yield from differences(a.get(key), s.get(key), f"{path}.{key}" if path else key)
    elif asked != stored:
        yield f"{path} is {stored!r} there and {asked!r} here"


def npz_bytes(arrays: State) -> bytes:
    """`arrays` as an .npz file; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_npz(content: bytes) -> State:
    """The arrays in an .npz file; a ValueError if it is damaged."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError("not a whole .npz file")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return dict(file)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError) as error:
        raise ValueError(str(error)) from error


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; a ValueError that names the file if it is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:  # no JSON, or no text
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} is damaged: it holds no object")
    return cast(dict[str, Any], found)


def json_bytes(value: Any) -> bytes:
    """`value` as JSON text; the same value gives the same bytes."""
    return json.dumps(plain(value), allow_nan=False).encode()


def write_atomically(path: Path, content: bytes) -> None:
    """Write all of `content` or nothing: temporary file, fsync, rename."""
    temporary = path.with_name(f"{path.name}.{platform.node()}-{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
