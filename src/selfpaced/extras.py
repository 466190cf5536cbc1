"""Packages that only some algorithms and engines need, and the extra that installs each."""

import dataclasses
import importlib.util
from typing import Any

EXTRAS = {
    "cma": "cma",
    "gymnasium": "gym",
    "gymnasium_robotics": "mujoco",
    "imageio_ffmpeg": "video",
    "mujoco": "mujoco",
    "ray": "ray",
    "stable_baselines3": "sb3",
    "tensorboard": "tensorboard",
    "torch": "torch",
}


def how_to_install(package: str) -> str:
    """What to say when `package` is missing."""
    return f"this needs the package {package}: pip install 'selfpaced[{EXTRAS[package]}]'"


def check_installed(part: Any) -> None:
    """A ValueError in one line if a task, an algorithm, or a part of it `needs` what is missing."""
    for package in getattr(part, "needs", ()):
        if importlib.util.find_spec(package) is None:
            raise ValueError(f"{type(part).__name__}: {how_to_install(package)}")
    if dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            check_installed(getattr(part, field.name))
