"""LunarLander with gravity, wind and turbulence as the context.

Prints how PPO lands in a storm after training there only, and after a curriculum that begins in
weaker wind. About ten minutes on one core:

    pip install 'selfpaced[others]'
    python examples/windy_lander.py
"""

import sys
from functools import partial

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from selfpaced import (
    Box,
    ContextualEnv,
    CurriculumCallback,
    CurrOT,
    Gaussian,
    TargetTeacher,
    measure_on_target,
)

SPACE = Box([-11.0, 0.0, 0.0], [-2.0, 20.0, 2.0])  # the ranges that Gymnasium allows
STORM = Gaussian([-10.0, 17.0, 1.7], np.diag([0.3, 0.6, 0.06]) ** 2)


def set_weather(lander, context):
    lander.gravity, lander.wind_power, lander.turbulence_power = map(float, context)


def make():
    lander = gymnasium.make("LunarLander-v3", enable_wind=True)
    # A return of 200 counts as a good landing.
    return ContextualEnv(lander, SPACE, apply=set_weather, success=200.0)


def best_actions(model, observations):
    return model.predict(observations, deterministic=True)[0]


def main(steps=500_000, episodes=50):
    for name, teacher in (("in the storm only", TargetTeacher()), ("with a curriculum", CurrOT())):
        curriculum = CurriculumCallback(teacher.start(SPACE, STORM))
        environments = make_vec_env(make, n_envs=8, seed=0)
        model = PPO("MlpPolicy", environments, 1e-3, n_steps=512, batch_size=256, n_epochs=4)
        model.learn(steps, callback=curriculum)
        act = partial(best_actions, model)
        found = measure_on_target(SyncVectorEnv([make] * 8), act, STORM, episodes)
        print(f"trained {name}: mean return {found.rewards.mean():.0f} in the storm", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
