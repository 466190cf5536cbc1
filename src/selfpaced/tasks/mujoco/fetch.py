"""The Fetch arm of the reacher in MuJoCo, many at once.

The robot's model comes from the installed package gymnasium-robotics and is edited here: the base
stands still, only the fingers and the gripper collide, and table, walls and obstacles are added.
A step moves a mocap body, to which the gripper is welded, and simulates five substeps. Units are
metres and seconds; quaternions are (w, x, y, z).
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
from selfpaced.tasks.mujoco.rollouts import PHYSICS, Rollouts
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

SUBSTEPS = 5  # steps of the physics per step of the task
TIMESTEP = STEP_SECONDS / SUBSTEPS
REACH = 0.05  # distance of the mocap body from the gripper at a full action
DOWN = np.array([1.0, 0.0, 1.0, 0.0])  # orientation with the fingers to the table, not normalised
BASE = np.array([0.4049, 0.48, 0.0])  # offset of the robot's base from its place in the model
START = np.array([-0.5398, 0.4059, -0.286])  # mocap body, from the grip of the stretched arm
SETTLING_STEPS = 50
COLLIDING = ("gripper_link", "l_gripper_finger_link", "r_gripper_finger_link")
# Bodies without mass and shape, which would only cost time.
EMPTY_BODIES = ("head_camera_link", "gripper_camera_link", "external_camera_body_0")
MOCAP = int(mujoco.mjtState.mjSTATE_MOCAP_POS | mujoco.mjtState.mjSTATE_MOCAP_QUAT)
# Columns of the sensors' values, in the order in which `_add_sensors` adds the sensors.
LINK, ORIENTATION, GRIP = slice(0, 3), slice(3, 7), slice(7, 10)
VELOCITY, CONTACT = slice(10, 12), 13


class Fetch:
    """The compiled model, a copy of it for every row, and the state in which rollouts start."""

    model: Any
    """The compiled model; the copies differ from it in their obstacles."""
    start: Array
    """(s,): the state of an arm at the start."""
    start_sensors: Array
    """(m,): the sensors' values at the start."""

    def __init__(self) -> None:
        self.model = arm_spec(np.array([0.05, 0.05])).compile()
        self._models: list[Any] = []
        self._rollouts = Rollouts(self.model)
        self._fingers = [
            1 + self.model.joint(f"robot0:{side}_gripper_finger_joint").qposadr[0] for side in "lr"
        ]
        self.start, self.start_sensors = self._settled()

    def arms(self, contexts: Array) -> "FetchArms":
        """Arms at the start, one per row of `contexts` (n, 2).

        They use the models of earlier arms, so earlier arms must not move any more.
        """
        while len(self._models) < len(contexts):
            self._models.append(copy.copy(self.model))
        self.place(np.arange(len(contexts)), contexts)
        return FetchArms(self, len(contexts))

    def place(self, rows: IntArray, contexts: Array) -> None:
        """Give the models of `rows` (k,) the obstacles of `contexts` (k, 2)."""
        for row, centres, half_lengths in zip(rows, *obstacles(contexts), strict=True):
            place_obstacles(self._models[row], centres, half_lengths)

    def simulate(
        self, rows: IntArray, states: Array, mocap: Array
    ) -> tuple[Array, Array, BoolArray]:
        """Simulate one step: states (k, s) and sensors (k, m) after it, and unstable rows (k,).

        The arms `rows` (k,) start in `states` (k, s); `mocap` (k, 7) is the pose of the mocap body.
        Sensors show the state before each substep. Therefore one substep more is simulated,
        whose sensors show the result of the last one; its own result is dropped.
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
        """State (s,) and sensors (m,) after the stretched arm has moved to the start."""
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
        state[0] = 0.0  # the time
        return state, sensors


class FetchArms:
    """n arms, each among its own obstacles; see `Arms` in `tasks/reacher.py`."""

    states: Array
    """(n, s): MuJoCo's states of the arms."""
    unstable: BoolArray
    """(n,): True where the last step became unstable; such an arm stays where it was before."""

    def __init__(self, fetch: Fetch, n: int) -> None:
        self._fetch = fetch
        self.states = np.tile(fetch.start, (n, 1))
        self.unstable = np.zeros(n, dtype=bool)
        self._sensors = np.tile(fetch.start_sensors, (n, 1))

    @property
    def grips(self) -> Array:
        """(n, 3): positions of the grippers, in metres."""
        return self._sensors[:, GRIP]

    @property
    def velocities(self) -> Array:
        """(n, 2): velocities of the grippers over the table, in m/s."""
        return self._sensors[:, VELOCITY]

    @property
    def touching(self) -> BoolArray:
        """(n,): True where the arm touches an obstacle, or its simulation has become unstable."""
        return (self._sensors[:, CONTACT] > 0) | self.unstable

    def move(self, rows: IntArray, actions: Array) -> None:
        """Move the arms `rows` (k,) by one step with `actions` (k, 2) in [-1, 1]."""
        before, sensed = self.states[rows], self._sensors[rows]
        mocap = np.empty((len(rows), 7))
        mocap[:, :2] = actions
        mocap[:, 2] = lift(sensed[:, GRIP.stop - 1])  # the last entry of GRIP is z
        mocap[:, :3] = sensed[:, LINK] + REACH * mocap[:, :3]
        mocap[:, 3:] = sensed[:, ORIENTATION] + DOWN
        after, sensed_after, unstable = self._fetch.simulate(rows, before, mocap)
        stable = rows[~unstable]
        self.states[stable], self._sensors[stable] = after[~unstable], sensed_after[~unstable]
        self.unstable[rows] = unstable

    def restart(self, rows: IntArray) -> None:
        """Put the arms `rows` (k,) back to the start."""
        self.states[rows] = self._fetch.start
        self._sensors[rows] = self._fetch.start_sensors
        self.unstable[rows] = False

    def place(self, rows: IntArray, contexts: Array) -> None:
        """Give the arms `rows` (k,) the obstacles of `contexts` (k, 2)."""
        self._fetch.place(rows, contexts)


