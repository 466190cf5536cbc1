"""What a report must know of an experiment besides its runs, as plain data."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from selfpaced.experiments.experiment import Experiment
from selfpaced.maths.arrays import Array
from selfpaced.maths.gaussian import Gaussian

EVOLUTION_SHOWN = 5  # iterations, where the experiment names none


@dataclass(frozen=True)
class Setting:
    """An experiment as its figures see it."""

    name: str
    title: str
    reference: str  # how to import it: a registered name, or module:NAME; empty if nobody knows
    iterations: int
    evolution: tuple[int, ...]  # iterations at which figures show the contexts
    context_names: tuple[str, ...]
    low: Array = field(repr=False)  # of the context box
    high: Array = field(repr=False)
    target: Gaussian = field(repr=False)

    def arrays(self) -> dict[str, Any]:
        """The setting as JSON can hold it."""
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


def setting_of(experiment: Experiment, reference: str = "") -> Setting:
    """The setting of `experiment`, which `reference` names."""
    problem = experiment.problem()
    box = problem.task.context_space
    return Setting(
        experiment.name,
        experiment.title,
        reference,
        experiment.iterations,
        experiment.evolution or evenly(experiment.iterations),
        _context_names(problem.task, box.dimension),
        box.low,
        box.high,
        problem.target,
    )


def setting_from(arrays: dict[str, Any]) -> Setting:
    """The setting whose `arrays` these are."""
    names, dimension = tuple(str(name) for name in arrays["context_names"]), len(arrays["low"])
    return Setting(
        str(arrays["name"]),
        str(arrays["title"]),
        str(arrays["reference"]),
        int(arrays["iterations"]),
        tuple(int(i) for i in arrays["evolution"]),
        names if len(names) == dimension else _numbered(dimension),  # from before it was checked
        np.array(arrays["low"], dtype=float),
        np.array(arrays["high"], dtype=float),
        Gaussian(arrays["target_mean"], arrays["target_covariance"]),
    )


def setting_from_spec(spec: dict[str, Any], iterations: int) -> Setting:
    """What the spec of a run tells of its setting, where nothing else is known."""
    problem = spec["problem"]
    name, low = str(spec["experiment"]), np.array(problem["contexts"]["low"], dtype=float)
    return Setting(
        *(name, name, "", iterations, evenly(iterations)),
        _numbered(len(low)),
        low,
        np.array(problem["contexts"]["high"], dtype=float),
        Gaussian(problem["target"]["mean"], problem["target"]["covariance"]),
    )


def _context_names(task: Any, dimension: int) -> tuple[str, ...]:
    """What a task calls the dimensions of its contexts; numbered where it does not say."""
    names = getattr(task, "context_names", None)
    if names is None:
        return _numbered(dimension)
    one_each = isinstance(names, Iterable) and not isinstance(names, str)
    listed: list[Any] = list(cast(Iterable[Any], names)) if one_each else []
    if len(listed) != dimension or not all(isinstance(name, str) for name in listed):
        raise ValueError(
            f"context_names must be a tuple with one name per dimension of a context, here "
            f"{dimension}; got {names!r}"
        )
    return tuple(listed)


def _numbered(dimension: int) -> tuple[str, ...]:
    return tuple(f"context {i + 1}" for i in range(dimension))


def evenly(iterations: int) -> tuple[int, ...]:
    """Iterations to show where nobody has said which."""
    shown = np.linspace(iterations / EVOLUTION_SHOWN, iterations, EVOLUTION_SHOWN).round()
    return tuple(sorted({max(1, int(i)) for i in shown}))
