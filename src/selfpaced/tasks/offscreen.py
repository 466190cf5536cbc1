"""Pictures of a MuJoCo model without a screen."""

# MuJoCo's renderer is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

import ctypes.util
import os
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]  # (height, width, 3)


@dataclass(frozen=True)
class View:
    """Where a camera stands: it looks at a point from a distance, at two angles in degrees."""

    lookat: tuple[float, float, float]
    distance: float
    azimuth_deg: float
    elevation_deg: float


def prepare() -> None:
    """Let MuJoCo draw without a screen where there is none. It must not be loaded yet.

    MuJoCo decides when it is imported, and only by this variable; and it would not load at all
    with the name of a library that the machine lacks.
    """
    loaded = "mujoco" in sys.modules
    if not loaded and sys.platform == "linux" and not os.environ.get("DISPLAY"):
        for name, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
            if ctypes.util.find_library(library):
                os.environ.setdefault("MUJOCO_GL", name)
                return


class Camera:
    """Draws one model from one view."""

    def __init__(self, model: Any, view: View, *, width: int = 640, height: int = 480) -> None:
        import mujoco

        model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
        model.vis.global_.offheight = max(height, model.vis.global_.offheight)
        self._camera = mujoco.MjvCamera()
        self._camera.lookat[:] = view.lookat
        self._camera.distance = view.distance
        self._camera.azimuth, self._camera.elevation = view.azimuth_deg, view.elevation_deg
        try:
            self._renderer: Any = mujoco.Renderer(model, height, width)
        except Exception as error:  # MuJoCo's GL back ends raise whatever they like
            raise RuntimeError(
                "MuJoCo cannot draw here: set MUJOCO_GL=egl (Debian's libegl1) or osmesa "
                f"(libosmesa6) before Python starts; {type(error).__name__}: {error}"
            ) from error

    def picture(self, data: Any) -> Picture:
        """The state of `data`, whose positions are up to date."""
        self._renderer.update_scene(data, self._camera)
        return np.array(self._renderer.render())

    def close(self) -> None:
        """Free the graphics card, which Python would do too late."""
        self._renderer.close()
