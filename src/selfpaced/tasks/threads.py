"""How many threads a task may use to simulate its rows.

Whoever executes a run hands out the processors: `train` gives all of them to its one run, a sweep
shares them out. A task that can use several threads asks `simulation_threads()` in every call of
`evaluate`. Its results must not depend on the number.
"""

import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from selfpaced.maths.arrays import IntArray, check_at_least

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


def share_rows(work: Callable[[IntArray], None], n: int, parts_per_thread: int = 1) -> None:
    """Call `work` with parts of the rows 0 to n - 1, on `simulation_threads()` threads.

    Every thread takes the next part when it is free, so that no thread waits for another one before
    the end. Parts are interleaved: rows that cost more, next to each other, go to different parts.
    `work` must treat every row independently of the others, and release the GIL for most of its
    time. In it, `simulation_threads()` is 1.
    """
    threads = min(simulation_threads(), n)
    if threads <= 1:  # in this thread
        work(np.arange(n))
        return
    count = min(n, threads * parts_per_thread)
    with ThreadPoolExecutor(threads) as pool:  # its threads do not inherit _THREADS
        for _ in pool.map(work, [np.arange(first, n, count) for first in range(count)]):
            pass  # raises what `work` has raised


def processors() -> int:
    """Processors that this process may use; under SLURM, for example, fewer than there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
