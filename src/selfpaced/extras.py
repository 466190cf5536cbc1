"""Packages that only some algorithms and engines need, and the extra that installs each."""

import dataclasses
import importlib.util
from typing import Any

EXTRAS = {"cma": "cma", "ray": "ray", "tensorboard": "tensorboard", "torch": "torch"}


def how_to_install(package: str) -> str:
    """What to say when `package` is missing."""
    return f"this needs the package {package}: pip install 'selfpaced[{EXTRAS[package]}]'"


def check_installed(numbers: Any) -> None:
    """A ValueError in one line if an algorithm, or a part of it, `needs` a missing package."""
    package = getattr(numbers, "needs", None)
    if package is not None and importlib.util.find_spec(package) is None:
        raise ValueError(f"{type(numbers).__name__}: {how_to_install(package)}")
    if dataclasses.is_dataclass(numbers):
        for field in dataclasses.fields(numbers):
            check_installed(getattr(numbers, field.name))
