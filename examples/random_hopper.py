"""Physics of a MuJoCo robot by name, and the widest range of it that PPO masters.

DORAEMON widens masses, friction and gravity as far as half of the episodes succeed. Prints the
range of each factor in the end. About fifteen minutes on one core:

    pip install 'selfpaced[others]'
    python examples/random_hopper.py
"""

import sys

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from selfpaced import DORAEMON, ContextualEnv, CurriculumCallback, PhysicsEnv, Uniform

RANGES = {
    "body:torso.mass": (0.4, 1.6),
    "geom:foot_geom.friction": (0.4, 1.6),
    "gravity": (0.6, 1.4),
}


def make(check=False):
    hopper = PhysicsEnv(gymnasium.make("Hopper-v5"), RANGES, check=check)
    return ContextualEnv(hopper, success=1000.0)  # a return of 1,000: a thousand steps upright


def main(steps=600_000):
    space = make(check=True).bounds  # both ends of each range change the motion, and none blows up
    teacher = DORAEMON().start(space, Uniform(space))
    environments = make_vec_env(make, n_envs=8, seed=0)
    model = PPO("MlpPolicy", environments, n_steps=500, batch_size=200, seed=0)
    model.learn(steps, callback=CurriculumCallback(teacher))
    contexts = teacher.ask(1000, np.random.default_rng(0))
    for name, low, high in zip(RANGES, *np.quantile(contexts, [0.05, 0.95], axis=0), strict=True):
        print(f"{name}: 90% of the factors are between {low:.2f} and {high:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
