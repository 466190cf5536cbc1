"""The gate experiments: "precision" (a narrow gate far from the centre) and "global" (any gate).

Sources: "Table 1" is the paper's table of SPRL's and C-REPS's parameters, "Table 2" that of
GoalGAN's and SAGG-RIAC's; "program" marks values that the paper does not give, taken from its
authors' program.
"""

from functools import partial

import numpy as np

from selfpaced.experiments.experiment import Experiment
from selfpaced.learners.cmaes import CMAES
from selfpaced.learners.creps import CREPS
from selfpaced.learners.sprl import SPRL, Alpha
from selfpaced.maths.box import Box
from selfpaced.maths.features import linear_features, rbf_grid
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import constant_policy
from selfpaced.maths.schedule import FractionOfReward
from selfpaced.tasks.gate import Gate
from selfpaced.teachers.goalgan import GoalGAN
from selfpaced.teachers.saggriac import SaggRiac
from selfpaced.types import Problem

# Contexts are the gate's position and half-width.
WIDE = Gaussian([0.0, 0.25], np.diag([7.0, 0.003]))  # program; initial contexts, global target
NARROW = Gaussian([-4.0, 0.2], np.diag([0.1, 0.001]))  # program; drawn in the paper's Fig. 1
REWARD_SHIFT = 100.0  # program; zeta = 0.02 and 0.002 are meant for rewards shifted by this


def _problem(target: Gaussian, features_over: Box) -> Problem:
    initial = Gaussian(np.zeros(14), 100.0 * np.eye(14))  # program: standard deviation 10
    return Problem(
        Gate(),
        target,
        initial_contexts=WIDE,
        initial_policy=constant_policy(linear_features(2), initial),
        value_features=rbf_grid(features_over, (10, 5), (0.6, 150.0)),  # program
        reward_shift=REWARD_SHIFT,
    )


GATE_PRECISION = Experiment(
    name="gate-precision",
    title='Gate "precision"',
    problem=partial(_problem, NARROW, Gate.context_space),
    algorithms={
        "sprl": SPRL(
            epsilon=0.4,  # Table 1
            pacing=Alpha(
                schedule=FractionOfReward(
                    zeta=0.02,  # Table 1
                    k_alpha=140,  # Table 1
                    alpha_max=2.5,  # program
                ),
            ),
            n_samples=100,  # Table 1
            buffer_size=10,  # Table 1
        ),
        "sprl-mastery": SPRL(),  # docs/beyond-the-paper.md
        "creps": CREPS(epsilon=0.4, n_samples=100, buffer_size=10),  # Table 1
        "cmaes": CMAES(n_samples=100, buffer_size=10),  # the same budget
        "goalgan": CREPS(
            epsilon=0.4,
            n_samples=100,
            buffer_size=10,
            teacher=GoalGAN(noise=0.05, train_every=5),  # Table 2; the program trains every 3
        ),
        "saggriac": CREPS(
            epsilon=0.4,
            n_samples=100,
            buffer_size=10,
            teacher=SaggRiac(split_at=200, window=100),  # Table 2, columns exchanged
        ),
    },
    iterations=350,  # program; Fig. 1
    evolution=(20, 80, 130, 210, 320),  # Fig. 1
)

GATE_GLOBAL = Experiment(
    name="gate-global",
    title='Gate "global"',
    # program: here the grid of value features reaches to a half-width of 1, beyond the task's box
    problem=partial(_problem, WIDE, Box([-5.0, 0.1], [5.0, 1.0])),
    algorithms={
        "sprl": SPRL(
            epsilon=0.25,  # Table 1
            pacing=Alpha(
                schedule=FractionOfReward(
                    zeta=0.002,  # Table 1
                    k_alpha=140,  # Table 1
                    alpha_max=1e6,  # program
                ),
            ),
            n_samples=100,  # Table 1
            buffer_size=10,  # Table 1
        ),
        "sprl-mastery": SPRL(),  # docs/beyond-the-paper.md
        "creps": CREPS(epsilon=0.25, n_samples=100, buffer_size=10),  # Table 1
        "goalgan": CREPS(
            epsilon=0.25,
            n_samples=100,
            buffer_size=10,
            teacher=GoalGAN(noise=0.05, train_every=5),  # Table 2
        ),
        "saggriac": CREPS(
            epsilon=0.25,
            n_samples=100,
            buffer_size=10,
            teacher=SaggRiac(split_at=500, window=100),  # Table 2, columns exchanged
        ),
        # No CMA-ES: it learns for one context only, and this target is broad (Sec. 4).
    },
    iterations=600,  # program; Fig. 1
    evolution=(50, 150, 250, 400),  # Fig. 1
)
