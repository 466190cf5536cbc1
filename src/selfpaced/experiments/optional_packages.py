"""Packages that only some algorithms, tasks and engines need, and the extra that installs each."""

import dataclasses
import importlib.util
from typing import Any

EXTRAS = {
    "Box2D": "others",
    "cma": "cma",
    "gymnasium": "gym",
    "gymnasium_robotics": "mujoco",
    "imageio_ffmpeg": "video",
    "mlflow": "mlflow",
    "minigrid": "others",
    "mujoco": "mujoco",
    "ray": "ray",
    "stable_baselines3": "sb3",
    "tensorboard": "tensorboard",
    "torch": "torch",
}


def how_to_install(package: str) -> str:
    """The sentence that tells how to install a missing `package`."""
    return f"this needs the package {package}: pip install 'selfpaced[{EXTRAS[package]}]'"


class MissingPackage(ValueError):
    """A package of an extra is not installed; the text tells how to install it."""


def require(package: str) -> None:
    """Raise a MissingPackage that tells how to install `package` if it is missing."""
    if importlib.util.find_spec(package) is None:
        raise MissingPackage(how_to_install(package))


def check_installed(part: Any) -> None:
    """Raise a ValueError if a package is missing that `part`, or something it holds, `needs`.

    `part` is a task or an algorithm's configuration.
    """
    for package in getattr(part, "needs", ()):
        if importlib.util.find_spec(package) is None:
            raise ValueError(f"{type(part).__name__}: {how_to_install(package)}")
    if dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            check_installed(getattr(part, field.name))
