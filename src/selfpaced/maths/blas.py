"""One thread for small matrices, in loops of users who let BLAS use all processors.

Sharing out a product of a few thousand numbers costs more than computing it: on a busy machine a
triangular solve for 4,096 contexts took 5 ms with two threads, and 0.05 ms with one.
"""

import importlib
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which NumPy and SciPy compute with one thread; then as before."""
    return _controller().limit(limits=1, user_api="blas")  # pyright: ignore[reportUnknownMemberType]


@cache
def _controller() -> ThreadpoolController:
    """Whatever BLAS is loaded; SciPy's must be, to be found."""
    importlib.import_module("scipy.linalg.lapack")
    return ThreadpoolController()
