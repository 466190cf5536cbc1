"""Self-paced curricula for contextual reinforcement learning.

Names load on first use, so that importing the package, and `selfpaced --help`, stay quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfpaced.deep.contextual_env import ContextualEnv as ContextualEnv
    from selfpaced.deep.curriculum import Curriculum as Curriculum
    from selfpaced.deep.curriculum_callback import CurriculumCallback as CurriculumCallback
    from selfpaced.deep.curriculum_vector_env import CurriculumVectorEnv as CurriculumVectorEnv
    from selfpaced.deep.evaluation import measure_on_target as measure_on_target
    from selfpaced.deep.gym_task import GymTask as GymTask
    from selfpaced.deep.physics_env import PhysicsEnv as PhysicsEnv
    from selfpaced.deep.ppo import PPO as PPO
    from selfpaced.deep.stepwise_ppo import StepwisePPO as StepwisePPO
    from selfpaced.deep.stepwise_sac import StepwiseSAC as StepwiseSAC
    from selfpaced.experiments import EXPERIMENTS as EXPERIMENTS
    from selfpaced.experiments import Experiment as Experiment
    from selfpaced.experiments import experiment as experiment
    from selfpaced.learners.cmaes import CMAES as CMAES
    from selfpaced.learners.creps import CREPS as CREPS
    from selfpaced.learners.mastery_pacing import Mastery as Mastery
    from selfpaced.learners.sprl import SPRL as SPRL
    from selfpaced.learners.sprl import Alpha as Alpha
    from selfpaced.learners.sprl import VarianceFloor as VarianceFloor
    from selfpaced.maths.box import Box as Box
    from selfpaced.maths.features import PolynomialFeatures as PolynomialFeatures
    from selfpaced.maths.features import RBFFeatures as RBFFeatures
    from selfpaced.maths.features import linear_features as linear_features
    from selfpaced.maths.features import rbf_grid as rbf_grid
    from selfpaced.maths.gaussian import Gaussian as Gaussian
    from selfpaced.maths.mastery_rule import MasteryRule as MasteryRule
    from selfpaced.maths.network import NetworkPolicy as NetworkPolicy
    from selfpaced.maths.policy import LinearGaussianPolicy as LinearGaussianPolicy
    from selfpaced.maths.policy import constant_policy as constant_policy
    from selfpaced.maths.policy import load_policy as load_policy
    from selfpaced.maths.randomness import generator_state as generator_state
    from selfpaced.maths.randomness import restored_generator as restored_generator
    from selfpaced.maths.schedule import FractionOfGain as FractionOfGain
    from selfpaced.maths.schedule import FractionOfReward as FractionOfReward
    from selfpaced.maths.schedule import Progress as Progress
    from selfpaced.report.data import load as load
    from selfpaced.spaces import Categories as Categories
    from selfpaced.spaces import Constrained as Constrained
    from selfpaced.spaces import Infeasible as Infeasible
    from selfpaced.spaces import Integers as Integers
    from selfpaced.spaces import Product as Product
    from selfpaced.spaces import TaskSet as TaskSet
    from selfpaced.store.logbook import Logbook as Logbook
    from selfpaced.sweep import run as run
    from selfpaced.targets import Categorical as Categorical
    from selfpaced.targets import Empirical as Empirical
    from selfpaced.targets import Independent as Independent
    from selfpaced.targets import Mixture as Mixture
    from selfpaced.targets import StudentT as StudentT
    from selfpaced.targets import Uniform as Uniform
    from selfpaced.tasks.ball_in_a_cup import BallInACup as BallInACup
    from selfpaced.tasks.function_task import FunctionTask as FunctionTask
    from selfpaced.tasks.gate import Gate as Gate
    from selfpaced.tasks.kinematic import KinematicReacher as KinematicReacher
    from selfpaced.tasks.reacher import Reacher as Reacher
    from selfpaced.tasks.row_task import RowTask as RowTask
    from selfpaced.teachers import ADR as ADR
    from selfpaced.teachers import ALPGMM as ALPGMM
    from selfpaced.teachers import DORAEMON as DORAEMON
    from selfpaced.teachers import PLR as PLR
    from selfpaced.teachers import CurrOT as CurrOT
    from selfpaced.teachers import FixedTeacher as FixedTeacher
    from selfpaced.teachers import GoalGAN as GoalGAN
    from selfpaced.teachers import SaggRiac as SaggRiac
    from selfpaced.teachers import SelfPacedAlpha as SelfPacedAlpha
    from selfpaced.teachers import SelfPacedMastery as SelfPacedMastery
    from selfpaced.teachers import SelfPacedThreshold as SelfPacedThreshold
    from selfpaced.teachers import TargetTeacher as TargetTeacher
    from selfpaced.teachers import UniformTeacher as UniformTeacher
    from selfpaced.training import Run as Run
    from selfpaced.training import train as train
    from selfpaced.types import Outcomes as Outcomes
    from selfpaced.types import Problem as Problem
    from selfpaced.types import Samples as Samples

__version__ = "1.0.0"

_HOMES = {
    "deep.curriculum": ("Curriculum",),
    "deep.curriculum_callback": ("CurriculumCallback",),
    "deep.curriculum_vector_env": ("CurriculumVectorEnv",),
    "deep.evaluation": ("measure_on_target",),
    "deep.gym_task": ("GymTask",),
    "deep.physics_env": ("PhysicsEnv",),
    "deep.ppo": ("PPO",),
    "deep.stepwise_ppo": ("StepwisePPO",),
    "deep.stepwise_sac": ("StepwiseSAC",),
    "deep.contextual_env": ("ContextualEnv",),
    "experiments": (
        "EXPERIMENTS",
        "Experiment",
        "experiment",
    ),
    "learners.cmaes": ("CMAES",),
    "learners.creps": ("CREPS",),
    "learners.mastery_pacing": ("Mastery",),
    "learners.sprl": (
        "SPRL",
        "Alpha",
        "VarianceFloor",
    ),
    "maths.box": ("Box",),
    "maths.features": (
        "PolynomialFeatures",
        "RBFFeatures",
        "linear_features",
        "rbf_grid",
    ),
    "maths.gaussian": ("Gaussian",),
    "maths.mastery_rule": ("MasteryRule",),
    "maths.network": ("NetworkPolicy",),
    "maths.policy": (
        "LinearGaussianPolicy",
        "constant_policy",
        "load_policy",
    ),
    "maths.randomness": (
        "generator_state",
        "restored_generator",
    ),
    "maths.schedule": (
        "FractionOfGain",
        "FractionOfReward",
        "Progress",
    ),
    "report.data": ("load",),
    "spaces": (
        "Categories",
        "Constrained",
        "Infeasible",
        "Integers",
        "Product",
        "TaskSet",
    ),
    "store.logbook": ("Logbook",),
    "sweep": ("run",),
    "targets": (
        "Categorical",
        "Empirical",
        "Independent",
        "Mixture",
        "StudentT",
        "Uniform",
    ),
    "tasks.ball_in_a_cup": ("BallInACup",),
    "tasks.function_task": ("FunctionTask",),
    "tasks.gate": ("Gate",),
    "tasks.kinematic": ("KinematicReacher",),
    "tasks.reacher": ("Reacher",),
    "tasks.row_task": ("RowTask",),
    "teachers": (
        "ADR",
        "ALPGMM",
        "DORAEMON",
        "PLR",
        "CurrOT",
        "FixedTeacher",
        "GoalGAN",
        "SaggRiac",
        "SelfPacedAlpha",
        "SelfPacedMastery",
        "SelfPacedThreshold",
        "TargetTeacher",
        "UniformTeacher",
    ),
    "training": (
        "Run",
        "train",
    ),
    "types": (
        "Outcomes",
        "Problem",
        "Samples",
    ),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

# `from selfpaced import *` must not replace the PPO of Stable-Baselines3 or RLlib.
_NOT_STARRED = {"PPO"}
__all__ = ["__version__", *sorted(_MODULE_OF.keys() - _NOT_STARRED)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'selfpaced' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"selfpaced.{_MODULE_OF[name]}"), name)
    if isinstance(found, type) and isinstance(vars(found).get("__doc__"), str):
        found.__doc__ = _DocWithFields(found.__doc__ or "")  # type: ignore[assignment]
    return found


class _DocWithFields:
    """A class's docstring with those of its fields, which `help()` does not show by itself.

    It is composed only when it is read, because that needs the class's source.
    """

    def __init__(self, doc: str) -> None:
        self._doc = doc

    def __get__(self, instance: object, owner: type) -> str:
        return self._doc + _fields(owner)


def _fields(found: type) -> str:
    """The fields of a class with their docstrings, as text; nothing where there is no source."""
    import ast
    import inspect
    import itertools
    import textwrap

    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    except (OSError, TypeError, SyntaxError):
        return ""
    body: list[ast.stmt] = tree.body if isinstance(tree, ast.ClassDef) else []
    text = ""
    for field, after in itertools.pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(after, ast.Expr):
            continue
        words = after.value.value if isinstance(after.value, ast.Constant) else None
        if isinstance(words, str):
            indented = textwrap.indent(inspect.cleandoc(words), "    ")
            text += f"\n{ast.unparse(field)}\n{indented}\n"
    return f"\n\nFields:\n{text}" if text else ""


def __dir__() -> list[str]:
    return sorted(["__version__", *_MODULE_OF])
