"""A curriculum in RLlib's new API stack: several env runners, one teacher for all of them.

The teacher lives in an actor. Every environment asks it for the context of its next episode and
reports how the episode ended. The algorithm saves the teacher with its checkpoints, so a restored
training goes on with the curriculum where it was. Needs the extra `rllib`, in an environment of
its own, because RLlib pins its own version of Gymnasium:

    pip install "selfpaced[rllib]"
    python examples/rllib_curriculum.py
"""

import collections
import sys

import gymnasium
import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.tune.registry import register_env

from selfpaced import Box, Curriculum, Gaussian, SelfPacedThreshold

ENVIRONMENT = "selfpaced.deep.environments:selfpaced/PointMass2D-v0"
SPACE = Box([-4.0, 0.5], [4.0, 8.0])  # position and width of the gate
TARGET = Gaussian([2.5, 0.6], np.diag([0.05**2, 0.05**2]))
TEACHER = SelfPacedThreshold()


@ray.remote(num_cpus=0)
class CentralTeacher:
    """The curriculum, which all environments share; calls are served one after the other."""

    def __init__(self, seed):
        self.curriculum = Curriculum(TEACHER, SPACE, TARGET, seed=seed)
        self.environments = 0
        self.last = collections.deque(maxlen=100)  # successes

    def new_environment(self):
        self.environments += 1
        return self.environments - 1

    def next_context(self, environment):
        return self.curriculum.next_contexts([environment])[0]

    def finished(self, environment, episode_return, success, context):
        # An environment may still play a context from before a restore, so it says which.
        self.curriculum.finished([environment], [episode_return], [success], [context])
        self.last.append(success)

    def state_dict(self):
        return self.curriculum.state_dict()

    def load_state_dict(self, state):
        self.curriculum.load_state_dict(state)
        self.curriculum.restart_episodes()  # environments begin anew: their contexts come again

    def described(self):
        rate = sum(self.last) / max(1, len(self.last))
        return (
            f"{self.curriculum.episodes} episodes, success {rate:.0%} in the last "
            f"{len(self.last)}, {self.curriculum.teacher!r}"
        )


class Taught(gymnasium.Wrapper):
    """An environment whose episodes are at the contexts that the central teacher chooses."""

    def __init__(self, environment, teacher):
        super().__init__(environment)
        self.teacher = teacher
        self.number = ray.get(teacher.new_environment.remote())
        self.playing, self.total = False, 0.0

    def reset(self, *, seed=None, options=None):
        if not self.playing:  # an episode that was cut short begins again at its context
            self.context = ray.get(self.teacher.next_context.remote(self.number))
        self.playing, self.total = True, 0.0
        return self.env.reset(seed=seed, options={"context": self.context})

    def step(self, action):
        seen, reward, ended, truncated, info = self.env.step(action)
        self.total += float(reward)
        if ended or truncated:
            self.playing = False
            success = float(info["is_success"])
            self.teacher.finished.remote(self.number, self.total, success, self.context)
        return seen, reward, ended, truncated, info


class CurriculumPPO(PPO):
    """RLlib's PPO, whose checkpoints hold the curriculum."""

    def get_state(self, *args, **kwargs):
        curriculum = ray.get(self.config.env_config["teacher"].state_dict.remote())
        return {**super().get_state(*args, **kwargs), "curriculum": curriculum}

    def set_state(self, state):
        super().set_state(state)
        if "curriculum" in state:
            teacher = self.config.env_config["teacher"]
            ray.get(teacher.load_state_dict.remote(state["curriculum"]))


def build(teacher, runners=2, envs=4, batch=4096, epochs=10):
    register_env("taught", lambda config: Taught(gymnasium.make(ENVIRONMENT), config["teacher"]))
    config = (
        PPOConfig(algo_class=CurriculumPPO)
        .environment("taught", env_config={"teacher": teacher})
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=envs)
        .env_runners(sample_timeout_s=600)  # a busy machine must not make batches smaller
        .training(train_batch_size_per_learner=batch, minibatch_size=256, num_epochs=epochs)
        .training(lr=3e-4, gamma=0.99, lambda_=0.95, clip_param=0.2)
        .debugging(seed=0)
    )
    return config.build_algo()


def main(iterations=60, show=print):
    teacher = CentralTeacher.remote(seed=0)
    algorithm = build(teacher)
    for k in range(1, iterations + 1):
        algorithm.train()
        show(f"iteration {k}: {ray.get(teacher.described.remote())}")
    algorithm.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
