"""What reports must know of an experiment besides its runs, as plain data beside them."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.maths.archives import DamagedFile, damage_named
from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.names import checked_name
from selfpaced.spaces.constrained import Constrained
from selfpaced.spaces.space import space_from
from selfpaced.store.files import (
    DamageWarning,
    plain,
    read_vouched_json,
    vouched_json,
    write_atomically,
)
from selfpaced.targets.stored import storable, target_from
from selfpaced.targets.target import Target, points_of

INFEASIBLE_DRAWN = 600  # contexts by which figures show what cannot be played
TARGET_POINTS = 200  # contexts that stand for a target that is not Gaussian
EVOLUTION_SHOWN = 5  # iterations that figures of contexts show, where the experiment names none
MOST_SHOWN, MOST_DIMENSIONS, LONGEST = 1000, 1000, 1000  # what figures can hold
FILE, OLD_FILE = "experiment.json", "setting.json"


@dataclass(frozen=True, kw_only=True)
class ExperimentInfo:
    """An experiment as its figures see it."""

    name: str
    """Name of the experiment, which is also its folder's."""
    title: str
    """What figures call it."""
    reference: str
    """How to import the experiment: a registered name or "module:NAME"; empty if unknown."""
    iterations: int
    """How many iterations a run has, unless another number was asked for."""
    evolution: tuple[int, ...]
    """Iterations at which figures show the contexts."""
    context_names: tuple[str, ...]
    """A name for every context dimension."""
    low: Array
    """(d,): lower bounds of the contexts."""
    high: Array
    """(d,): upper bounds of the contexts."""
    target: Target
    """The distribution of contexts that counts."""
    space: Box | None = None
    """Which contexts exist; None: all between `low` and `high`."""
    infeasible: Array | None = None
    """(k, d): contexts that cannot be played, for figures; None if there are none."""

    def __repr__(self) -> str:
        return f"ExperimentInfo({self.name!r}, {len(self.low)} context dimensions)"

    def to_json(self) -> dict[str, Any]:
        """This value as JSON can hold it."""
        return {
            "name": self.name,
            "title": self.title,
            "reference": self.reference,
            "iterations": self.iterations,
            "evolution": list(self.evolution),
            "context_names": list(self.context_names),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            **self._target_json(),
            **({} if self.space is None else {"space": plain(self.space)}),
            **({} if self.infeasible is None else {"infeasible": self.infeasible.tolist()}),
        }

    def _target_json(self) -> dict[str, Any]:
        """Mean and covariance; of a target that is not Gaussian, those of samples and itself."""
        box = self.space or Box(self.low, self.high)
        if isinstance(self.target, Gaussian):
            mean, covariance = self.target.mean, self.target.covariance
            return {"target_mean": mean.tolist(), "target_covariance": covariance.tolist()}
        points = target_points(self)
        covariance = np.cov(points.T).reshape(2 * (len(self.low),))
        return {
            "target_mean": points.mean(axis=0).tolist(),
            "target_covariance": covariance.tolist(),
            "target": plain(storable(self.target, box)),
        }


def target_points(info: ExperimentInfo) -> Array:
    """(TARGET_POINTS, d): contexts of the target, for figures."""
    return points_of(info.target, TARGET_POINTS, info.space or Box(info.low, info.high))


def info_from_json(data: dict[str, Any]) -> ExperimentInfo:
    """The value that `ExperimentInfo.to_json` has written as `data`."""
    names, dimension = tuple(str(name) for name in data["context_names"]), len(data["low"])
    if len(names) != dimension:  # files from before the number of names was checked
        names = numbered_contexts(dimension)
    return _checked(
        ExperimentInfo(
            name=checked_name(data["name"]),
            title=str(data["title"]),
            reference=str(data["reference"]),
            iterations=int(data["iterations"]),
            evolution=tuple(int(i) for i in data["evolution"]),
            context_names=names,
            low=np.array(data["low"], dtype=float),
            high=np.array(data["high"], dtype=float),
            target=(
                target_from(data["target"])
                if "target" in data
                else Gaussian(data["target_mean"], data["target_covariance"])
            ),
            space=space_from(data["space"]) if "space" in data else None,
            infeasible=(
                np.array(data["infeasible"], dtype=float).reshape(-1, dimension)
                if "infeasible" in data
                else None
            ),
        )
    )


