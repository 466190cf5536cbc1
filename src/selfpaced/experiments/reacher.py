"""The reacher experiments: the paper's, in MuJoCo, and a kinematic version without physics.

Sources as in gate.py: "Table 1" and "Table 2" are the paper's tables of parameters, "program"
marks values that the paper does not give, taken from its authors' program.
"""

from functools import partial

import numpy as np

from selfpaced.deep.ppo import PPO
from selfpaced.experiments.experiment import Experiment
from selfpaced.learners.cmaes import CMAES
from selfpaced.learners.creps import CREPS
from selfpaced.learners.sprl import SPRL, Alpha, VarianceFloor
from selfpaced.maths.features import linear_features, rbf_grid
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import constant_policy
from selfpaced.maths.schedule import FractionOfReward
from selfpaced.tasks.kinematic import KinematicReacher
from selfpaced.tasks.reacher import Reacher, ReacherTask
from selfpaced.teachers.goalgan import GoalGAN
from selfpaced.teachers.saggriac import SaggRiac
from selfpaced.types import Algorithm, Problem

# Contexts are the sizes of both obstacles.
ANY_SIZES = Gaussian([0.05, 0.05], 0.04**2 * np.eye(2))  # program
LARGE_SIZES = Gaussian([0.08, 0.08], 3e-6 * np.eye(2))  # program; drawn in the paper's Fig. 2
SMALL_SIZES = Gaussian([0.01, 0.01], 3e-6 * np.eye(2))  # program: the easy version for PPO


def _problem(task: type[ReacherTask], target: Gaussian) -> Problem:
    initial = Gaussian(np.zeros(40), 4.0 * np.eye(40))  # program: mean 0, variance 4 each
    return Problem(
        task(),
        target,
        initial_contexts=ANY_SIZES,
        initial_policy=constant_policy(linear_features(2), initial),
        value_features=rbf_grid(ReacherTask.context_space, (8, 8), (800.0, 800.0)),  # program
    )


EPISODIC: dict[str, Algorithm] = {
    "sprl": SPRL(
        epsilon=0.5,  # Table 1
        pacing=Alpha(
            schedule=FractionOfReward(
                zeta=0.15,  # Table 1
                k_alpha=90,  # Table 1
                alpha_max=5.0,  # program
            ),
            variance_floor=VarianceFloor(variance=3e-5, until_kl=20.0),  # appendix
        ),
        n_samples=50,  # Table 1
        buffer_size=10,  # Table 1
    ),
    "sprl-mastery": SPRL(),  # docs/beyond-the-paper.md
    "creps": CREPS(epsilon=0.5, n_samples=50, buffer_size=10),  # Table 1
    "cmaes": CMAES(n_samples=50, buffer_size=10),  # the same budget
    "goalgan": CREPS(
        epsilon=0.5,
        n_samples=50,
        buffer_size=10,
        teacher=GoalGAN(noise=0.1, train_every=5, first_steps=2000),  # Table 2; program
    ),
    "saggriac": CREPS(
        epsilon=0.5,
        n_samples=50,
        buffer_size=10,
        teacher=SaggRiac(split_at=300, window=80),  # Table 2, columns exchanged
    ),
}

MODULE = "selfpaced.deep.environments:"  # registers the environments
# The defaults of `PPO` are those of the appendix, "Reacher Experiment"; learning rate, clip range,
# value weight and gradient norm are those of the library that was used there (program). Its policy
# and value function shared their hidden layers, which Stable-Baselines3 no longer offers.
STEPWISE = PPO(environment=MODULE + "selfpaced/ReacherObstacles-v0")
ENDING = PPO(environment=MODULE + "selfpaced/ReacherObstaclesEnding-v0")

REACHER = Experiment(
    name="reacher",
    title="Reacher with obstacles",
    problem=partial(_problem, Reacher, LARGE_SIZES),
    algorithms={**EPISODIC, "ppo": STEPWISE, "ppo-ending": ENDING},
    iterations=400,  # program; Fig. 2
    evolution=(10, 50, 110, 180, 300),  # Fig. 2
    measure_rollouts=50,  # program: as many as an iteration has
    final_rollouts=100,
)

REACHER_KINEMATIC = Experiment(
    name="reacher-kinematic",
    title="Reacher without physics",
    problem=partial(_problem, KinematicReacher, LARGE_SIZES),
    algorithms=EPISODIC,
    iterations=400,
    evolution=(10, 50, 110, 180, 300),
    measure_rollouts=50,
)

REACHER_EASY = Experiment(
    name="reacher-easy",
    title="Reacher with small obstacles",
    problem=partial(_problem, Reacher, SMALL_SIZES),
    algorithms={"ppo": STEPWISE, "ppo-ending": ENDING},
    iterations=400,
    measure_rollouts=50,
    final_rollouts=100,
)
