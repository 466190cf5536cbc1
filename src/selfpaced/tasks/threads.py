"""How many threads a task may use to simulate its rows.

Whoever executes a run hands out the processors: `train` gives all of them to its one run, a sweep
shares them out. A task that can use several threads asks `simulation_threads()` in every call of
`evaluate`. Its results must not depend on the number.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from selfpaced.maths.arrays import check_at_least

_THREADS = ContextVar("threads", default=1)


def simulation_threads() -> int:
    """The number of threads that a task may use now; 1 outside of `sharing_threads`."""
    return _THREADS.get()


@contextmanager
def sharing_threads(threads: int) -> Generator[None]:
    """Let tasks use `threads` threads, at least 1, within the block."""
    before = _THREADS.set(check_at_least("threads", threads, 1))
    try:
        yield
    finally:
        _THREADS.reset(before)


def processors() -> int:
    """Processors that this process may use; under SLURM, for example, fewer than there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
