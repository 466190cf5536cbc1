"""One thread for small matrices, in loops of users who let BLAS use all processors.

Sharing out a product of a few thousand numbers costs more than computing it: on a busy machine a
triangular solve for 4,096 contexts took 5 ms with two threads, and 0.05 ms with one.
"""

import importlib
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


class _Here(threading.local):
    """What is true of one thread of the program."""

    limited = False
    """True inside `one_blas_thread`."""


_here = _Here()


@contextmanager
def one_blas_thread() -> Generator[None, None, None]:
    """A context in which NumPy and SciPy compute with one thread; then as before.

    Inside another one it does nothing, so that a training that is in one already does not pay for
    those of its teacher; each call of BLAS that sets a number of threads takes its time.
    """
    if _here.limited:
        yield
        return
    _here.limited = True
    try:
        with _controller().limit(limits=1, user_api="blas"):  # pyright: ignore[reportUnknownMemberType]
            yield
    finally:
        _here.limited = False


@cache
def _controller() -> ThreadpoolController:
    """Whatever BLAS is loaded; SciPy's must be, to be found."""
    importlib.import_module("scipy.linalg.lapack")
    return ThreadpoolController()
