"""The Fetch arm of the reacher in MuJoCo, many at once.

The robot's model comes from the installed gymnasium-robotics package and is edited here: the base
stands still, only the fingers and the gripper collide, and table, walls and obstacles are added.
A step moves a mocap body, to which the gripper is welded, and simulates five substeps.
"""

# MuJoCo ships no types for its specs:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

import copy
import importlib.util
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.tasks.reacher import (
    OBSTACLE_HALF_HEIGHT,
    OBSTACLE_HALF_WIDTH,
    OBSTACLE_Z,
    STEP_SECONDS,
    TABLE,
    TABLE_TOP,
    WALL_HALF_HEIGHT,
    WALL_Z,
    WALLS,
    YAWS,
    lift,
    obstacles,
)
from selfpaced.tasks.rollouts import PHYSICS, Rollouts

SUBSTEPS = 5
TIMESTEP = STEP_SECONDS / SUBSTEPS
REACH = 0.05  # how far the mocap body goes ahead of the gripper at a full action
DOWN = np.array([1.0, 0.0, 1.0, 0.0])  # orientation: fingers to the table
BASE = np.array([0.4049, 0.48, 0.0])  # where the base stands, from its place in the model
START = np.array([-0.5398, 0.4059, -0.286])  # mocap body from the grip of the stretched arm
SETTLING_STEPS = 50
COLLIDING = ("gripper_link", "l_gripper_finger_link", "r_gripper_finger_link")
# Without mass and shape: they would only cost time.
EMPTY_BODIES = ("head_camera_link", "gripper_camera_link", "external_camera_body_0")
MOCAP = int(mujoco.mjtState.mjSTATE_MOCAP_POS | mujoco.mjtState.mjSTATE_MOCAP_QUAT)
# Places of the sensors in what they read together, in the order in which `_sense` adds them.
LINK, ORIENTATION, GRIP = slice(0, 3), slice(3, 7), slice(7, 10)
VELOCITY, CONTACT = slice(10, 12), 13


class Fetch:
    """The compiled model, a copy of it for every row, and the settled start."""

    def __init__(self) -> None:
        self.model = arm_spec(np.array([0.05, 0.05])).compile()
        self._models: list[Any] = []
        self._rollouts = Rollouts(self.model)
        self._fingers = [
            1 + self.model.joint(f"robot0:{side}_gripper_finger_joint").qposadr[0] for side in "lr"
        ]
        self.start, self.start_sensors = self._settled()

    def arms(self, contexts: Array) -> "FetchArms":
        """Arms at the start. Those of the last call must not be moved any more."""
        while len(self._models) < len(contexts):
            self._models.append(copy.copy(self.model))
        self.place(np.arange(len(contexts)), contexts)
        return FetchArms(self, len(contexts))

    def place(self, rows: IntArray, contexts: Array) -> None:
        """Put the obstacles of `contexts` (k, 2) into the models of `rows` (k,)."""
        for row, centres, half_lengths in zip(rows, *obstacles(contexts), strict=True):
            place_obstacles(self._models[row], centres, half_lengths)

    def simulate(
        self, rows: IntArray, states: Array, mocap: Array
    ) -> tuple[Array, Array, BoolArray]:
        """States (k, s) and sensors (k, m) after a step of `rows` (k,) towards `mocap` (k, 7).

        And which of them (k,) blew up. A sensor shows the state that a substep began with. One
        more substep, whose result is dropped, shows where the last one led.
        """
        after, sensed, unstable = self._rollouts.simulate(
            [self._models[row] for row in rows],
            states,
            np.repeat(mocap[:, None], SUBSTEPS + 1, axis=1),
            MOCAP,
        )
        last = after[:, SUBSTEPS - 1]
        last[:, self._fingers] = 0.0  # the gripper stays closed
        return last, sensed[:, SUBSTEPS], unstable

    def _settled(self) -> tuple[Array, Array]:
        """State (s,) and sensors (m,) once the stretched arm has come down to its start."""
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        state = np.empty(mujoco.mj_stateSize(self.model, PHYSICS))
        mujoco.mj_getState(self.model, data, state, PHYSICS)
        self._models = [self.model]
        mocap = np.concatenate([data.site("robot0:grip").xpos + START, DOWN])
        sensors = np.empty(0)
        for _ in range(SETTLING_STEPS):
            after, sensed, _ = self.simulate(np.zeros(1, dtype=np.int64), state[None], mocap[None])
            state, sensors = after[0], sensed[0]
        self._models = []
        state[0] = 0.0  # the clock
        return state, sensors


