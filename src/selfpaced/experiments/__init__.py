"""The registry of experiments. A new one is a file here and a line below."""

from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.experiments.experiment import Experiment
from selfpaced.experiments.gate import GATE_GLOBAL, GATE_PRECISION
from selfpaced.experiments.pointmass import POINTMASS_PPO
from selfpaced.experiments.reacher import REACHER, REACHER_EASY, REACHER_KINEMATIC
from selfpaced.suggest import named

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        GATE_PRECISION,
        GATE_GLOBAL,
        REACHER,
        REACHER_EASY,
        REACHER_KINEMATIC,
        BALL_IN_A_CUP,
        POINTMASS_PPO,
    )
}


def experiment(name: str) -> Experiment:
    """The registered experiment called `name`, or an error that suggests one."""
    return EXPERIMENTS[named("experiment", name, EXPERIMENTS)]


__all__ = ["EXPERIMENTS", "Experiment", "experiment"]
