"""`FetchCamera`: pictures of the Fetch arm at its table."""

# MuJoCo ships no types for its specs:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from typing import Any

import mujoco
import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.tasks.mujoco.camera import Camera, Picture, View
from selfpaced.tasks.mujoco.fetch import arm_spec, place_obstacles
from selfpaced.tasks.mujoco.rollouts import PHYSICS
from selfpaced.tasks.reacher import GOAL, obstacles

# From the front and above: the goal is near, the start far.
VIEW = View(lookat=(1.27, 0.76, 0.4), distance=1.35, azimuth_deg=90.0, elevation_deg=-62.0)
SKY = [0.93, 0.95, 0.97], [0.78, 0.82, 0.86]  # two colours that the background blends


class FetchCamera:
    """Draws arms with all shapes of the robot, most of which the simulation leaves out.

    `width` and `height` are in pixels.
    """

    def __init__(self, *, width: int = 640, height: int = 480) -> None:
        spec = arm_spec(np.array([0.05, 0.05]), visible=True)
        spec.worldbody.add_site(  # the goal, drawn on the table
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            pos=[*GOAL[:2], 0.41],
            size=[0.02, 0.005, 0.005],
            rgba=[0.86, 0.08, 0.24, 1],
        )
        for texture in spec.textures:
            if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX:
                texture.rgb1, texture.rgb2 = SKY
        self._model: Any = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._camera = Camera(self._model, VIEW, width=width, height=height)

    def picture(self, context: Array, state: Array) -> Picture:
        """An arm in `state`, a row of `FetchArms.states`, among the obstacles of `context` (2,)."""
        place_obstacles(self._model, *(part[0] for part in obstacles(context[None])))
        mujoco.mj_setState(self._model, self._data, state, PHYSICS)
        mujoco.mj_forward(self._model, self._data)
        return self._camera.picture(self._data)

    def close(self) -> None:
        """Free the graphics memory."""
        self._camera.close()
