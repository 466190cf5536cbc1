"""The registry of experiments. A new experiment is a file here and a line below."""

import importlib

from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP, BALL_IN_A_CUP_ROBUST
from selfpaced.experiments.curriculum_benchmarks import (
    POINTMASS_CURROT,
    POINTMASS_SPDL,
    POINTMASS_SPDL_3D,
)
from selfpaced.experiments.experiment import Experiment
from selfpaced.experiments.gate import GATE_GLOBAL, GATE_PRECISION
from selfpaced.experiments.goal_reaching import MAZE_CURROT
from selfpaced.experiments.others import OTHERS
from selfpaced.experiments.plugin_registry import registered
from selfpaced.experiments.pointmass import POINTMASS_PPO
from selfpaced.experiments.reacher import REACHER, REACHER_EASY, REACHER_KINEMATIC

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        GATE_PRECISION,
        GATE_GLOBAL,
        REACHER,
        REACHER_EASY,
        REACHER_KINEMATIC,
        BALL_IN_A_CUP,
        BALL_IN_A_CUP_ROBUST,
        POINTMASS_PPO,
        POINTMASS_SPDL,
        POINTMASS_SPDL_3D,
        POINTMASS_CURROT,
        MAZE_CURROT,
        *OTHERS,
    )
}


def experiment(name: str) -> Experiment:
    """The experiment called `name`: one of `EXPERIMENTS`, or one that another package offers.

    Raise a ValueError with a suggestion if there is none.
    """
    found = registered("experiments", name, EXPERIMENTS)
    if not isinstance(found, Experiment) or found.name != name:
        raise ValueError(f"experiment {name!r} must be an Experiment of this name; got {found!r}")
    return found


def find_experiment(name: str | Experiment) -> Experiment:
    """A registered experiment by its name, or a user's own by "module:NAME"."""
    if isinstance(name, Experiment):
        return name
    module, colon, attribute = name.partition(":")
    if not colon:
        return experiment(name)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"experiment {name!r} must name an Experiment; {error}") from error
    if not isinstance(found, Experiment):
        raise ValueError(f"experiment {name!r} must name an Experiment; got {found!r}")
    return found


__all__ = ["EXPERIMENTS", "Experiment", "experiment", "find_experiment"]
