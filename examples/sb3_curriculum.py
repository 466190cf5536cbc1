"""A curriculum in a Stable-Baselines3 script: the lines marked with # + are all it takes.

PPO steers a point mass through a gate. On the target, a narrow gate off the straight way, it learns
to wait in front of the wall; with a curriculum it starts with wide gates and gets through. Six
minutes on two cores:

    python examples/sb3_curriculum.py
"""

import sys

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from selfpaced import ContextualEnv, CurriculumCallback, Gaussian, SelfPacedThreshold, TargetTeacher

TARGET = Gaussian([2.5, 0.6], np.diag([0.05**2, 0.05**2]))  # position and width of the gate


def make():
    environment = gymnasium.make("selfpaced.deep.environments:selfpaced/PointMass2D-v0")
    return ContextualEnv(environment)  # +


def learn(teacher, steps):
    environments = VecNormalize(make_vec_env(make, n_envs=8))
    bounds = environments.get_attr("bounds")[0]
    curriculum = CurriculumCallback(teacher.start(bounds, TARGET))  # +
    model = PPO("MlpPolicy", environments, n_steps=256, batch_size=256, seed=0)
    model.learn(steps, callback=curriculum)  # +
    return model, environments


def success_on_target(model, normaliser, episodes):
    environment, rng = make(), np.random.default_rng(1)
    solved = []
    for context in TARGET.sample(episodes, rng, environment.bounds):
        seen, _ = environment.reset(options={"context": context})
        over = False
        while not over:
            action, _ = model.predict(normaliser.normalize_obs(seen), deterministic=True)
            seen, _, ended, truncated, info = environment.step(action)
            over = ended or truncated
        solved.append(info["episode_success"])
    return float(np.mean(solved))


def main(steps=400_000, episodes=50):
    for name, teacher in (("without", TargetTeacher()), ("with", SelfPacedThreshold())):
        model, environments = learn(teacher, steps)
        success = success_on_target(model, environments, episodes)
        print(f"PPO {name} a curriculum: {success:.0%} on the target", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
