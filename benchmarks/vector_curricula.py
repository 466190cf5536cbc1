"""What a curriculum costs of a loop over 64 processes, and over thousands of batched environments.

Time between the calls of the environments is the curriculum's: telling the teacher, asking it,
sending contexts. The first loop steps `AsyncVectorEnv` and a small policy, and does not learn at
all, so the share is larger than in any training; the second is examples/batched_simulator.py.

    python benchmarks/vector_curricula.py
"""

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv

from selfpaced import ContextualEnv, CurriculumVectorEnv, Gaussian, SelfPacedThreshold

NAME = "selfpaced.deep.environments:selfpaced/PointMass2D-v0"
TARGET = Gaussian([2.5, 0.6], np.diag([0.05**2, 0.05**2]))


def make():
    return ContextualEnv(gymnasium.make(NAME))


class Timed(gymnasium.vector.VectorWrapper):
    """Adds up the seconds inside the environments."""

    seconds = 0.0

    def step(self, actions):
        """Step the environments and note how long it took."""
        begun = time.perf_counter()
        try:
            return self.env.step(actions)
        finally:
            self.seconds += time.perf_counter() - begun


def share_of_async(n=64, steps=1000):
    inner = Timed(AsyncVectorEnv([make] * n))
    envs = CurriculumVectorEnv(inner, SelfPacedThreshold(), TARGET)
    torch.manual_seed(0)
    policy = torch.nn.Sequential(torch.nn.Linear(6, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
    seen, _ = envs.reset(seed=0)
    in_wrapper, begun = 0.0, time.perf_counter()
    for _ in range(steps):
        with torch.no_grad():
            means = policy(torch.as_tensor(seen))
            actions = (means + torch.randn_like(means)).clamp(-1, 1).numpy()
        before = time.perf_counter()
        seen = envs.step(actions)[0]
        in_wrapper += time.perf_counter() - before
    total = time.perf_counter() - begun
    envs.close()
    share = (in_wrapper - inner.seconds) / total
    episodes = envs.curriculum.episodes
    print(f"{n} processes: {share:.1%} of {total:.1f} s, {steps} steps, {episodes} episodes")


def share_of_batch(n=4096, iterations=10):
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import batched_simulator

    begun = time.process_time()
    _, share = batched_simulator.main(n=n, iterations=iterations, show=lambda text: None)
    print(
        f"{n} environments: {share:.1%} of {time.process_time() - begun:.1f} CPU s, with learning"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    share_of_async()
    share_of_batch()
