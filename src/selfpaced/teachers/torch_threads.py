"""One thread of torch, for networks so small that a second one only waits."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def one_torch_thread(torch: Any) -> Generator[None, None, None]:
    """Compute with one thread of `torch`, the module: results must not depend on their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
