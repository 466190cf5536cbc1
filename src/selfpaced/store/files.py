"""Plain data on disk: JSON and arrays, written as a whole or not at all. Nothing is pickled."""

import dataclasses
import io
import json
import math
import os
import platform
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from selfpaced.types import State

CHECKSUM = "checksum"  # the entry of a JSON file that vouches for the others


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: dataclasses with their type, arrays as lists, nan as null.

    Infinity becomes "inf", a function its qualified name, and any other object its attributes.
    """
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


def npz_bytes(arrays: State) -> bytes:
    """`arrays` as an .npz file; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_npz(content: bytes) -> State:
    """The arrays in `content`, the bytes of an .npz file; a ValueError if it is damaged."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError("not a whole .npz file")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return dict(file)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError) as error:
        raise ValueError(str(error)) from error


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file `path`; a ValueError that names the file if it is damaged."""
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


def vouched_json(value: dict[str, Any]) -> bytes:
    """`value` as JSON text with a checksum of itself, which `read_vouched_json` verifies."""
    return json_bytes({**value, CHECKSUM: zlib.crc32(json_bytes(value))})


def read_vouched_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file `path`, without its checksum; a ValueError if it is damaged.

    Files of format 1 have no checksum and are taken as they are.
    """
    found = read_json(path)
    checksum = found.pop(CHECKSUM, None)
    if checksum is None and found.get("format", 1) == 1:
        return found
    if checksum != zlib.crc32(json_bytes(found)):
        raise ValueError(f"{path} is damaged: its checksum does not fit its content")
    return found


def write_atomically(path: Path, content: bytes) -> None:
    """Write all of `content` to the file `path` or nothing: temporary file, fsync, rename."""
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
