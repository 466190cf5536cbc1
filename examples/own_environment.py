"""Your own Gymnasium environment, with a sweep, a table and a page, like the paper's tasks.

A pendulum with weak arms shall be swung up; the context is how heavy it is. Light pendulums can
just be lifted, the target needs a swing. From the folder of this file:

    selfpaced run own_environment:SWING_UP --seeds 3
    selfpaced report runs --out swing-up.html
"""

import gymnasium
import numpy as np
from gymnasium.wrappers import RescaleAction

from selfpaced import (
    PPO,
    Box,
    ContextualEnv,
    CurrOT,
    Experiment,
    Gaussian,
    GymTask,
    Problem,
    SelfPacedThreshold,
    TargetTeacher,
)

HERE = "own_environment:SwingUp-v0"
UPRIGHT = 0.95  # cosine of the angle at the end that counts as up


class Pendulum(gymnasium.Wrapper):
    """Gymnasium's pendulum, which does not say whether it is up."""

    def step(self, action):
        seen, reward, ended, truncated, info = self.env.step(action)
        return seen, reward, ended, truncated, {**info, "is_success": bool(seen[0] > UPRIGHT)}


def set_mass(environment, context):
    environment.m = float(context[0])


def swing_up(**arguments):
    one = np.float32(1.0)  # actions in [-1, 1], as PPO and GymTask want them
    environment = RescaleAction(Pendulum(gymnasium.make("Pendulum-v1", **arguments)), -one, one)
    return ContextualEnv(environment, Box([0.2], [1.2]), apply=set_mass)


if "SwingUp-v0" not in gymnasium.registry:
    gymnasium.register("SwingUp-v0", swing_up, max_episode_steps=200)


def problem():
    heavy = Gaussian([1.0], [[1e-3]])
    return Problem(GymTask(HERE, context_names=["mass (kg)"]), target=heavy)


def ppo(teacher):
    return PPO(
        environment=HERE,
        teacher=teacher,
        environments=4,
        steps=512,
        minibatches=16,
        epochs=10,
        hidden=(64, 64),
        gamma=0.95,
        gae_lambda=0.95,
        learning_rate=1e-3,
        n_samples=20,
        buffer_size=1,
    )


SWING_UP = Experiment(
    name="swing-up",
    title="Swing up",
    problem=problem,
    algorithms={
        "target": ppo(TargetTeacher()),
        "threshold": ppo(SelfPacedThreshold()),
        "currot": ppo(CurrOT()),
    },
    iterations=40,
    measure_rollouts=20,
    final_rollouts=50,
)
