"""Zip files of arrays (.npz), read with every size checked before memory is taken for it.

Files of other people are read with these functions, so they trust nothing: neither the sizes that
a file declares, nor that its parts are complete. Nothing in a file is ever executed.
"""

import ast
import io
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

LONGEST_MESSAGE = 300  # characters of what a DamagedFile says
EMPTY_DIMENSION = 10_000  # largest dimension of an array without entries, which takes no bytes
HEADER = re.compile(rb"\x93NUMPY[\x01\x02\x03]\x00")  # how an array in a file begins
KIND = re.compile(r"[<>|=][biufcSU]\d{1,6}")  # element types: numbers and text, never objects
LOCAL, END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s4H2LH")  # records of a zip file
DAMAGE = (
    *(ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError),
    *(EOFError, MemoryError, SyntaxError, struct.error),
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError),
)
"""What reading damaged bytes may raise, in this module or in what makes values of them."""


class DamagedFile(ValueError):
    """A stored file cannot be read: damaged, incomplete, or not what its name says."""

    path: Path
    """The file."""
    why: str
    """What is wrong with it, in words."""

    def __init__(self, path: Path | str, why: str, kind: str = "") -> None:
        """Say that the file `path` is damaged, or that it must be of a `kind`, and `why`."""
        self.path, self.why, self._kind = Path(path), harmless(why)[:LONGEST_MESSAGE], kind
        rule = f"must be {kind};" if kind else "is damaged:"
        super().__init__(f"{harmless(str(path))} {rule} {self.why}")

    def __reduce__(self) -> tuple[type["DamagedFile"], tuple[Path, str, str]]:
        return DamagedFile, (self.path, self.why, self._kind)


@contextmanager
def damage_named(path: Path | str, kind: str = "") -> Generator[None, None, None]:
    """Turn whatever reading damaged bytes may raise into a `DamagedFile` that names `path`.

    `kind` says what the file must be, for files that people choose themselves.
    """
    try:
        yield
    except DamagedFile:
        raise
    except DAMAGE as error:
        text = str(error) or type(error).__name__
        why = f"it has no {text}" if isinstance(error, KeyError) else text
        raise DamagedFile(path, why, kind) from error


def harmless(text: str) -> str:
    """`text` with control characters, which could command a terminal, written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def arrays_in(content: bytes, largest: int | None = None) -> dict[str, NDArray[Any]]:
    """The arrays in `content`, the bytes of an .npz file; a ValueError if it is damaged.

    They may be compressed only if `largest` says how many bytes of memory they may take. Those
    that are not compressed take no more than the file itself.
    """
    arrays: dict[str, NDArray[Any]] = {}
    methods = (
        (zipfile.ZIP_STORED,) if largest is None else (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    )
    for name, member in zip_members(content, largest or len(content), methods).items():
        if not name.endswith(".npy"):
            raise ValueError(f"its member {name!r} is no array")
        arrays[name.removesuffix(".npy")] = array_in(member)
    return arrays


def zip_members(content: bytes, largest: int, methods: Collection[int]) -> dict[str, bytes]:
    """The members of the zip file `content` by name, `largest` bytes at most, by these `methods`.

    Raise a ValueError, or another error of DAMAGE, unless every member is whole and every byte
    belongs to one: otherwise a damaged directory could hide a member.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = file.infolist()
        _check_complete(content, members, len(file.comment))
        total = sum(member.file_size for member in members)
        if total > largest:
            raise ValueError(f"its members take {total} bytes; at most {largest} are read")
        found: dict[str, bytes] = {}
        for member in members:
            if member.compress_type not in methods or member.flag_bits & 0x1:
                raise ValueError(f"its member {member.filename!r} is packed in an unknown way")
            if member.filename in found:
                raise ValueError(f"it has two members {member.filename!r}")
            with file.open(member) as stream:
                data = stream.read(member.file_size + 1)
            if len(data) != member.file_size:
                raise ValueError(f"its member {member.filename!r} has another size than declared")
            found[member.filename] = data
        return found


def _check_complete(content: bytes, members: list[zipfile.ZipInfo], comment: int) -> None:
    """Raise a ValueError unless `members`, the directory and its end are all of `content`."""
    place = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset != place:
            raise ValueError("it has bytes that belong to no member")
        *_, name, extra = LOCAL.unpack_from(content, place)
        place += LOCAL.size + name + extra + member.compress_size
    end = len(content) - END.size - comment
    _, disk, first, here, count, size, offset, _ = END.unpack_from(content, max(end, 0))
    found = (disk, first, here, count, offset, offset + size)
    if found != (0, 0, len(members), len(members), place, end):
        raise ValueError("its directory is not complete")


def array_in(content: bytes) -> NDArray[Any]:
    """The array in `content`, the bytes of an .npy file; a ValueError if it is damaged."""
    if not HEADER.match(content):
        raise ValueError("it holds no array")
    wide = content[6] > 1  # the version: from 2 on the header's length has four bytes
    begin = 12 if wide else 10
    length = int.from_bytes(content[8:begin], "little")
    if length > 10_000 or begin + length > len(content):
        raise ValueError("the header of an array is not complete")
    header: Any = ast.literal_eval(content[begin : begin + length].decode("latin1").strip())
    kind, shape, fortran = header["descr"], header["shape"], header["fortran_order"]
    if not isinstance(kind, str) or not KIND.fullmatch(kind):
        raise ValueError(f"an array of {kind!r} is not read")
    if not isinstance(shape, tuple) or not all(
        type(size) is int and size >= 0 for size in cast(tuple[Any, ...], shape)
    ):
        raise ValueError("the shape of an array is no tuple of sizes")
    sizes, dtype = cast(tuple[int, ...], shape), np.dtype(kind)
    data = memoryview(content)[begin + length :]
    if math.prod(sizes) * dtype.itemsize != len(data):
        raise ValueError(f"an array of {sizes} numbers does not have {len(data)} bytes")
    if not len(data) and max(sizes, default=0) > EMPTY_DIMENSION:
        raise ValueError(f"an empty array of {sizes} is not read")
    if not len(data):
        return np.zeros(sizes, dtype)
    flat = np.frombuffer(data, dtype)
    return flat.reshape(sizes, order="F" if fortran else "C").copy()
