"""A lock on a run's folder: held by the one process that works on the run."""

import fcntl
import time
from pathlib import Path
from typing import BinaryIO

PATIENCE_SECONDS = 1.0  # how long taking a lock is tried


class Locked(RuntimeError):
    """Another process works on the run."""


def is_locked(folder: Path) -> bool:
    """Whether a process works on the run in `folder` right now."""
    path = folder / "lock"
    if not path.exists():
        return False
    with path.open("rb") as file:
        try:  # a shared lock: two processes that only ask do not exclude each other
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def lock(folder: Path) -> BinaryIO:
    """Lock the run in `folder` for this process until the returned file is closed.

    The system releases the lock however the process dies. Raise `Locked` if another process has
    it. Somebody who only asks whether it is locked holds it for a moment, so we try for a second.
    """
    file = (folder / "lock").open("ab")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.close()
                raise Locked(f"another process works on {folder}") from None
            time.sleep(0.05)
