"""Plain data on disk: JSON and arrays, written as a whole or not at all. Nothing is pickled."""

import contextlib
import dataclasses
import errno
import io
import json
import math
import os
import platform
import re
import stat
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from selfpaced.maths.archives import DAMAGE, DamagedFile, arrays_in, damage_named
from selfpaced.types import State

FORMAT = 2
"""Version of the files in a run's folder. Format 1 had neither checksums nor fingerprints."""
CHECKSUM = "checksum"  # the entry of a JSON file that vouches for the others
VOUCHED = re.compile(rb', "checksum": (\d{1,10})}$')  # the end of a file that `vouched_json` wrote
LARGEST_FILE = 2**28  # bytes of a file that is read at once
LARGEST_JSON = 2**24  # the same for one JSON object
DEEPEST = 40  # levels of lists and objects in a JSON file
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # what may be half a character
UNREADABLE = frozenset(  # errors of one file, not of the whole disk
    (errno.ELOOP, errno.EACCES, errno.EPERM, errno.EIO, errno.EISDIR, errno.ENXIO, errno.ENODEV)
)


class DamageWarning(UserWarning):
    """Something that is stored was left out because it is damaged."""


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: dataclasses with their type, arrays as lists, nan as null.

    Infinity becomes "inf", a function its qualified name, and any other object its attributes.
    """
    kind: Any = value.__class__  # most values are plain already, and are told by their exact types
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind is list:
        return [plain(item) for item in value]
    if kind is dict:
        return {str(k): plain(v) for k, v in value.items()}
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
    try:
        return arrays_in(content)
    except DAMAGE as error:
        raise ValueError(str(error)) from error


def file_bytes(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """The content of the regular file `path`, of `largest` bytes at most.

    Symbolic links are not followed: they could lead out of a folder that somebody else has made.
    Raise a FileNotFoundError if there is nothing, and a DamagedFile for a link, a folder, a
    device, a pipe, a file that is too large, or one that the disk cannot read.
    """
    try:
        with open(path, "rb", opener=_without_following) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise DamagedFile(path, "it is no regular file")
            if found.st_size > largest:
                raise DamagedFile(path, f"it has {found.st_size} bytes; at most {largest} are read")
            return file.read(largest + 1)[:largest]
    except OSError as error:
        if error.errno not in UNREADABLE:
            raise
        raise DamagedFile(path, f"it cannot be read ({error.strerror})") from error


def _without_following(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


def json_object(content: bytes) -> dict[str, Any]:
    """The JSON object in `content`; a ValueError or a RecursionError if it is damaged."""
    text = content.decode()
    found: Any = DECODER.decode(text)
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(found, DEEPEST)
    if SURROGATE.search(text):  # half a character cannot be shown or written
        json.dumps(found, ensure_ascii=False).encode()
    return cast(dict[str, Any], found)


def json_objects(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """The JSON objects in `lines`, one in each, parsed at once; errors as in `json_object`."""
    text = b",".join(lines).decode()
    found: list[Any] = DECODER.decode(f"[{text}]")
    if len(found) != len(lines) or not all(isinstance(value, dict) for value in found):
        raise ValueError("it does not hold one object in each line")
    for line, value in zip(lines, found, strict=True):
        if line.count(b"[") + line.count(b"{") > DEEPEST:
            _check_depth(value, DEEPEST)
    if SURROGATE.search(text):
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse)


def _check_depth(value: Any, left: int) -> None:
    if left < 0:
        raise ValueError(f"its values are nested more than {DEEPEST} deep")
    if isinstance(value, dict):
        value = list(cast(dict[str, Any], value).values())
    if isinstance(value, list):
        for item in cast(list[Any], value):
            if isinstance(item, dict | list):
                _check_depth(item, left - 1)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file `path`; a DamagedFile if it is damaged."""
    content = file_bytes(path, LARGEST_JSON)
    with damage_named(path):
        return json_object(content)


def json_bytes(value: Any) -> bytes:
    """`value` as JSON text; the same value gives the same bytes."""
    return json.dumps(plain(value), allow_nan=False).encode()


def vouched_json(value: dict[str, Any]) -> bytes:
    """`value` as JSON text with a checksum of itself, which `read_vouched_json` verifies.

    It begins with its format: without one a file that has lost its checksum would pass for one of
    format 1, which had none.
    """
    return vouched_text(json_bytes({"format": FORMAT, **value}))


def vouched_text(text: bytes) -> bytes:
    """The JSON object that `text` holds, with a checksum of itself as its last entry."""
    gap = b"" if text == b"{}" else b", "
    return text[:-1] + gap + b'"%s": %d}' % (CHECKSUM.encode(), zlib.crc32(text))


def read_vouched_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file `path`, without its checksum; a DamagedFile if it is damaged."""
    content = file_bytes(path, LARGEST_JSON)
    with damage_named(path):
        return vouched_object(content)


def vouched_object(content: bytes) -> dict[str, Any]:
    """The JSON object that `vouched_json` has written as `content`, without its checksum.

    Raise a ValueError if it is damaged. Files of format 1 have no checksum and are taken as they
    are.
    """
    found = json_object(content)
    checksum = found.pop(CHECKSUM, None)
    if checksum is None and found.get("format", 1) == 1:
        return found
    end = VOUCHED.search(content)
    if end is not None and zlib.crc32(content[: end.start()] + b"}") == int(end[1]):
        return found
    if checksum != zlib.crc32(json_bytes(found)):  # somebody may have formatted it in another way
        raise ValueError("its checksum does not fit its content")
    return found


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write all of `content` to the file `path` or nothing: temporary file, fsync, rename.

    The folder is synced as well, so that the new name survives a loss of power. Without `durable`
    nothing is synced: after a loss of power the file may be missing or damaged.
    """
    temporary = f"{path}.{platform.node()}-{os.getpid()}.tmp"
    try:
        with open(temporary, "wb", opener=_without_following) as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
        if durable:
            sync_folder(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def sync_folder(folder: Path) -> None:
    """Make sure that the names in `folder` survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(descriptor)
