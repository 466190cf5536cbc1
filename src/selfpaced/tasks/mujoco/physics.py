"""Properties of a MuJoCo model by name, such as "body:torso.mass": looked up, set and restored."""

# MuJoCo's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

import copy
from typing import Any, NamedTuple

import mujoco
import numpy as np

from selfpaced.maths.arrays import Array, check_vector
from selfpaced.names import named
from selfpaced.types import AnyArray

EVERY = "*"  # in place of an object's name: all objects of its kind, each by the same factor


class Entries(NamedTuple):
    """Which numbers of a model a property stands for."""

    array: str
    """Name of the array of the model."""
    column: int | None
    """Its column; None if the array has one number per object."""
    unit: str
    """Unit of the property, for error messages and documents."""


PROPERTIES: dict[str, dict[str, Entries]] = {
    "body": {"mass": Entries("body_mass", None, "kg")},
    "geom": {"friction": Entries("geom_friction", 0, "sliding coefficient")},
    "actuator": {"gain": Entries("actuator_gainprm", 0, "force per control")},
    "joint": {
        "damping": Entries("dof_damping", None, "N m s/rad or N s/m"),
        "armature": Entries("dof_armature", None, "kg m^2 or kg"),
        "frictionloss": Entries("dof_frictionloss", None, "N m or N"),
    },
}
"""The properties that can be set, by the kind of object and their name."""
GRAVITY = "gravity"
"""Name of the property that belongs to no object: in m/s^2, along the model's own direction."""
COUNTS = {"body": "nbody", "geom": "ngeom", "actuator": "nu", "joint": "njnt"}
CHANGES_INERTIA = {"body_mass", "dof_armature"}  # constants of the model depend on these


BLOW_UPS = tuple(
    int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}")) for what in ("QPOS", "QVEL", "QACC")
)  # positions, velocities or accelerations that are not finite, or too large


class Physics:
    """Sets properties of a model, by factors or in their units, and restores them exactly.

    A name is "gravity", or "kind:object.property", for example "body:torso.mass",
    "geom:floor.friction", "actuator:0.gain" or "joint:foot_joint.damping". An object is named as in
    the model, by its index, or by "*" for all of its kind. A body's inertia changes in proportion
    to its mass, as if its density changed.

    `model`: an `mujoco.MjModel`, which is edited in place. `scaled`: names of properties whose
    values are factors of the model's own. `absolute`: names of those whose values are in units.
    """

    def __init__(self, model: Any, scaled: tuple[str, ...], absolute: tuple[str, ...] = ()) -> None:
        self._model, self._original = model, copy.copy(model)
        self.names = (*scaled, *absolute)
        twice = [name for k, name in enumerate(self.names) if name in self.names[:k]]
        if twice:
            raise ValueError(f"names must be given once; got {twice[0]!r} twice")
        self._factors = len(scaled)
        self._properties = [_property(model, name) for name in self.names]
        for name, found in list(zip(self.names, self._properties, strict=True)):
            if (found.nominal == 0.0).all() and name in scaled:
                raise ValueError(
                    f"{name} cannot be scaled, because it is 0 in this model; give it in "
                    f"{found.unit} (absolute)"
                )
        arrays = {found.array for found in self._properties}
        self._constants = mujoco.MjData(model) if arrays & CHANGES_INERTIA else None

    def __repr__(self) -> str:
        return f"Physics({', '.join(self.names)})"

    @property
    def nominal(self) -> Array:
        """(d,): the values that leave the model as it was made: 1 for each that is scaled."""
        own = [float(found.nominal[0]) for found in self._properties[self._factors :]]
        return np.array([*([1.0] * self._factors), *own])

    def set(self, values: Array) -> None:
        """Set each property to its value, a factor or in its unit, of `values` (d,)."""
        checked = check_vector("values", values, len(self.names))
        for k, (found, value) in enumerate(zip(self._properties, checked, strict=True)):
            numbers = found.nominal * value if k < self._factors else np.full(found.size, value)
            found.write(self._model, numbers)
        if self._constants is not None:
            # Inertias at rest, by which contacts are softened, follow from the masses.
            mujoco.mj_setConst(self._model, self._constants)

    def restore(self) -> None:
        """Put every number of the model back to what it was, to the last bit."""
        for owner in ("", "opt", "stat"):
            now, then = (
                getattr(model, owner) if owner else model for model in (self._model, self._original)
            )
            for name in dir(then):
                before = None if name.startswith("_") else getattr(then, name)
                if isinstance(before, np.ndarray):
                    getattr(now, name)[...] = before
                elif isinstance(before, float):
                    setattr(now, name, before)


