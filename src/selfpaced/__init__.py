"""Self-paced curricula for contextual reinforcement learning.

Names load on first use, so that importing the package, and `selfpaced --help`, stay quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfpaced.deep.gymtask import GymTask as GymTask
    from selfpaced.deep.ppo import PPO as PPO
    from selfpaced.deep.sb3 import CurriculumCallback as CurriculumCallback
    from selfpaced.deep.wrapper import ContextualEnv as ContextualEnv
    from selfpaced.experiments import EXPERIMENTS as EXPERIMENTS
    from selfpaced.experiments import Experiment as Experiment
    from selfpaced.experiments import experiment as experiment
    from selfpaced.learners.cmaes import CMAES as CMAES
    from selfpaced.learners.creps import CREPS as CREPS
    from selfpaced.learners.ready import Ready as Ready
    from selfpaced.learners.schedule import FractionOfGain as FractionOfGain
    from selfpaced.learners.schedule import FractionOfReward as FractionOfReward
    from selfpaced.learners.schedule import Progress as Progress
    from selfpaced.learners.sprl import SPRL as SPRL
    from selfpaced.learners.sprl import VarianceFloor as VarianceFloor
    from selfpaced.logbook import Logbook as Logbook
    from selfpaced.maths.box import Box as Box
    from selfpaced.maths.features import PolynomialFeatures as PolynomialFeatures
    from selfpaced.maths.features import RBFFeatures as RBFFeatures
    from selfpaced.maths.features import linear_features as linear_features
    from selfpaced.maths.features import rbf_grid as rbf_grid
    from selfpaced.maths.gaussian import Gaussian as Gaussian
    from selfpaced.maths.network import NetworkPolicy as NetworkPolicy
    from selfpaced.maths.policy import LinearGaussianPolicy as LinearGaussianPolicy
    from selfpaced.maths.policy import constant_policy as constant_policy
    from selfpaced.maths.policy import load_policy as load_policy
    from selfpaced.maths.readiness import Readiness as Readiness
    from selfpaced.randomness import generator_state as generator_state
    from selfpaced.randomness import restored_generator as restored_generator
    from selfpaced.report.data import load as load
    from selfpaced.sweep import run as run
    from selfpaced.tasks.ball_in_a_cup import BallInACup as BallInACup
    from selfpaced.tasks.function import FunctionTask as FunctionTask
    from selfpaced.tasks.gate import Gate as Gate
    from selfpaced.tasks.kinematic import KinematicReacher as KinematicReacher
    from selfpaced.tasks.reacher import Reacher as Reacher
    from selfpaced.tasks.rows import RowTask as RowTask
    from selfpaced.teachers import ADR as ADR
    from selfpaced.teachers import ALPGMM as ALPGMM
    from selfpaced.teachers import PLR as PLR
    from selfpaced.teachers import CurrOT as CurrOT
    from selfpaced.teachers import GoalGAN as GoalGAN
    from selfpaced.teachers import SaggRiac as SaggRiac
    from selfpaced.teachers import SelfPaced as SelfPaced
    from selfpaced.teachers import Target as Target
    from selfpaced.teachers import Uniform as Uniform
    from selfpaced.training import Run as Run
    from selfpaced.training import train as train
    from selfpaced.types import Outcomes as Outcomes
    from selfpaced.types import Problem as Problem
    from selfpaced.types import Samples as Samples

__version__ = "0.1.0"

_HOMES = {
    "deep.gymtask": ("GymTask",),
    "deep.ppo": ("PPO",),
    "deep.sb3": ("CurriculumCallback",),
    "deep.wrapper": ("ContextualEnv",),
    "experiments": ("EXPERIMENTS", "Experiment", "experiment"),
    "learners.cmaes": ("CMAES",),
    "learners.creps": ("CREPS",),
    "learners.ready": ("Ready",),
    "learners.schedule": ("FractionOfGain", "FractionOfReward", "Progress"),
    "learners.sprl": ("SPRL", "VarianceFloor"),
    "logbook": ("Logbook",),
    "maths.box": ("Box",),
    "maths.features": ("PolynomialFeatures", "RBFFeatures", "linear_features", "rbf_grid"),
    "maths.gaussian": ("Gaussian",),
    "maths.network": ("NetworkPolicy",),
    "maths.policy": ("LinearGaussianPolicy", "constant_policy", "load_policy"),
    "maths.readiness": ("Readiness",),
    "randomness": ("generator_state", "restored_generator"),
    "report.data": ("load",),
    "sweep": ("run",),
    "tasks.ball_in_a_cup": ("BallInACup",),
    "tasks.function": ("FunctionTask",),
    "tasks.kinematic": ("KinematicReacher",),
    "tasks.reacher": ("Reacher",),
    "tasks.rows": ("RowTask",),
    "tasks.gate": ("Gate",),
    "teachers": (
        *("ADR", "ALPGMM", "PLR", "CurrOT", "GoalGAN", "SaggRiac", "SelfPaced", "Target"),
        "Uniform",
    ),
    "training": ("Run", "train"),
    "types": ("Outcomes", "Problem", "Samples"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_MODULE_OF]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'selfpaced' has no attribute {name!r}")
    return getattr(importlib.import_module(f"selfpaced.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
