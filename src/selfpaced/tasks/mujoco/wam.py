"""The model of a Barrett WAM with a cup and a ball on a string, made of primitive shapes.

SI units and radians; quaternions are (w, x, y, z). The cup's opening, its wall and the place where
the string is attached grow with the cup's scale; its mass and its height do not.
"""

# MuJoCo ships no types for its specs:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from typing import Any

import mujoco
import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.tasks.ball_in_a_cup import (
    INNER_RADIUS,
    JOINT_HIGHS,
    JOINT_LOWS,
)
from selfpaced.tasks.mujoco.wam_links import LINKS, S
from selfpaced.tasks.string_models import STRING_LINKS, Fidelity

BASE = (0.0, 0.0, 0.6)  # position of the arm's base
JOINTS = len(LINKS)
# Gains of the PD controllers, in N m per rad and N m per rad/s.
KP = np.array([200.0, 300.0, 100.0, 100.0, 10.0, 10.0, 2.5])
KD = np.array([7.0, 15.0, 5.0, 2.5, 0.3, 0.3, 0.05])

# The cup's frame has its origin in the palm; the cup's axis is parallel to y, and so are heights.
CUP_MASS, CUP_COM = 0.132, (0.0, 8.28e-5, 0.0947)
CUP_INERTIA = (2.856e-4, 2.705e-4, 9.657e-5)
WALL_SEGMENTS = 12  # boxes that the round wall is made of
WALL_LOW, WALL_HIGH = -0.032, 0.0506  # heights of the wall's lower and upper edge
OUTER_RADIUS = 0.038  # of the wall at scale 1; INNER_RADIUS is in `ball_in_a_cup`
BASE_Y, BASE_HALF = -0.035, 0.0045  # height of the cup's floor and half its thickness
GOAL_Y, STUB_Y = -0.025, -0.045  # heights of the goal and of the string's attachment
CUP_SOLREF = (-10000.0, -100.0)  # stiffness and damping of the cup's contacts, negated for MuJoCo

STRING_LENGTH = 0.30495  # from the first joint to the ball's centre
STRING_MASS = STRING_LINKS * 7.4927e-5  # the authors' string has links of this mass
STRING_RADIUS = 0.001
BALL_RADIUS, BALL_MASS = 0.02, 0.021

# Bodies that the ball must not touch.
FORBIDDEN = ("handle", "palm", "wrist_pitch", "wrist_yaw", "forearm")
# Ball and string collide with everything else, but not with each other.
SOLID: dict[str, Any] = {"contype": 1, "conaffinity": 0}  # arm, cup and ground
HANGING: dict[str, Any] = {"contype": 0, "conaffinity": 1}  # ball and string
GREY, DARK, RED = [0.75, 0.77, 0.8, 1], [0.2, 0.22, 0.25, 1], [0.84, 0.15, 0.16, 1]
BLUE, BROWN = [0.12, 0.47, 0.71, 1], [0.35, 0.2, 0.1, 1]

BOX, CAPSULE = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CAPSULE
CYLINDER, SPHERE = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_SPHERE


def cup_axis(scale: float) -> float:
    """Where the axis of a cup of `scale` is along z of the cup's frame, in metres."""
    return 0.1165 + 0.0385 * (scale - 1.0)


