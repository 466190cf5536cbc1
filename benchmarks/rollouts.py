"""CPU time of a rollout in MuJoCo, and how much of it is spent inside MuJoCo.

Rollouts that end early are cheaper, so the reacher is timed on movements that go on to the last
step, and then on those of the initial policy. Run it when nothing else runs:

    python benchmarks/rollouts.py
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads

import time

import mujoco.rollout
import numpy as np

from selfpaced.experiments import experiment
from selfpaced.tasks.reacher import BASES, STEPS, Reacher, displacements, play

ROWS = 50
REACHER_LIMITS = 25.0, 0.85  # CPU ms per rollout of 150 steps; share inside MuJoCo


class Inside:
    """CPU seconds spent in MuJoCo's rollout while this is active."""

    def __enter__(self):
        self.seconds = 0.0
        self._original = mujoco.rollout.Rollout.rollout

        def timed(*arguments, **keywords):
            started = time.process_time()
            try:
                return self._original(*arguments, **keywords)
            finally:
                self.seconds += time.process_time() - started

        mujoco.rollout.Rollout.rollout = timed
        return self

    def __exit__(self, *_):
        mujoco.rollout.Rollout.rollout = self._original


def lingering(rng):
    """Thetas that wander about near the start, where nothing ends a rollout."""
    thetas = 0.2 * rng.normal(size=(ROWS, BASES, 2))
    thetas -= thetas.mean(axis=1, keepdims=True)
    thetas[:, :3, 1] -= 0.3  # away from the wall
    return thetas.reshape(ROWS, -1)


def timed(task, contexts, thetas, repeats=4):
    """CPU ms per rollout, share inside MuJoCo, steps per rollout."""
    actions = np.clip(displacements(thetas), -1, 1)
    task.evaluate(contexts, thetas, np.random.default_rng(0))  # compiles, copies models
    with Inside() as inside:
        started = time.process_time()
        for _ in range(repeats):
            task.evaluate(contexts, thetas, np.random.default_rng(0))
        seconds = time.process_time() - started
    steps = play(task.arms(contexts), lambda step, rows: actions[rows, step]).steps
    return 1000 * seconds / (repeats * ROWS), inside.seconds / seconds, steps.mean()


def main():
    rng = np.random.default_rng(0)
    problem = experiment("reacher").problem()
    contexts = np.full((ROWS, 2), 0.05)
    slow = timed(Reacher(), contexts, lingering(rng))
    policy = problem.initial_policy.sample(contexts, rng)
    usual = timed(Reacher(), contexts, policy)
    print(f"{'reacher':22} {'CPU ms':>7} {'inside MuJoCo':>14} {'steps':>6}")
    for name, (ms, share, steps) in (("to the last step", slow), ("initial policy", usual)):
        print(f"{name:22} {ms:7.1f} {share:13.1%} {steps:6.0f}")
    ms, share = slow[0] * STEPS / slow[2], slow[1]
    met = ms <= REACHER_LIMITS[0] and share >= REACHER_LIMITS[1]
    print(f"limits: {REACHER_LIMITS[0]} ms per {STEPS} steps, {REACHER_LIMITS[1]:.0%}:", end=" ")
    print("met" if met else f"NOT MET ({ms:.1f} ms, {share:.1%})")


if __name__ == "__main__":
    main()
