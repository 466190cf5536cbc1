"""Versions of the packages that results may depend on."""

import importlib.metadata
import platform

VERSIONS_OF = (
    *("selfpaced", "numpy", "scipy", "mujoco", "gymnasium_robotics"),
    *("cma", "torch", "gymnasium", "stable_baselines3"),
)


def versions() -> dict[str, str]:
    """What a result may depend on besides its spec: installed packages, the processor's type."""
    found: dict[str, str] = {}
    for name in VERSIONS_OF:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {**found, "python": platform.python_version(), "machine": platform.machine()}
