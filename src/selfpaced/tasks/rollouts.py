"""MuJoCo's rollouts of many rows at once, for tasks that simulate."""

# MuJoCo's rollout is partly untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

from selfpaced.maths.arrays import Array, BoolArray

PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)  # what a state holds: the clock comes first
CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)


class Rollouts:
    """Simulates rows one after the other; each may have its own model, of the sizes of `model`."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._rollout = mujoco.rollout.Rollout(nthread=0)  # in this thread
        self._data = mujoco.MjData(model)

    def simulate(
        self, models: list[Any], states: Array, controls: Array, control_spec: int = CONTROL
    ) -> tuple[Array, Array, BoolArray]:
        """States (k, t, s) after, and sensors (k, t, m) before, each of the controls (k, t, c).

        And which rows (k,) blew up: MuJoCo starts these anew and stops, so that their clocks stay
        behind. A sensor shows the state that a step began with. Rows do not warm-start each
        other's solver: MuJoCo's rollout starts every call cold.
        """
        k, t = controls.shape[:2]
        after = np.empty((k, t, states.shape[1]))
        sensed = np.empty((k, t, self.model.nsensordata))
        others = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(_say_nothing)  # of what blows up: it is seen and counted
        try:
            self._rollout.rollout(
                models,
                [self._data],
                np.ascontiguousarray(states),
                controls,
                control_spec=control_spec,
                nstep=t,
                state=after,
                sensordata=sensed,
                skip_checks=True,  # every shape is given above
            )
        finally:
            mujoco.set_mju_user_warning(others)
        # Half a step less than the clock should show: it adds up with rounding errors.
        expected = states[:, 0] + (t - 0.5) * self.model.opt.timestep
        return after, sensed, after[:, -1, 0] < expected


def _say_nothing(message: str) -> None:
    """MuJoCo would print the message and write it to a file in the working directory."""
