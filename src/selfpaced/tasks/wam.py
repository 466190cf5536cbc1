"""The Barrett WAM with a cup and a ball on a string, from primitive shapes.

SI units and radians; quaternions (w, x, y, z). The arm's dimensions, masses and inertias are the
robot's; the cup's opening, wall and string attachment grow with its scale, its mass does not.
"""

# MuJoCo ships no types for its specs:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from typing import Any, NamedTuple

import mujoco
import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.tasks.ball_in_a_cup import INNER_RADIUS, JOINT_HIGHS, JOINT_LOWS

S = float(np.sqrt(0.5))
BASE = (0.0, 0.0, 0.6)


class Link(NamedTuple):
    """One moving part of the arm; it turns about its own z axis, at its origin."""

    name: str
    pos: tuple[float, float, float]  # in its parent
    quat: tuple[float, float, float, float]
    mass: float
    com: tuple[float, float, float]
    inertia_quat: tuple[float, float, float, float]
    inertia: tuple[float, float, float]


LINKS = (
    Link(
        *("shoulder_yaw", (0, 0, 0.16), (S, 0, 0, -S), 10.7677),
        (-0.00443422, -0.00066489, -0.12189),
        (0.999995, 0.000984795, 0.00270132, 0.00136071),
        (0.507411, 0.462983, 0.113271),
    ),
    Link(
        *("shoulder_pitch", (0, 0, 0.184), (S, -S, 0, 0), 3.87494),
        (-0.00236983, -0.0154211, 0.0310561),
        (0.961781, -0.272983, 0.0167269, 0.0133385),
        (0.0214207, 0.0167101, 0.0126465),
    ),
    Link(
        *("upper_arm", (0, -0.505, 0), (S, S, 0, 0), 1.80228),
        (-0.0382586, 3.309e-5, -0.207508),
        (0.705455, 0.0381914, 0.0383402, 0.706686),
        (0.0665697, 0.0634285, 0.00622701),
    ),
    Link(
        *("forearm", (0.045, 0, 0.045), (S, -S, 0, 0), 2.40017),
        (0.00498512, -0.132717, -0.00022942),
        (0.546303, 0.447151, -0.548676, 0.447842),
        (0.0196896, 0.0152225, 0.00749914),
    ),
    Link(
        *("wrist_yaw", (-0.045, 0, 0), (S, S, 0, 0), 0.12376),
        (8.921e-5, 0.00435824, -0.00511217),
        (0.708528, -0.000120667, 0.000107481, 0.705683),
        (0.0112011, 0.0111887, 7.58188e-5),
    ),
    Link(
        *("wrist_pitch", (0, 0, 0.3), (S, -S, 0, 0), 0.417974),
        (-0.00012262, -0.0246834, -0.0170319),
        (0.994687, -0.102891, 0.000824211, -0.00336105),
        (0.000555166, 0.000463174, 0.00023407),
    ),
    Link(
        *("palm", (0, -0.06, 0), (S, S, 0, 0), 0.0686475),
        (-7.974e-5, -0.00323552, -0.00016313),
        (0.594752, 0.382453, 0.382453, 0.594752),
        (7.408e-5, 3.81466e-5, 3.76434e-5),
    ),
)
JOINTS = len(LINKS)
KP = np.array([200.0, 300.0, 100.0, 100.0, 10.0, 10.0, 2.5])
KD = np.array([7.0, 15.0, 5.0, 2.5, 0.3, 0.3, 0.05])

CUP_MASS, CUP_COM = 0.132, (0.0, 8.28e-5, 0.0947)
CUP_INERTIA = (2.856e-4, 2.705e-4, 9.657e-5)
WALL_SEGMENTS = 12
WALL_LOW, WALL_HIGH = -0.032, 0.0506
OUTER_RADIUS = 0.038  # of the wall at scale 1; the rules know the inner one
BASE_Y, BASE_HALF = -0.035, 0.0045
GOAL_Y, STUB_Y = -0.025, -0.045
CUP_SOLREF = (-10000.0, -100.0)

STRING_LENGTH = 0.30495  # from the first joint to the ball's centre
STRING_MASS = 29 * 7.4927e-5
STRING_RADIUS = 0.001
STRING_DAMPING = 1e-4
BALL_RADIUS, BALL_MASS = 0.02, 0.021

