"""MiniGrid's Crossing with a category and a whole number as the context, as an experiment.

Lava ends the episode, walls only cost time: what is learned between walls helps between lava. From
the folder of this file:

    pip install 'selfpaced[others]'
    selfpaced run minigrid_crossings:LAVA --seeds 3
    selfpaced report runs --import minigrid_crossings:LAVA --out lava.html
"""

import gymnasium
from gymnasium.wrappers import FlattenObservation
from minigrid.core.world_object import Lava, Wall
from minigrid.envs import CrossingEnv
from minigrid.wrappers import ImgObsWrapper

from selfpaced import (
    PPO,
    Categorical,
    Categories,
    ContextualEnv,
    CurrOT,
    Experiment,
    GymTask,
    Integers,
    Problem,
    Product,
    TargetTeacher,
)

HERE = "minigrid_crossings:Crossings-v0"
SPACE = Product(crossings=Integers(1, 3), obstacle=Categories("wall", "lava"))


def set_obstacles(environment, context):
    environment.num_crossings = context["crossings"]
    environment.obstacle_type = {"wall": Wall, "lava": Lava}[context["obstacle"]]


class Numbers(gymnasium.ObservationWrapper):
    """MiniGrid's whole numbers as floats, which PPO normalises."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(0.0, 255.0, env.observation_space.shape)

    def observation(self, observation):
        return observation.astype("float32")


def crossings():
    seen = Numbers(FlattenObservation(ImgObsWrapper(CrossingEnv(size=9, num_crossings=1))))
    return ContextualEnv(seen, SPACE, apply=set_obstacles, success=0.05)


if "Crossings-v0" not in gymnasium.registry:
    gymnasium.register("Crossings-v0", crossings, max_episode_steps=324, disable_env_checker=True)


def problem():
    task = GymTask(HERE, context_names=["crossings", "obstacle"])
    two_rows_of_lava = Categorical([1.0], [SPACE.encode({"crossings": 2, "obstacle": "lava"})])
    return Problem(task, target=two_rows_of_lava)


def ppo(teacher):
    return PPO(
        environment=HERE,
        teacher=teacher,
        environments=8,
        steps=324,
        minibatches=9,
        epochs=4,
        hidden=(64, 64),
        learning_rate=1e-3,
        gamma=0.99,
        gae_lambda=0.95,
        n_samples=8,
        buffer_size=1,
    )


LAVA = Experiment(
    name="lava",
    title="Lava",
    problem=problem,
    algorithms={"target": ppo(TargetTeacher()), "currot": ppo(CurrOT())},
    iterations=100,
    measure_rollouts=20,
    final_rollouts=50,
)