class FetchArms:
    """n arms, each among its own obstacles."""

    def __init__(self, fetch: Fetch, n: int) -> None:
        self._fetch = fetch
        self.states = np.tile(fetch.start, (n, 1))
        self.unstable: BoolArray = np.zeros(n, dtype=bool)  # blew up: they stay where they were
        self._sensors = np.tile(fetch.start_sensors, (n, 1))

    @property
    def grips(self) -> Array:
        return self._sensors[:, GRIP]

    @property
    def velocities(self) -> Array:
        return self._sensors[:, VELOCITY]

    @property
    def touching(self) -> BoolArray:
        return (self._sensors[:, CONTACT] > 0) | self.unstable

    def move(self, rows: IntArray, actions: Array) -> None:
        before, sensed = self.states[rows], self._sensors[rows]
        mocap = np.empty((len(rows), 7))
        mocap[:, :2] = actions
        mocap[:, 2] = lift(sensed[:, GRIP.stop - 1])
        mocap[:, :3] = sensed[:, LINK] + REACH * mocap[:, :3]
        mocap[:, 3:] = sensed[:, ORIENTATION] + DOWN
        after, seen, unstable = self._fetch.simulate(rows, before, mocap)
        sound = rows[~unstable]
        self.states[sound], self._sensors[sound] = after[~unstable], seen[~unstable]
        self.unstable[rows] = unstable

    def restart(self, rows: IntArray) -> None:
        self.states[rows] = self._fetch.start
        self._sensors[rows] = self._fetch.start_sensors
        self.unstable[rows] = False

    def place(self, rows: IntArray, contexts: Array) -> None:
        self._fetch.place(rows, contexts)


def arm_spec(context: Array, *, visible: bool = False) -> Any:
    """The MjSpec of robot, table, walls and obstacles; `visible` keeps the shapes of the robot."""
    found = importlib.util.find_spec("gymnasium_robotics")  # not imported: it prints
    if found is None or found.origin is None:
        raise ModuleNotFoundError("no gymnasium_robotics", name="gymnasium_robotics")
    path = Path(found.origin).parent / "envs" / "assets" / "fetch" / "reach.xml"
    spec = mujoco.MjSpec.from_file(str(path))
    spec.option.timestep = TIMESTEP
    _weld_without_offset(spec)
    _stand_still(spec)
    _keep_colliding(spec, visible)
    _furnish(spec, context)
    _sense(spec)
    return spec


def place_obstacles(model: Any, centres: Array, half_lengths: Array) -> None:
    """Move and resize the obstacles (4, 2), (4,) of a compiled model, as compiling would.

    Beside the size, MuJoCo's two culling volumes must change, or contacts are missed.
    """
    for k in range(2):  # the other two never change
        geom = model.geom(f"obstacle{k + 1}").id
        size = _size(half_lengths[k])
        model.geom_size[geom] = size
        model.geom_rbound[geom] = np.linalg.norm(size)
        model.geom_aabb[geom, 3:] = size
        body = model.geom_bodyid[geom]
        model.body_pos[body, :2] = centres[k]
        model.bvh_aabb[model.body_bvhadr[body], 3:] = size


def _size(half_length: float) -> Array:
    return np.array([half_length, OBSTACLE_HALF_WIDTH, OBSTACLE_HALF_HEIGHT])


