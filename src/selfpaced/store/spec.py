"""What identifies a run: its spec, and the folder that only runs with this spec may use.

A spec is plain data: experiment, algorithm, its configuration, a description of the problem, the
seed and, where a user's own code is involved, fingerprints of that code. A run's length is not
part of it: asking for more iterations continues the run.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from selfpaced.names import checked_name
from selfpaced.store.compatibility import old_algorithm_name, upgraded_spec
from selfpaced.store.files import (
    json_bytes,
    read_json,
    read_vouched_json,
    vouched_json,
    write_atomically,
)
from selfpaced.store.locking import is_locked

FORMAT = 2
"""Version of the files in a run's folder. Format 1 had neither checksums nor fingerprints."""
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
    """The folders of all runs below `out`, finished or not, in order."""
    return [path.parent for path in sorted(out.glob("*/*/seed-*/spec.json"))]


def read_spec(folder: Path) -> dict[str, Any]:
    """The spec of the run in `folder`, in today's format; a ValueError if it is damaged."""
    try:
        return upgraded_spec(read_vouched_json(folder / "spec.json"))
    except ValueError as error:
        raise ValueError(f"{error}. Remove {folder} and run it again") from error


def write_spec(folder: Path, spec: dict[str, Any]) -> None:
    """Write `spec` with a checksum of its own."""
    write_atomically(folder / "spec.json", vouched_json(spec))


def check_spec(folder: Path, spec: dict[str, Any], *, accept_edited_code: bool = False) -> None:
    """Raise a ValueError that names each difference if `folder` holds a run with another spec.

    With `accept_edited_code` differences of a user's own code are not looked at.
    """
    if not (folder / "spec.json").exists():
        return
    stored = read_spec(folder)
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
    """
    check_spec(folder, spec, accept_edited_code=accept_edited_code)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "spec.json").exists():
        write_spec(folder, spec)
    elif edited_code(spec, stored := read_spec(folder)) and not is_locked(folder):
        earlier = [*stored.get("earlier_code", []), stored["code"]]
        write_spec(folder, {**spec, "earlier_code": earlier})
    if asked_iterations(folder) < iterations:
        write_atomically(folder / "budget.json", json_bytes({"iterations": iterations}))


def asked_iterations(folder: Path) -> int:
    """How many iterations were asked of the run in `folder`; 0 if nobody has said."""
    path = folder / "budget.json"
    return int(read_json(path)["iterations"]) if path.exists() else 0


def differences(asked: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Each place where two specs differ, in words. A missing entry equals None."""
    if isinstance(asked, dict) and isinstance(stored, dict):
        a, s = cast(dict[str, Any], asked), cast(dict[str, Any], stored)
        for key in sorted({*a, *s}):
            yield from differences(a.get(key), s.get(key), f"{path}.{key}" if path else key)
    elif asked != stored:
        yield f"{path} is {stored!r} there and {asked!r} here"