def has_blown_up(data: Any) -> bool:
    """True if the simulation of `data`, an `mujoco.MjData`, has blown up since its reset."""
    return any(data.warning[kind].number for kind in BLOW_UPS)


class _Property:
    """The numbers of a model that one name stands for."""

    def __init__(self, model: Any, entries: Entries, rows: AnyArray) -> None:
        self.array, self._column, self.unit = entries
        self._rows = rows
        self.nominal: Array = np.array(self._view(model)[rows], dtype=float)
        self.size = len(rows)

    def _view(self, model: Any) -> AnyArray:
        values: AnyArray = getattr(model, self.array)
        return values if self._column is None else values[:, self._column]

    def write(self, model: Any, numbers: Array) -> None:
        """Write `numbers` (k,) into the model."""
        self._view(model)[self._rows] = numbers


class _Mass(_Property):
    """Masses of bodies, with which their inertias change in proportion."""

    def __init__(self, model: Any, entries: Entries, rows: AnyArray) -> None:
        massless = model.body_mass[rows] <= 0.0
        if massless.all():
            raise ValueError(
                "a body must have a mass for it to be changed; the one that was named has none"
            )
        super().__init__(model, entries, rows[~massless])
        self._inertia: Array = np.array(model.body_inertia[self._rows])

    def write(self, model: Any, numbers: Array) -> None:
        """Write the masses `numbers` (k,) and inertias of the same shape of body."""
        super().write(model, numbers)
        model.body_inertia[self._rows] = self._inertia * (numbers / self.nominal)[:, None]


class _Gain(_Property):
    """Gains of actuators; a position servo has force = gain (control - position)."""

    def __init__(self, model: Any, entries: Entries, rows: AnyArray) -> None:
        super().__init__(model, entries, rows)
        bias: AnyArray = model.actuator_biasprm[rows, 1]
        self._servos = (bias == -self.nominal) & (self.nominal != 0.0)

    def write(self, model: Any, numbers: Array) -> None:
        """Write the gains `numbers` (k,), and those of servos as their bias, too."""
        super().write(model, numbers)
        model.actuator_biasprm[self._rows[self._servos], 1] = -numbers[self._servos]


class _Gravity:
    """The gravity of a model; its numbers are the acceleration along the model's direction."""

    array, unit, size = "gravity", "m/s^2", 1

    def __init__(self, model: Any) -> None:
        self._vector: Array = np.array(model.opt.gravity, dtype=float)
        self.nominal: Array = np.array([np.linalg.norm(self._vector)])

    def write(self, model: Any, numbers: Array) -> None:
        """Set the acceleration to `numbers` (1,)."""
        # Without gravity there is no direction: then it points down.
        down = self._vector if self.nominal[0] > 0.0 else np.array([0.0, 0.0, -1.0])
        model.opt.gravity[:] = down * (numbers[0] / max(float(np.linalg.norm(down)), 1e-300))


def _property(model: Any, name: str) -> Any:
    """The numbers that `name` stands for; raise a ValueError with a suggestion if it is unknown."""
    if name == GRAVITY:
        return _Gravity(model)
    kind, colon, rest = name.partition(":")
    thing, dot, attribute = rest.rpartition(".")
    if not colon or not dot:
        raise ValueError(
            f"the name of a property must be 'gravity' or like 'body:torso.mass'; got {name!r}"
        )
    properties = PROPERTIES[named("kind of object", kind, PROPERTIES)]
    entries = properties[named(f"property of a {kind}", attribute, properties)]
    rows = _rows(model, kind, thing)
    if kind == "joint":
        ends = [*model.jnt_dofadr.tolist(), model.nv]
        rows = np.concatenate([np.arange(ends[row], ends[row + 1]) for row in rows])
    made = {"body_mass": _Mass, "actuator_gainprm": _Gain}.get(entries.array, _Property)
    return made(model, entries, rows)


def _rows(model: Any, kind: str, thing: str) -> AnyArray:
    """Indices (k,) of the objects of `kind` that `thing` names: a name, an index, or all."""
    count = int(getattr(model, COUNTS[kind]))
    if thing == EVERY:
        return np.arange(count)
    names = [getattr(model, kind)(row).name for row in range(count)]
    if thing in names:
        return np.array([names.index(thing)])
    if thing.isdigit() and int(thing) < count:
        return np.array([int(thing)])
    known = [name or str(row) for row, name in enumerate(names)]
    named(f"{kind} of this model", thing, known)
    raise AssertionError("unreachable")  # `named` raises for what is not known