def _weld_without_offset(spec: Any) -> None:
    for weld in spec.equalities:
        data = np.zeros(len(weld.data))  # anchor 0 to 2, relative pose 3 to 9, torque scale 10
        data[6] = data[10] = 1.0
        weld.data = data


def _stand_still(spec: Any) -> None:
    """Base and head without joints: damping holds them anyway, and they would cost time."""
    spec.body("robot0:base_link").pos += BASE
    for joint in list(spec.joints):
        if "slide" in joint.name or "head" in joint.name:
            spec.delete(joint)


def _keep_colliding(spec: Any, visible: bool) -> None:
    for name in EMPTY_BODIES:
        spec.delete(spec.body(f"robot0:{name}"))
    spec.delete(spec.body("floor0"))  # the marker of another task
    colliding = {f"robot0:{name}" for name in COLLIDING}
    for geom in list(spec.geoms):
        if geom.name in colliding:
            continue
        if visible and "mocap" not in geom.parent.name:
            geom.contype = geom.conaffinity = 0
        else:
            spec.delete(geom)
    if not visible:
        shown = {geom.meshname for geom in spec.geoms}
        for mesh in list(spec.meshes):
            if mesh.name not in shown:
                spec.delete(mesh)
        for unseen in (*spec.textures, *spec.lights):
            spec.delete(unseen)


def _furnish(spec: Any, context: Array) -> None:
    world = spec.worldbody
    for geom in list(spec.body("table0").geoms):
        spec.delete(geom)
    low, high = TABLE
    spec.body("table0").add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[*(high - low) / 2, TABLE_TOP / 2],
        rgba=[0.93, 0.93, 0.93, 1],
    )
    for (x, y), half in WALLS:
        world.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[x, y, WALL_Z],
            size=[*half, WALL_HALF_HEIGHT],
            rgba=[0.6, 0.6, 0.6, 1],
        )
    together = world.add_body(name="obstacles")
    centres, half_lengths = obstacles(context[None])
    for k in range(4):
        body = together.add_body(
            name=f"obstacle{k + 1}",
            pos=[*centres[0, k], OBSTACLE_Z],
            quat=[np.cos(YAWS[k] / 2), 0, 0, np.sin(YAWS[k] / 2)],
            explicitinertial=True,  # it does not move, and its inertia shall not follow its size
            mass=1.0,
            ipos=[0.0, 0.0, 0.0],
            iquat=[1.0, 0.0, 0.0, 0.0],
            inertia=[1.0, 1.0, 1.0],
        )
        body.add_geom(
            name=f"obstacle{k + 1}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=_size(half_lengths[0, k]),
            rgba=[0.34, 0.71, 0.91, 1],
        )


def _sense(spec: Any) -> None:
    """What a rollout shall read; LINK and the others say where."""
    sensor, kind = mujoco.mjtSensor, mujoco.mjtObj
    link, grip = "robot0:gripper_link", "robot0:grip"
    for name, of, what, which in (
        ("link", sensor.mjSENS_FRAMEPOS, kind.mjOBJ_XBODY, link),  # not the body's centre of mass
        ("orientation", sensor.mjSENS_FRAMEQUAT, kind.mjOBJ_XBODY, link),
        ("grip", sensor.mjSENS_FRAMEPOS, kind.mjOBJ_SITE, grip),
        ("velocity", sensor.mjSENS_FRAMELINVEL, kind.mjOBJ_SITE, grip),
    ):
        spec.add_sensor(name=name, type=of, objtype=what, objname=which)
    found_one = [1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1]  # of any number
    spec.add_sensor(
        name="contact",
        type=sensor.mjSENS_CONTACT,
        objtype=kind.mjOBJ_XBODY,  # with all below it
        objname="robot0:base_link",
        reftype=kind.mjOBJ_XBODY,
        refname="obstacles",
        intprm=found_one,
    )