# Bodies that the ball must not touch.
FORBIDDEN = ("handle", "palm", "wrist_pitch", "wrist_yaw", "forearm")
SOLID: dict[str, Any] = {"contype": 1, "conaffinity": 0}  # meets what hangs
HANGING: dict[str, Any] = {"contype": 0, "conaffinity": 1}  # meets what is solid
GREY, DARK, RED = [0.75, 0.77, 0.8, 1], [0.2, 0.22, 0.25, 1], [0.84, 0.15, 0.16, 1]
BLUE, BROWN = [0.12, 0.47, 0.71, 1], [0.35, 0.2, 0.1, 1]

BOX, CAPSULE = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CAPSULE
CYLINDER, SPHERE = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_SPHERE


def cup_axis(scale: float) -> float:
    """g(s): where the cup's axis stands along z of the cup's frame."""
    return 0.1165 + 0.0385 * (scale - 1.0)


def wam_spec(scale: float, *, links: int, margin: float, timestep: float) -> Any:
    """The MjSpec of arm, cup of `scale`, string of `links` that keeps a `margin`, and ball."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = timestep
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
        # no friction loss: it halves the speed and changes no outcome that was looked at
        body.add_joint(name=link.name, range=limits, limited=True)
    _shape_arm(spec)
    _add_cup(spec)
    _add_string(spec, links, margin, timestep)
    _actuate(spec)
    _sense(spec)
    resize_cup(spec, scale)
    return spec


def light(spec: Any) -> None:
    """What only pictures need: a bright sky and a lamp with shadows."""
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
    """Give the cup of `spec` another scale, before it is compiled.

    A compiled model must not be edited instead: its collision tree would stay the old one.
    """
    axis = cup_axis(scale)
    middle = (OUTER_RADIUS + INNER_RADIUS) / 2 * scale
    thickness = (OUTER_RADIUS - INNER_RADIUS) / 2 * scale
    # Boxes that touch at their outer corners and overlap inside: nothing slips between them.
    half_width = (INNER_RADIUS * scale + 2 * thickness) * np.tan(np.pi / WALL_SEGMENTS)
    centre = 0.117 + 0.039 * (scale - 1.0)
    for k in range(WALL_SEGMENTS):
        angle = 2 * np.pi * k / WALL_SEGMENTS
        geom = spec.geom(f"wall{k}")
        y = (WALL_LOW + WALL_HIGH) / 2
        geom.pos = [middle * np.sin(angle), y, centre + middle * np.cos(angle)]
        geom.quat = [np.cos(angle / 2), 0, np.sin(angle / 2), 0]  # about y
        geom.size = [half_width, (WALL_HIGH - WALL_LOW) / 2, thickness]
    base = spec.geom("cup_base")
    base.pos, base.size = [0, BASE_Y, axis], [OUTER_RADIUS * scale, BASE_HALF, 0]
    spec.site("goal").pos = [0, GOAL_Y, axis]
    spec.body("string0").pos = [0, STUB_Y, axis]


def _shape_arm(spec: Any) -> None:
    """Shapes that the ball and the string can meet, in the frame of each link."""
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
    for name, ends in {  # only to be seen: the elbow, which the ball may meet
        "upper_arm": (0, 0, -0.1, 0.02, 0, 0.03),
        "forearm": (0, 0, 0, -0.045, -0.12, 0),
    }.items():
        spec.body(name).add_geom(
            type=CAPSULE, size=(0.035, 0, 0), fromto=ends, rgba=GREY, contype=0, conaffinity=0
        )


def _add_cup(spec: Any) -> None:
    """The cup in the palm; `resize_cup` gives it its size."""
    cup = spec.body("palm").add_body(
        name="cup",
        quat=[0, 0, 0, 1],
        mass=CUP_MASS,
        ipos=CUP_COM,
        iquat=[1, 0, 0, 0],
        inertia=CUP_INERTIA,
        explicitinertial=True,
    )
    made = {"solref": CUP_SOLREF, "rgba": BLUE, **SOLID}
    for k in range(WALL_SEGMENTS):
        cup.add_geom(name=f"wall{k}", type=BOX, size=[1, 1, 1], **made)
    along_y = [S, S, 0, 0]
    cup.add_geom(name="cup_base", type=CYLINDER, size=[1, 1, 0], quat=along_y, **made)
    cup.add_site(name="goal", size=[0.003, 0, 0], rgba=RED)
    handle = cup.add_body(
        name="handle",
        mass=1e-9,  # the cup's mass is all of it
        ipos=[0, 0, 0],
        iquat=[1, 0, 0, 0],
        inertia=[1e-12, 1e-12, 1e-12],
        explicitinertial=True,
    )
    made["rgba"] = DARK
    for low, high in (
        ((-0.0303, -0.03, 0.0046), (0.0303, 0.0307, 0.0101)),  # plate
        ((-0.015, -0.03, 0.0104), (0.015, 0.03, 0.0787)),  # bar
    ):
        a, b = np.array(low), np.array(high)
        handle.add_geom(type=BOX, pos=(a + b) / 2, size=(b - a) / 2, **made)


def _add_string(spec: Any, links: int, margin: float, timestep: float) -> None:
    """`links` stiff pieces with two hinges each, along -y of the cup, the ball around the last.

    Its last hinges are inside the ball, so that the string can bend where it leaves it. Its
    contacts are as stiff as the time step allows and begin a `margin` away: with the cup's
    softness, which is right for the ball, the string goes through the wall in nine of ten catches.
    """
    pitch = STRING_LENGTH / (links - 0.5)
    body = spec.body("cup")
    for k in range(links):
        body = body.add_body(name=f"string{k}", pos=[0, -pitch if k else 0, 0])
        for axis in ([1, 0, 0], [0, 0, 1]):
            body.add_joint(
                name=f"string{k}{'xz'[axis[2]]}", axis=axis, damping=STRING_DAMPING, limited=False
            )
        if k < links - 1:
            body.add_geom(
                name=f"string{k}",
                type=CAPSULE,
                size=[STRING_RADIUS, 0, 0],
                fromto=[0, -STRING_RADIUS, 0, 0, -pitch + STRING_RADIUS, 0],
                mass=STRING_MASS / (links - 1),
                rgba=BROWN,
                margin=margin,
                priority=1,  # its own softness, not a mixture with the cup's
                solref=[2 * timestep, 1.0],
                solimp=[0.95, 0.99, 0.001, 0.5, 2.0],
                **HANGING,
            )
    ball = body.add_body(name="ball", pos=[0, -pitch / 2, 0])
    ball.add_geom(
        name="ball", type=SPHERE, size=[BALL_RADIUS, 0, 0], mass=BALL_MASS, rgba=RED, **HANGING
    )


def _actuate(spec: Any) -> None:
    """Torque Kp (q* - q) + Kd (qd* - qd) as an actuator whose control is Kp q* + Kd qd*."""
    for link, kp, kd in zip(LINKS, KP, KD, strict=True):
        actuator = spec.add_actuator(name=link.name, target=link.name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = 1.0
        actuator.biasprm[:3] = [0.0, -kp, -kd]


def _sense(spec: Any) -> None:
    """Ball, goal, cup's axis and forbidden contacts: BALL and the others say where."""
    sensor, kind = mujoco.mjtSensor, mujoco.mjtObj
    spec.add_sensor(
        name="ball", type=sensor.mjSENS_FRAMEPOS, objtype=kind.mjOBJ_XBODY, objname="ball"
    )
    spec.add_sensor(
        name="goal", type=sensor.mjSENS_FRAMEPOS, objtype=kind.mjOBJ_SITE, objname="goal"
    )
    spec.add_sensor(
        name="axis", type=sensor.mjSENS_FRAMEYAXIS, objtype=kind.mjOBJ_SITE, objname="goal"
    )
    for body in FORBIDDEN:
        spec.add_sensor(
            name=f"ball_{body}",
            type=sensor.mjSENS_CONTACT,
            objtype=kind.mjOBJ_GEOM,
            objname="ball",
            reftype=kind.mjOBJ_BODY,
            refname=body,
            intprm=[1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1],
        )


# Places of the sensors in what they read together.
BALL, GOAL, AXIS = slice(0, 3), slice(3, 6), slice(6, 9)
TOUCHED = slice(9, 9 + len(FORBIDDEN))


def place_in_cup(sensed: Array) -> tuple[Array, Array]:
    """(...,) each: how far the ball is from the cup's axis and how high over the goal.

    Of sensors (..., m).
    """
    offset, axis = sensed[..., BALL] - sensed[..., GOAL], sensed[..., AXIS]
    height = (offset * axis).sum(axis=-1)
    return np.linalg.norm(offset - height[..., None] * axis, axis=-1), height