def arm_spec(context: Array, *, visible: bool = False) -> Any:
    """The MjSpec of robot, table, walls and the obstacles of `context` (2,).

    `visible` keeps the shapes of the robot that do not collide, for pictures.
    """
    # The package is found but not imported, because importing it prints a message.
    found = importlib.util.find_spec("gymnasium_robotics")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("no gymnasium_robotics", name="gymnasium_robotics")
    path = Path(found.origin).parent / "envs" / "assets" / "fetch" / "reach.xml"
    spec = mujoco.MjSpec.from_file(str(path))
    spec.option.timestep = TIMESTEP
    _weld_without_offset(spec)
    _fix_base(spec)
    _remove_shapes(spec, visible)
    _add_scene(spec, context)
    _add_sensors(spec)
    return spec


def place_obstacles(model: Any, centres: Array, half_lengths: Array) -> None:
    """Move and resize the obstacles of a compiled model, exactly as compiling it again would.

    `centres` is (4, 2) and `half_lengths` (4,). Beside the size, MuJoCo's bounding sphere and
    boxes must change, or contacts are missed.
    """
    for k in range(2):  # obstacles 3 and 4 are the same in every context
        geom = model.geom(f"obstacle{k + 1}").id
        size = _size(half_lengths[k])
        model.geom_size[geom] = size
        model.geom_rbound[geom] = np.linalg.norm(size)
        model.geom_aabb[geom, 3:] = size
        body = model.geom_bodyid[geom]
        model.body_pos[body, :2] = centres[k]
        model.bvh_aabb[model.body_bvhadr[body], 3:] = size


def _size(half_length: float) -> Array:
    """(3,): half the size of an obstacle."""
    return np.array([half_length, OBSTACLE_HALF_WIDTH, OBSTACLE_HALF_HEIGHT])


def _weld_without_offset(spec: Any) -> None:
    """Weld the gripper to the mocap body in the same pose."""
    for weld in spec.equalities:
        # Entries: anchor 0 to 2, relative position 3 to 5 and quaternion 6 to 9, torque scale 10.
        data = np.zeros(len(weld.data))
        data[6] = data[10] = 1.0
        weld.data = data


def _fix_base(spec: Any) -> None:
    """Remove the joints of base and head: damping holds them in place, and they cost time."""
    spec.body("robot0:base_link").pos += BASE
    for joint in list(spec.joints):
        if "slide" in joint.name or "head" in joint.name:
            spec.delete(joint)


def _remove_shapes(spec: Any, visible: bool) -> None:
    """Remove all shapes that do not collide, or, with `visible`, switch off their collisions."""
    for name in EMPTY_BODIES:
        spec.delete(spec.body(f"robot0:{name}"))
    spec.delete(spec.body("floor0"))  # it only marks the goal of the original task
    colliding = {f"robot0:{name}" for name in COLLIDING}
    for geom in list(spec.geoms):
        if geom.name in colliding:
            continue
        if visible and "mocap" not in geom.parent.name:
            geom.contype = geom.conaffinity = 0
        else:
            spec.delete(geom)
    if not visible:
        used = {geom.meshname for geom in spec.geoms}
        for mesh in list(spec.meshes):
            if mesh.name not in used:
                spec.delete(mesh)
        for decoration in (*spec.textures, *spec.lights):
            spec.delete(decoration)


def _add_scene(spec: Any, context: Array) -> None:
    """Add the table, the walls and the obstacles of `context` (2,)."""
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
    parent = world.add_body(name="obstacles")  # one body for the contact sensor
    centres, half_lengths = obstacles(context[None])
    for k in range(4):
        body = parent.add_body(
            name=f"obstacle{k + 1}",
            pos=[*centres[0, k], OBSTACLE_Z],
            quat=[np.cos(YAWS[k] / 2), 0, 0, np.sin(YAWS[k] / 2)],
            explicitinertial=True,  # it does not move; its inertia must not depend on its size
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


def _add_sensors(spec: Any) -> None:
    """Add what a rollout reads; LINK and the other constants say in which columns."""
    sensor, kind = mujoco.mjtSensor, mujoco.mjtObj
    link, grip = "robot0:gripper_link", "robot0:grip"
    for name, quantity, frame, owner in (
        ("link", sensor.mjSENS_FRAMEPOS, kind.mjOBJ_XBODY, link),  # not at the centre of mass
        ("orientation", sensor.mjSENS_FRAMEQUAT, kind.mjOBJ_XBODY, link),
        ("grip", sensor.mjSENS_FRAMEPOS, kind.mjOBJ_SITE, grip),
        ("velocity", sensor.mjSENS_FRAMELINVEL, kind.mjOBJ_SITE, grip),
    ):
        spec.add_sensor(name=name, type=quantity, objtype=frame, objname=owner)
    spec.add_sensor(
        name="contact",
        type=sensor.mjSENS_CONTACT,
        objtype=kind.mjOBJ_XBODY,  # the base and all bodies attached to it: the whole robot
        objname="robot0:base_link",
        reftype=kind.mjOBJ_XBODY,
        refname="obstacles",
        # Report nothing but the number of contacts found, without reduction, in one slot.
        intprm=[1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1],
    )
