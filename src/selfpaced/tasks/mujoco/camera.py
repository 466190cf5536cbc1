"""Pictures of a MuJoCo model, also on machines without a screen. Loads without MuJoCo."""

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

Picture = NDArray[np.uint8]
"""A picture as red, green and blue from 0 to 255: (height, width, 3)."""


@dataclass(frozen=True)
class View:
    """Where a camera stands and looks."""

    lookat: tuple[float, float, float]
    """The point in the middle of the picture, in metres."""
    distance: float
    """Distance of the camera from that point, in metres."""
    azimuth_deg: float
    """Direction of the look in the horizontal plane, in degrees; at 0 it is along x."""
    elevation_deg: float
    """Angle of the look to the horizontal plane, in degrees; negative looks down."""


def prepare_offscreen() -> None:
    """Let MuJoCo draw on a machine without a screen. Call it before MuJoCo is imported.

    MuJoCo chooses its graphics library at import, by the environment variable MUJOCO_GL alone, and
    fails to import if it names a library that is not installed. So this sets the variable to a
    library that is there, if Linux has no display, and does nothing once MuJoCo is imported.
    """
    loaded = "mujoco" in sys.modules
    if not loaded and sys.platform == "linux" and not os.environ.get("DISPLAY"):
        for name, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
            if ctypes.util.find_library(library):
                os.environ.setdefault("MUJOCO_GL", name)
                return


class Camera:
    """Draws a compiled MuJoCo `model` from one `view`; sizes are in pixels."""

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
        except Exception as error:  # MuJoCo's graphics libraries raise many kinds of errors
            raise RuntimeError(
                "MuJoCo cannot draw here: set MUJOCO_GL=egl (Debian's libegl1) or osmesa "
                f"(libosmesa6) before Python starts; {type(error).__name__}: {error}"
            ) from error

    def picture(self, data: Any) -> Picture:
        """A picture of the state in `data`; call mj_forward on it before."""
        self._renderer.update_scene(data, self._camera)
        return np.array(self._renderer.render())

    def close(self) -> None:
        """Free the graphics memory; at the program's end Python would do so too late."""
        self._renderer.close()
