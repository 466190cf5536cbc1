"""PPO on the point mass with every teacher: what a curriculum is worth to deep RL.

No value here comes from the paper. PPO has the defaults of Stable-Baselines3 except for the number
of environments, of steps and of minibatches. Each teacher has the configuration of the registry
`TEACHERS`: its defaults, except for GoalGAN, which trains more often and for fewer steps (see
`teachers/__init__.py`). All were chosen before these runs.
"""

from dataclasses import replace

import numpy as np

from selfpaced.deep.ppo import PPO
from selfpaced.experiments.experiment import Experiment
from selfpaced.maths.gaussian import Gaussian
from selfpaced.tasks.pointmass import PointMass2D
from selfpaced.teachers import TEACHERS
from selfpaced.types import Problem

NARROW_GATE = Gaussian(
    [2.5, 0.6], np.diag([0.05**2, 0.05**2])
)  # away from the straight line to the goal

WITH_TEACHER = PPO(
    environment="selfpaced.deep.environments:selfpaced/PointMass2D-v0",
    environments=8,
    steps=300,  # three episodes, if none ends early
    minibatches=20,
    epochs=10,
    hidden=(64, 64),
    gamma=0.99,
    gae_lambda=0.95,
    entropy_weight=0.0,
    learning_rate=3e-4,
    n_samples=40,
    buffer_size=1,
)


def _problem() -> Problem:
    return Problem(PointMass2D(), NARROW_GATE)


POINTMASS_PPO = Experiment(
    name="pointmass-ppo",
    title="Point mass, PPO",
    problem=_problem,
    algorithms={name: replace(WITH_TEACHER, teacher=teacher) for name, teacher in TEACHERS.items()},
    iterations=100,  # each has 40 episodes of at most 100 steps
    evolution=(20, 30, 36, 42, 60),  # while the contexts move
    measure_rollouts=50,
    final_rollouts=200,
)
