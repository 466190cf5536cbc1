"""MiniGrid's MultiRoom with whole numbers as the context, in a Stable-Baselines3 script.

Four rooms in a row are too far to be crossed by chance, so PPO on them alone sees no reward. The
curriculum begins where something succeeds and adds rooms. A few minutes on one core:

    pip install 'selfpaced[others]'
    python examples/minigrid_rooms.py
"""

import sys

import numpy as np
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import FlattenObservation
from minigrid.envs import MultiRoomEnv
from minigrid.wrappers import ImgObsWrapper
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from selfpaced import (
    ContextualEnv,
    CurriculumCallback,
    Gaussian,
    Integers,
    Product,
    SelfPacedMastery,
    TargetTeacher,
    measure_on_target,
)

SPACE = Product(rooms=Integers(1, 4), size=Integers(4, 7))
TARGET = Gaussian([4, 6], np.diag([0.01, 0.01]))  # four rooms of at most 6 squares a side


def set_rooms(environment, context):  # before every reset, with natural values
    environment.minNumRooms = environment.maxNumRooms = context["rooms"]
    environment.maxRoomSize = context["size"]
    environment.max_steps = 20 * context["rooms"]


def make():
    seen = FlattenObservation(ImgObsWrapper(MultiRoomEnv(4, 4)))
    # MiniGrid pays at least 0.1 at the goal, and otherwise nothing.
    return ContextualEnv(seen, SPACE, apply=set_rooms, success=0.05)


def success_with(teacher, steps, episodes=50):
    environments = make_vec_env(make, n_envs=16, seed=0)
    model = PPO("MlpPolicy", environments, n_steps=128, batch_size=256, ent_coef=0.01, seed=0)
    model.learn(steps, callback=CurriculumCallback(teacher.start(SPACE, TARGET)))
    others = SyncVectorEnv([make] * 8)
    found = measure_on_target(others, lambda seen: model.predict(seen)[0], TARGET, episodes)
    return found.successes.mean()


def main(steps=250_000, episodes=50):
    for name, teacher in (("without", TargetTeacher()), ("with", SelfPacedMastery())):
        success = success_with(teacher, steps, episodes)
        print(f"PPO {name} a curriculum: {success:.0%} on four rooms", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
