"""What identifies a run: its spec, and the folder that only runs with this spec may use.

A spec is plain data: experiment, algorithm, its configuration, a description of the problem, the
seed and, where a user's own code is involved, fingerprints of that code. A run's length is not
part of it: asking for more iterations continues the run.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from selfpaced.maths.archives import DAMAGE, DamagedFile, damage_named, harmless
from selfpaced.names import checked_name
from selfpaced.store.compatibility import old_algorithm_name, upgraded_spec
from selfpaced.store.files import (
    FORMAT,
    LARGEST_JSON,
    DamageWarning,
    file_bytes,
    read_vouched_json,
    vouched_json,
    vouched_object,
    vouched_text,
    write_atomically,
)
from selfpaced.store.locking import is_locked

MOST_ITERATIONS = 10**12  # what a stored number of iterations may be
DATA_FILES = (  # what a run has computed; a folder without them is one that nobody has begun
    *("result.json", "checkpoint.npz", "metrics.jsonl", "policy.npz", "final.npz", "error.json"),
)
NO_CODE: dict[str, Any] = {"sources": {}}
CODE_KEYS = ("code", "earlier_code")  # keys of a spec that say by which code a run was made


def run_folder(out: Path, experiment: str, algorithm: str, seed: int) -> Path:
    """The folder of one run below `out`.

    Runs of an algorithm that was renamed since stay in the folder with its old name, if there is
    one, and are continued there.
    """
    runs = out / checked_name(experiment)
    folder = runs / checked_name(algorithm)
    old = runs / old_algorithm_name(experiment, algorithm)
    if old.is_dir() and not folder.is_dir():
        folder = old
    return folder / f"seed-{seed:03d}"


def run_folders(out: Path) -> list[Path]:
    """The folders of all runs below `out`, finished or not, in order.

    A folder without a spec counts if it holds other files of a run. Symbolic links below `out`
    are not followed: they are left out, with a warning.
    """
    found: list[Path] = []
    for experiment in _folders(out, lambda name: not name.startswith(".")):
        for algorithm in _folders(experiment, lambda name: not name.startswith(".")):
            found += [
                folder
                for folder in _folders(algorithm, lambda name: name.startswith("seed-"))
                if (folder / "spec.json").exists() or holds_data(folder)
            ]
    return found


def _folders(parent: Path, wanted: Callable[[str], bool]) -> list[Path]:
    """The folders in `parent` whose names are `wanted`, in order; links are left out."""
    names: list[str] = []
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                if not wanted(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif entry.is_symlink() and entry.is_dir():
                    _warn(f"{entry.path} is a symbolic link and is not followed")
    except FileNotFoundError:
        return []
    except OSError as error:
        _warn(f"{parent} cannot be read ({error.strerror})")
    return [parent / name for name in sorted(names)]


def _warn(text: str) -> None:
    warnings.warn(harmless(text), DamageWarning, stacklevel=2)


def holds_data(folder: Path) -> bool:
    """True if `folder` holds something that a run has computed or recorded."""
    return any((folder / name).exists() for name in DATA_FILES)


def read_spec(folder: Path) -> dict[str, Any]:
    """The spec of the run in `folder`, in today's format.

    Raise a DamagedFile if it is missing, damaged, or of another run than the folder's name says.
    """
    path = folder / "spec.json"
    try:
        content = file_bytes(path, LARGEST_JSON)
    except FileNotFoundError as error:
        raise DamagedFile(path, f"it is missing{_remedy(folder)}") from error
    except DamagedFile as error:
        raise DamagedFile(path, f"{error.why}{_remedy(folder)}") from error
    return _spec_in(content, folder)


def _spec_in(content: bytes, folder: Path) -> dict[str, Any]:
    """The spec in `content`, the bytes of spec.json in `folder`."""
    path = folder / "spec.json"
    try:
        with damage_named(path):
            spec = checked_spec(upgraded_spec(vouched_object(content)))
    except DamagedFile as error:
        raise DamagedFile(path, f"{error.why}{_remedy(folder)}") from error
    here = Path(os.path.abspath(folder))
    experiment, algorithm = str(spec["experiment"]), str(spec["algorithm"])
    names = {algorithm, old_algorithm_name(experiment, algorithm)}
    if (
        here.parents[1].name != experiment
        or here.parent.name not in names
        or here.name != f"seed-{spec['seed']:03d}"
    ):
        raise DamagedFile(
            path,
            f"it is that of {experiment} {algorithm} seed {spec['seed']}, which belongs into "
            f"another folder{_remedy(folder)}",
        )
    return spec


def _remedy(folder: Path) -> str:
    return f". Remove {harmless(str(folder))} and run it again"


def checked_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Return `spec` if its entries are what they must be; raise a ValueError otherwise.

    The names become those of folders and files, so everything that is stored passes here before
    anything is made of it.
    """
    if spec.get("format") != FORMAT:
        raise ValueError(f"format must be {FORMAT}; got {spec.get('format')!r}")
    for key in ("experiment", "algorithm"):
        if not isinstance(spec.get(key), str):
            raise ValueError(f"{key} must be a name; got {spec.get(key)!r}")
        checked_name(spec[key])
    if type(spec.get("seed")) is not int or not 0 <= spec["seed"] < 2**63:
        raise ValueError(f"seed must be a whole number of at least 0; got {spec.get('seed')!r}")
    for key in ("config", "problem", "code"):
        if not isinstance(spec.get(key, {}), dict):
            raise ValueError(f"{key} must be an object; got {spec[key]!r}")
    earlier: Any = spec.get("earlier_code", [])
    if not isinstance(earlier, list):
        raise ValueError(f"earlier_code must be a list; got {earlier!r}")
    for code in (spec.get("code", NO_CODE), *cast(list[Any], earlier)):
        if not isinstance(code, dict) or not isinstance(
            cast(dict[str, Any], code).get("sources"), dict
        ):
            raise ValueError("code must hold the checksums of its sources")
    return spec