def wam_spec(scale: float, fidelity: Fidelity) -> Any:
    """The MjSpec of the arm, a cup of `scale`, the string and the ball."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = fidelity.timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    world = spec.worldbody
    world.add_geom(
        name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2, 2, 0.1], rgba=GREY, **SOLID
    )
    body = world.add_body(name="base", pos=BASE)
    for link, *limits in zip(LINKS, JOINT_LOWS, JOINT_HIGHS, strict=True):
        body = body.add_body(
            name=link.name,
            pos=link.pos,
            quat=link.quat,
            mass=link.mass,
            ipos=link.com,
            iquat=link.inertia_quat,
            inertia=link.inertia,
            explicitinertial=True,
        )
        # No friction loss: it doubles the time of a simulation and changed none of the outcomes
        # that were compared.
        body.add_joint(name=link.name, range=limits, limited=True)
    _add_arm_shapes(spec)
    _add_cup(spec)
    _add_string(spec, fidelity)
    _add_actuators(spec)
    _add_sensors(spec)
    resize_cup(spec, scale)
    return spec


def add_lights(spec: Any) -> None:
    """Add to `spec` what only pictures need: a bright sky, and a lamp that casts shadows."""
    spec.add_texture(
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.95, 0.96, 0.98],
        rgb2=[0.75, 0.8, 0.86],
        width=64,
        height=64,
    )
    spec.worldbody.add_light(pos=[1, -1.5, 3.5], dir=[-0.35, 0.3, -1], diffuse=[0.5, 0.5, 0.5])
    spec.visual.headlight.ambient = [0.4, 0.4, 0.4]
    spec.visual.headlight.diffuse = [0.4, 0.4, 0.4]


def resize_cup(spec: Any, scale: float) -> None:
    """Change the scale of the cup of `spec`; compile the spec afterwards.

    Editing a compiled model instead gives wrong contacts: its collision tree would not change.
    """
    axis = cup_axis(scale)
    middle = (OUTER_RADIUS + INNER_RADIUS) / 2 * scale
    thickness = (OUTER_RADIUS - INNER_RADIUS) / 2 * scale
    # The boxes touch at their outer corners and overlap inside, so that nothing slips between them.
    half_width = (INNER_RADIUS * scale + 2 * thickness) * np.tan(np.pi / WALL_SEGMENTS)
    centre = 0.117 + 0.039 * (scale - 1.0)
    for k in range(WALL_SEGMENTS):
        angle = 2 * np.pi * k / WALL_SEGMENTS
        geom = spec.geom(f"wall{k}")
        y = (WALL_LOW + WALL_HIGH) / 2
        geom.pos = [middle * np.sin(angle), y, centre + middle * np.cos(angle)]
        geom.quat = [np.cos(angle / 2), 0, np.sin(angle / 2), 0]  # a turn about y
        geom.size = [half_width, (WALL_HIGH - WALL_LOW) / 2, thickness]
    base = spec.geom("cup_base")
    base.pos, base.size = [0, BASE_Y, axis], [OUTER_RADIUS * scale, BASE_HALF, 0]
    spec.site("goal").pos = [0, GOAL_Y, axis]
    spec.body("string0").pos = [0, STUB_Y, axis]


def set_world(
    spec: Any,
    ball_mass: float,
    string_length: float,
    hinge_damping: float,
    cup_offset: Array,
    gains: Array,
) -> None:
    """Change what a `Randomisation` draws; compile the spec afterwards.

    `ball_mass`, `string_length` and `gains` (7,) are factors of the nominal values; `hinge_damping`
    is in N m s/rad, and `cup_offset` (3,) in metres, in the frame of the palm.
    """
    links = sum(body.name.startswith("string") for body in spec.bodies)
    _stretch_string(spec, links, string_length * STRING_LENGTH)
    for joint in spec.joints:
        if joint.name.startswith("string"):
            joint.damping[0] = hinge_damping
    spec.geom("ball").mass = ball_mass * BALL_MASS
    spec.body("cup").pos = cup_offset
    for link, kp, kd, gain in zip(LINKS, KP, KD, gains, strict=True):
        spec.actuator(link.name).biasprm[:3] = [0.0, -gain * kp, -gain * kd]


def _stretch_string(spec: Any, links: int, length: float) -> None:
    """Give the string of `links` links a `length`, from its first joint to the ball's centre."""
    pitch = length / (links - 0.5)
    for k in range(links):
        if k:
            spec.body(f"string{k}").pos = [0, -pitch, 0]
        if k < links - 1:
            spec.geom(f"string{k}").fromto = [0, -STRING_RADIUS, 0, 0, -pitch + STRING_RADIUS, 0]
    spec.body("ball").pos = [0, -pitch / 2, 0]