def _checked(info: ExperimentInfo) -> ExperimentInfo:
    """Return `info` if figures can be drawn with it; raise a ValueError otherwise."""
    Box(info.low, info.high)  # finite, and in order
    if getattr(info.target, "dimension", len(info.low)) != len(info.low):
        raise ValueError(f"the target must have {len(info.low)} dimensions, as contexts have")
    if len(info.low) > MOST_DIMENSIONS or len(info.evolution) > MOST_SHOWN:
        raise ValueError("it has more dimensions or shown iterations than figures can hold")
    if any(len(text) > LONGEST for text in (info.title, info.reference, *info.context_names)):
        raise ValueError(f"its title and names must have at most {LONGEST} characters")
    return info


def info_from_spec(spec: dict[str, Any], iterations: int) -> ExperimentInfo:
    """What the spec of a run tells of its experiment, where nothing else is known."""
    problem, name = spec["problem"], str(spec["experiment"])
    low = np.array(problem["contexts"]["low"], dtype=float)
    info = ExperimentInfo(
        name=name,
        title=name,
        reference="",
        iterations=iterations,
        evolution=evenly(iterations),
        context_names=numbered_contexts(len(low)),
        low=low,
        high=np.array(problem["contexts"]["high"], dtype=float),
        target=target_from(problem["target"]),
        space=stored_space(problem["contexts"]),
    )
    return _checked(info)


def infeasible_in(space: Box) -> Array | None:
    """(k, d): some contexts of `space` that cannot be played; None if there are none."""
    if not isinstance(space, Constrained):
        return None
    drawn = space.space.uniform(INFEASIBLE_DRAWN, np.random.default_rng(0))
    bad = drawn[~space.feasible(drawn)]
    return bad if len(bad) else None


def stored_space(data: dict[str, Any]) -> Box | None:
    """The space that a spec holds as `data`; None for a box, which its bounds tell all about."""
    return None if data.get("type", "Box") == "Box" else space_from(data)


def write_info(out: Path, info: ExperimentInfo) -> None:
    """Write `info` beside the runs of its experiment below `out`."""
    folder = out / checked_name(info.name)
    folder.mkdir(parents=True, exist_ok=True)
    if not info.reference:  # somebody may have said before how to import it
        known = read_infos(out, info.name).get(info.name)
        if known is not None:
            info = replace(info, reference=known.reference)
    write_atomically(folder / FILE, vouched_json(info.to_json()))


def read_infos(out: Path, experiment: str = "*") -> dict[str, ExperimentInfo]:
    """What is stored of the experiments below `out`, by name; a damaged file is left out."""
    found: dict[str, ExperimentInfo] = {}
    for name in (OLD_FILE, FILE):
        for path in sorted(out.glob(f"{experiment}/{name}")):
            if path.parent.is_symlink():
                continue
            try:
                data = read_vouched_json(path)
                with damage_named(path):
                    info = info_from_json(data)
                    if info.name != path.parent.name:
                        raise ValueError(f"it is that of {info.name}")
                found[info.name] = info
            except DamagedFile as error:
                warnings.warn(f"{error}; figures go without it", DamageWarning, stacklevel=2)
    return found


def numbered_contexts(dimension: int) -> tuple[str, ...]:
    """Names of context dimensions that nobody has named."""
    return tuple(f"context {i + 1}" for i in range(dimension))


def evenly(iterations: int) -> tuple[int, ...]:
    """Iterations for figures of contexts to show where nobody has said which."""
    shown = np.linspace(iterations / EVOLUTION_SHOWN, iterations, EVOLUTION_SHOWN).round()
    return tuple(sorted({max(1, int(i)) for i in shown}))
