"""The seven links of the Barrett WAM: their dimensions, masses and inertias, which are the robot's.

SI units; quaternions are (w, x, y, z).
"""

from typing import NamedTuple

import numpy as np

S = float(np.sqrt(0.5))  # quaternions with two entries of this size turn by 90 degrees


class Link(NamedTuple):
    """One moving part of the arm. Its joint is at its origin and turns it about its own z axis."""

    name: str
    """Name of the link's body, joint and actuator in the model."""
    pos: tuple[float, float, float]
    """Position of its origin in the frame of the link before it, in metres."""
    quat: tuple[float, float, float, float]
    """Orientation in the frame of the link before it, at joint angle 0."""
    mass: float
    """Mass in kg."""
    com: tuple[float, float, float]
    """Centre of mass in its own frame, in metres."""
    inertia_quat: tuple[float, float, float, float]
    """Orientation of the principal axes of inertia in its own frame."""
    inertia: tuple[float, float, float]
    """Moments of inertia about these axes, in kg m^2."""


LINKS = (
    Link(
        name="shoulder_yaw",
        pos=(0, 0, 0.16),
        quat=(S, 0, 0, -S),
        mass=10.7677,
        com=(-0.00443422, -0.00066489, -0.12189),
        inertia_quat=(0.999995, 0.000984795, 0.00270132, 0.00136071),
        inertia=(0.507411, 0.462983, 0.113271),
    ),
    Link(
        name="shoulder_pitch",
        pos=(0, 0, 0.184),
        quat=(S, -S, 0, 0),
        mass=3.87494,
        com=(-0.00236983, -0.0154211, 0.0310561),
        inertia_quat=(0.961781, -0.272983, 0.0167269, 0.0133385),
        inertia=(0.0214207, 0.0167101, 0.0126465),
    ),
    Link(
        name="upper_arm",
        pos=(0, -0.505, 0),
        quat=(S, S, 0, 0),
        mass=1.80228,
        com=(-0.0382586, 3.309e-5, -0.207508),
        inertia_quat=(0.705455, 0.0381914, 0.0383402, 0.706686),
        inertia=(0.0665697, 0.0634285, 0.00622701),
    ),
    Link(
        name="forearm",
        pos=(0.045, 0, 0.045),
        quat=(S, -S, 0, 0),
        mass=2.40017,
        com=(0.00498512, -0.132717, -0.00022942),
        inertia_quat=(0.546303, 0.447151, -0.548676, 0.447842),
        inertia=(0.0196896, 0.0152225, 0.00749914),
    ),
    Link(
        name="wrist_yaw",
        pos=(-0.045, 0, 0),
        quat=(S, S, 0, 0),
        mass=0.12376,
        com=(8.921e-5, 0.00435824, -0.00511217),
        inertia_quat=(0.708528, -0.000120667, 0.000107481, 0.705683),
        inertia=(0.0112011, 0.0111887, 7.58188e-5),
    ),
    Link(
        name="wrist_pitch",
        pos=(0, 0, 0.3),
        quat=(S, -S, 0, 0),
        mass=0.417974,
        com=(-0.00012262, -0.0246834, -0.0170319),
        inertia_quat=(0.994687, -0.102891, 0.000824211, -0.00336105),
        inertia=(0.000555166, 0.000463174, 0.00023407),
    ),
    Link(
        name="palm",
        pos=(0, -0.06, 0),
        quat=(S, S, 0, 0),
        mass=0.0686475,
        com=(-7.974e-5, -0.00323552, -0.00016313),
        inertia_quat=(0.594752, 0.382453, 0.382453, 0.594752),
        inertia=(7.408e-5, 3.81466e-5, 3.76434e-5),
    ),
)
"""The links of the arm, from the base to the palm."""
