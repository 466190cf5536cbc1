"""A lock on a run's folder: held by the one process that works on the run."""

import fcntl
import os
import stat
import time
import weakref
from pathlib import Path
from typing import BinaryIO

from selfpaced.maths.archives import DamagedFile

PATIENCE_SECONDS = 1.0  # how long taking a lock is tried


class Locked(RuntimeError):
    """Another process works on the run."""


def is_locked(folder: Path) -> bool:
    """Whether a process works on the run in `folder` right now."""
    try:
        file = _open(folder / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    with file:
        try:  # a shared lock: two processes that only ask do not exclude each other
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class RunLock:
    """A lock that this process holds until `close`. The system releases it if the process dies.

    Processes that are forked meanwhile do not hold it: a child that outlives the process, of a
    user's simulator say, does not keep the run locked.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        _held.add(self)

    def close(self) -> None:
        """Release the lock."""
        if not self._file.closed:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._file.close()

    def forget(self) -> None:
        """Close the file in a forked process; the lock stays with the process that took it."""
        self._file.close()


_held: weakref.WeakSet[RunLock] = weakref.WeakSet()


def _forget_all() -> None:
    for held in list(_held):
        held.forget()


os.register_at_fork(after_in_child=_forget_all)


def lock(folder: Path) -> RunLock:
    """Lock the run in `folder` for this process until the returned lock is closed.

    Raise `Locked` if another process has it. Somebody who only asks whether it is locked holds it
    for a moment, so we try for a second.
    """
    file = _open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return RunLock(file)
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.close()
                raise Locked(f"another process works on {folder}") from None
            time.sleep(0.05)


def _open(path: Path, flags: int) -> BinaryIO:
    """The lock file `path`; a DamagedFile if it is a link, a pipe or anything but a file."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        raise
    except OSError as error:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise DamagedFile(path, "a lock must be a regular file") from error
        raise
    file = os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "ab")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise DamagedFile(path, "a lock must be a regular file")
    return file
