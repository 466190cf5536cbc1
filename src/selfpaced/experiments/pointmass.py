"""PPO on the point mass with every teacher: what a curriculum is worth to deep RL.

The numbers are ours. PPO's are Stable-Baselines3's defaults but for environments and minibatches;
each teacher has its defaults, chosen before these runs.
"""

from dataclasses import replace

import numpy as np

from selfpaced.deep.ppo import PPO
from selfpaced.experiments.experiment import Experiment
from selfpaced.maths.gaussian import Gaussian
from selfpaced.tasks.pointmass import PointMass2D
from selfpaced.teachers import TEACHERS
from selfpaced.types import Problem

NARROW_GATE = Gaussian([2.5, 0.6], np.diag([0.05**2, 0.05**2]))  # off the straight way

TAUGHT = PPO(
    environment="selfpaced.deep.stepwise:selfpaced/PointMass2D-v0",
    environments=8,
    steps=300,  # three episodes, if none ends early
    minibatches=20,
    epochs=10,
    hidden=(64, 64),
    gamma=0.99,
    gae_lambda=0.95,
    entropy=0.0,
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
    algorithms={name: replace(TAUGHT, teacher=teacher) for name, teacher in TEACHERS.items()},
    iterations=100,  # of 40 episodes of 100 steps
    evolution=(20, 30, 36, 42, 60),  # while contexts move
    measure_rollouts=50,
    final_rollouts=200,
)