def _add_arm_shapes(spec: Any) -> None:
    """Add the shapes that ball and string collide with, in the frame of each link.

    Each is a type, a position, a size, and the two ends of a capsule in place of a position.
    """
    for name, shapes in {
        "base": [(CYLINDER, (0, 0, -0.3), (0.09, 0.3, 0), None)],
        "shoulder_yaw": [(CYLINDER, (0, 0, 0), (0.1, 0.12, 0), None)],
        "shoulder_pitch": [(CYLINDER, (0, 0, 0), (0.09, 0.08, 0), None)],
        "upper_arm": [(CAPSULE, None, (0.0445, 0, 0), (0, 0, -0.4155, 0, 0, -0.1045))],
        "forearm": [
            (CAPSULE, None, (0.0445, 0, 0), (-0.045, -0.2345, 0, -0.045, -0.1175, 0)),
            (CAPSULE, None, (0.0235, 0, 0), (-0.045, -0.0965, -0.021, -0.045, -0.0965, 0.021)),
        ],
        "wrist_yaw": [(CYLINDER, (0, 0, 0.2985), (0.0425, 0.0255, 0), None)],
        "wrist_pitch": [
            (BOX, (0, -0.0175, 0), (0.044, 0.0425, 0.039), None),
            (CAPSULE, None, (0.02, 0, 0), (-0.024, -0.0175, 0.039, 0.024, -0.0175, 0.039)),
            (CAPSULE, None, (0.02, 0, 0), (-0.024, -0.0175, -0.039, 0.024, -0.0175, -0.039)),
        ],
        "palm": [(CYLINDER, (0, 0, -0.0035), (0.0445, 0.0085, 0), None)],
    }.items():
        for shape, pos, size, ends in shapes:
            where = {"pos": pos} if pos is not None else {"fromto": ends}
            spec.body(name).add_geom(type=shape, size=size, rgba=GREY, **where, **SOLID)
    for name, ends in {  # the elbow, only for pictures: nothing collides with it
        "upper_arm": (0, 0, -0.1, 0.02, 0, 0.03),
        "forearm": (0, 0, 0, -0.045, -0.12, 0),
    }.items():
        spec.body(name).add_geom(
            type=CAPSULE, size=(0.035, 0, 0), fromto=ends, rgba=GREY, contype=0, conaffinity=0
        )


def _add_cup(spec: Any) -> None:
    """Add the cup to the palm; `resize_cup` then gives it its size."""
    cup = spec.body("palm").add_body(
        name="cup",
        quat=[0, 0, 0, 1],
        mass=CUP_MASS,
        ipos=CUP_COM,
        iquat=[1, 0, 0, 0],
        inertia=CUP_INERTIA,
        explicitinertial=True,
    )
    material = {"solref": CUP_SOLREF, "rgba": BLUE, **SOLID}
    for k in range(WALL_SEGMENTS):
        cup.add_geom(name=f"wall{k}", type=BOX, size=[1, 1, 1], **material)
    along_y = [S, S, 0, 0]
    cup.add_geom(name="cup_base", type=CYLINDER, size=[1, 1, 0], quat=along_y, **material)
    cup.add_site(name="goal", size=[0.003, 0, 0], rgba=RED)
    handle = cup.add_body(
        name="handle",
        mass=1e-9,  # CUP_MASS contains the mass of the handle
        ipos=[0, 0, 0],
        iquat=[1, 0, 0, 0],
        inertia=[1e-12, 1e-12, 1e-12],
        explicitinertial=True,
    )
    material["rgba"] = DARK
    for low, high in (
        ((-0.0303, -0.03, 0.0046), (0.0303, 0.0307, 0.0101)),  # plate
        ((-0.015, -0.03, 0.0104), (0.015, 0.03, 0.0787)),  # bar
    ):
        a, b = np.array(low), np.array(high)
        handle.add_geom(type=BOX, pos=(a + b) / 2, size=(b - a) / 2, **material)