def write_spec(folder: Path, spec: dict[str, Any], *, durable: bool = True) -> None:
    """Write `spec` with a checksum of its own."""
    write_atomically(folder / "spec.json", spec_bytes(spec), durable=durable)


def spec_bytes(spec: dict[str, Any]) -> bytes:
    """`spec` as it is written to its file."""
    try:
        return vouched_text(json.dumps(spec, allow_nan=False).encode())
    except (TypeError, ValueError):  # not plain data yet
        return vouched_json(spec)


def check_spec(folder: Path, spec: dict[str, Any], *, accept_edited_code: bool = False) -> None:
    """Raise a ValueError that names each difference if `folder` holds a run with another spec.

    With `accept_edited_code` differences of a user's own code are not looked at. Raise a
    DamagedFile if the folder holds a run whose spec is missing or damaged, or if it is reached
    through a symbolic link.
    """
    if not folder.exists():
        return
    for path in (folder, *folder.parents[:2]):
        if path.is_symlink():
            raise DamagedFile(path, "it is a symbolic link, which is not followed")
    try:
        content = file_bytes(folder / "spec.json", LARGEST_JSON)
    except FileNotFoundError:
        if holds_data(folder):
            read_spec(folder)  # says what is missing
        return
    if content == spec_bytes(spec):
        return
    if not holds_data(folder) and not _is_whole(content):
        return  # a loss of power has hit a run that nobody has begun: it is written again
    stored = _spec_in(content, folder)
    if found := list(differences(without_code(spec), without_code(stored))):
        raise ValueError(
            f"{folder} holds a run of another configuration, problem or seed: {'; '.join(found)}. "
            "Choose another folder (--out, or out= in Python), or remove that one"
        )
    known, here = (found.get("code", {}).get("selfpaced") for found in (stored, spec))
    if known and here and known != here:
        warnings.warn(f"{folder} holds a run of selfpaced {known}; this is {here}", stacklevel=2)
    edited = edited_code(spec, stored)
    if edited and not accept_edited_code:
        raise ValueError(
            f"{folder} holds a run that was made by other code: {'; '.join(edited)}. "
            "Choose another folder (--out, or out= in Python), remove that one, or mix both on "
            "purpose with --accept-edited-code (accept_edited_code=True)"
        )


def _is_whole(content: bytes) -> bool:
    try:
        vouched_object(content)
    except DAMAGE:
        return False
    return True


def without_code(spec: dict[str, Any]) -> dict[str, Any]:
    """`spec` without the fingerprints of code."""
    return {key: value for key, value in spec.items() if key not in CODE_KEYS}


def edited_code(spec: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    """What differs between the code of two specs, in words; nothing if either does not say."""
    asked, known = spec.get("code"), stored.get("code")
    if asked is None or known is None:
        return []
    words: list[str] = []
    old, new = known["sources"], asked["sources"]
    for name in sorted({*old, *new}):
        if name not in new:
            words.append(f"{name} is not used any more")
        elif name not in old:
            words.append(f"{name} was not used before")
        elif old[name] != new[name]:
            words.append(f"{name} has been edited")
    return words


def ask_for(
    folder: Path, spec: dict[str, Any], iterations: int, *, accept_edited_code: bool = False
) -> None:
    """Write down that a run is wanted, before anybody works on it. Never shortens a run.

    A run that goes on with edited code keeps the fingerprints of what it was made by before.
    Nothing is synced, because there is nothing to lose yet: who works on the run syncs its spec.
    """
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_spec(folder, spec, durable=False)
        _write_budget(folder, iterations)
        return
    check_spec(folder, spec, accept_edited_code=accept_edited_code)
    locked = is_locked(folder)  # a DamagedFile if the lock is a link or a pipe
    path = folder / "spec.json"
    content = file_bytes(path, LARGEST_JSON) if path.exists() else b""
    if not _is_whole(content):
        write_spec(folder, spec, durable=False)
    elif content != spec_bytes(spec):
        stored = _spec_in(content, folder)
        if edited_code(spec, stored) and not locked:
            earlier = [*stored.get("earlier_code", []), stored["code"]]
            write_spec(folder, {**spec, "earlier_code": earlier})
    if asked_iterations(folder) < iterations:
        _write_budget(folder, iterations)


def _write_budget(folder: Path, iterations: int) -> None:
    content = vouched_json({"iterations": iterations})
    write_atomically(folder / "budget.json", content, durable=False)


def asked_iterations(folder: Path) -> int:
    """How many iterations were asked of the run in `folder`; 0 if nobody has said.

    A damaged budget counts as none: who asks for the run writes a new one.
    """
    try:
        iterations = read_vouched_json(folder / "budget.json").get("iterations")
    except (FileNotFoundError, DamagedFile):
        return 0
    return iterations if type(iterations) is int and 0 <= iterations <= MOST_ITERATIONS else 0


def differences(asked: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Each place where two specs differ, in words. A missing entry equals None."""
    for place, here, there in differing_values(asked, stored, path):
        yield f"{place} is {there!r} there and {here!r} here"


def differing_values(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each place where two specs differ, with both values. A missing entry equals None."""
    if isinstance(one, dict) and isinstance(other, dict):
        a, b = cast(dict[str, Any], one), cast(dict[str, Any], other)
        for key in sorted({*a, *b}):
            yield from differing_values(a.get(key), b.get(key), f"{path}.{key}" if path else key)
    elif one != other:
        yield path, one, other
