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
from selfpaced.store.files import (
    DamageWarning,
    read_vouched_json,
    vouched_json,
    write_atomically,
)

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
    target: Gaussian
    """The distribution of contexts that counts."""

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
            "target_mean": self.target.mean.tolist(),
            "target_covariance": self.target.covariance.tolist(),
        }


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
            target=Gaussian(data["target_mean"], data["target_covariance"]),
        )
    )


def _checked(info: ExperimentInfo) -> ExperimentInfo:
    """Return `info` if figures can be drawn with it; raise a ValueError otherwise."""
    Box(info.low, info.high)  # finite, and in order
    if info.target.dimension != len(info.low):
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
        target=Gaussian(problem["target"]["mean"], problem["target"]["covariance"]),
    )
    return _checked(info)


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