def _add_string(spec: Any, fidelity: Fidelity) -> None:
    """Add the string, stiff links with two hinges each, and the ball at its end.

    The string hangs along -y of the cup. Its last hinges are inside the ball, so that it can bend
    where it leaves the ball. Its contacts are as stiff as the time step allows and begin at the
    margin: with contacts as soft as the cup's, which are right for the ball, the string passes
    through the wall in nine of ten successes.
    """
    body, links = spec.body("cup"), fidelity.links
    for k in range(links):
        body = body.add_body(name=f"string{k}")
        for axis in ([1, 0, 0], [0, 0, 1]):
            body.add_joint(
                name=f"string{k}{'xz'[axis[2]]}", axis=axis, damping=fidelity.damping, limited=False
            )
        if k < links - 1:
            body.add_geom(
                name=f"string{k}",
                type=CAPSULE,
                size=[STRING_RADIUS, 0, 0],
                mass=STRING_MASS / (links - 1),
                rgba=BROWN,
                margin=fidelity.margin,
                priority=1,  # its own solref and solimp hold, not a mixture with the cup's
                solref=[2 * fidelity.timestep, 1.0],
                solimp=[0.95, 0.99, 0.001, 0.5, 2.0],
                **HANGING,
            )
    ball = body.add_body(name="ball")
    ball.add_geom(
        name="ball", type=SPHERE, size=[BALL_RADIUS, 0, 0], mass=BALL_MASS, rgba=RED, **HANGING
    )
    _stretch_string(spec, links, STRING_LENGTH)


def _add_actuators(spec: Any) -> None:
    """Add PD controllers: the control Kp q* + Kd qd* gives the torque Kp (q* - q) + Kd (qd* - qd).

    q* and qd* are the desired position and velocity of a joint.
    """
    for link, kp, kd in zip(LINKS, KP, KD, strict=True):
        actuator = spec.add_actuator(name=link.name, target=link.name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = 1.0
        actuator.biasprm[:3] = [0.0, -kp, -kd]


def _add_sensors(spec: Any) -> None:
    """Add what a rollout reads; BALL and the other constants say in which columns."""
    sensor, kind = mujoco.mjtSensor, mujoco.mjtObj
    for name, quantity, frame, owner in (
        ("ball", sensor.mjSENS_FRAMEPOS, kind.mjOBJ_XBODY, "ball"),
        ("goal", sensor.mjSENS_FRAMEPOS, kind.mjOBJ_SITE, "goal"),
        ("axis", sensor.mjSENS_FRAMEYAXIS, kind.mjOBJ_SITE, "goal"),
    ):
        spec.add_sensor(name=name, type=quantity, objtype=frame, objname=owner)
    for body in FORBIDDEN:
        spec.add_sensor(
            name=f"ball_{body}",
            type=sensor.mjSENS_CONTACT,
            objtype=kind.mjOBJ_GEOM,
            objname="ball",
            reftype=kind.mjOBJ_BODY,
            refname=body,
            # Report nothing but the number of contacts found, without reduction, in one slot.
            intprm=[1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1],
        )


# Columns of the sensors' values, in the order in which `_add_sensors` adds the sensors.
BALL, GOAL, AXIS = slice(0, 3), slice(3, 6), slice(6, 9)
TOUCHED = slice(9, 9 + len(FORBIDDEN))


def place_in_cup(sensed: Array) -> tuple[Array, Array]:
    """The ball's distance from the cup's axis and its height over the goal, in metres.

    `sensed` (..., m) holds the sensors' values; both results are (...,).
    """
    offset, axis = sensed[..., BALL] - sensed[..., GOAL], sensed[..., AXIS]
    height = (offset * axis).sum(axis=-1)
    return np.linalg.norm(offset - height[..., None] * axis, axis=-1), height
