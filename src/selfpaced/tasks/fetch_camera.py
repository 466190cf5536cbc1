"""Pictures of the Fetch arm at its table."""

# MuJoCo ships no types for its specs:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from typing import Any

import mujoco
import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.tasks.fetch import arm_spec, place_obstacles
from selfpaced.tasks.offscreen import Camera, Picture, View
from selfpaced.tasks.reacher import GOAL, obstacles
from selfpaced.tasks.rollouts import PHYSICS

# From the front and above: the goal is near, the start far.
VIEW = View(lookat=(1.27, 0.76, 0.4), distance=1.35, azimuth_deg=90.0, elevation_deg=-62.0)
SKY = [0.93, 0.95, 0.97], [0.78, 0.82, 0.86]


class FetchCamera:
    """Draws arms with all the shapes of the robot, which the simulation goes without."""

    def __init__(self, *, width: int = 640, height: int = 480) -> None:
        spec = arm_spec(np.array([0.05, 0.05]), visible=True)
        spec.worldbody.add_site(
            pos=[*GOAL[:2], 0.41], size=[0.02, 0.005, 0.005], rgba=[0.86, 0.08, 0.24, 1], type=3
        )
        for texture in spec.textures:
            if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX:
                texture.rgb1, texture.rgb2 = SKY
        self._model: Any = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._camera = Camera(self._model, VIEW, width=width, height=height)

    def picture(self, context: Array, state: Array) -> Picture:
        """An arm in `state`, as `FetchArms.states` holds it, among the obstacles of `context`."""
        place_obstacles(self._model, *(part[0] for part in obstacles(context[None])))
        mujoco.mj_setState(self._model, self._data, state, PHYSICS)
        mujoco.mj_forward(self._model, self._data)
        return self._camera.picture(self._data)

    def close(self) -> None:
        self._camera.close()
