"""Targets as plain data: what is written to files, and back."""

from typing import Any

from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.spaces.space import space_from
from selfpaced.targets.categorical import Categorical
from selfpaced.targets.empirical import Empirical
from selfpaced.targets.mixture import Independent, Mixture
from selfpaced.targets.student_t import StudentT
from selfpaced.targets.target import points_of
from selfpaced.targets.uniform import Uniform

KINDS = (Gaussian, Uniform, Mixture, Independent, StudentT, Empirical, Categorical)
DRAWN = 200  # contexts that stand for a target of a user's own in files and figures


def storable(target: Any, space: Box) -> Any:
    """`target`, or recorded contexts of it if it is of a class that files cannot hold."""
    return target if _is_known(target) else Empirical(points_of(target, DRAWN, space))


def _is_known(target: Any) -> bool:
    if isinstance(target, Mixture | Independent):
        parts = target.components if isinstance(target, Mixture) else target.parts
        return all(_is_known(part) for part in parts)
    return isinstance(target, KINDS)


def target_from(data: dict[str, Any]) -> Any:
    """The target that was stored as plain `data`."""
    kind = data.get("type", "Gaussian")
    if kind == "Gaussian":
        return Gaussian(data["mean"], data["covariance"])
    if kind == "Uniform":
        if data["space"] is not None:
            return Uniform(space_from(data["space"]))
        return Uniform(low=data["low"], high=data["high"])
    if kind == "Mixture":
        return Mixture([target_from(part) for part in data["components"]], data["weights"])
    if kind == "Independent":
        return Independent([target_from(part) for part in data["parts"]])
    if kind == "StudentT":
        return StudentT(data["location"], data["scale"], data["degrees"])
    if kind == "Empirical":
        return Empirical(data["points"])
    if kind == "Categorical":
        return Categorical(data["probabilities"], data["points"])
    raise ValueError(f"a stored target must have a known type; got {kind!r}")
