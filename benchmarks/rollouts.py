"""CPU time of a rollout in MuJoCo, how much of it is spent inside MuJoCo, and what threads gain.

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
from selfpaced.tasks.ball_in_a_cup import BallInACup
from selfpaced.tasks.reacher import BASES, STEPS, Reacher, displacements, simulate
from selfpaced.tasks.string_models import ANY_STRING, FAST, REFERENCE
from selfpaced.tasks.threads import sharing_threads

ROWS = 50
# CPU ms per rollout, share inside MuJoCo
REACHER_LIMITS = (25.0, 0.85)
BALL_LIMITS = {
    "any string": (ANY_STRING, (90.0, 0.95)),
    "fast": (FAST, (70.0, 0.9)),
    "reference": (REFERENCE, (900.0, 0.95)),
}
FASTER = 1.8  # least gain in wall time of a second thread


class Inside:
    """CPU seconds spent in MuJoCo's rollout while this is active."""

    def __enter__(self):
        self.seconds = 0.0
        self._original = mujoco.rollout.Rollout.rollout

        def clocked(*arguments, **keywords):
            started = time.process_time()
            try:
                return self._original(*arguments, **keywords)
            finally:
                self.seconds += time.process_time() - started

        mujoco.rollout.Rollout.rollout = clocked
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
    """CPU ms per rollout and the share of it inside MuJoCo."""
    task.evaluate(contexts, thetas, np.random.default_rng(0))  # compiles, copies models
    with Inside() as inside:
        started = time.process_time()
        for _ in range(repeats):
            task.evaluate(contexts, thetas, np.random.default_rng(0))
        seconds = time.process_time() - started
    return 1000 * seconds / (repeats * len(contexts)), inside.seconds / seconds


def wall_seconds(task, contexts, thetas, threads, repeats=6):
    """Shortest wall time of a batch with this number of threads."""
    with sharing_threads(threads):
        task.evaluate(contexts, thetas, np.random.default_rng(0))
        times = []
        for _ in range(repeats):
            started = time.perf_counter()
            task.evaluate(contexts, thetas, np.random.default_rng(0))
            times.append(time.perf_counter() - started)
    return min(times)


def show_threads(name, task, contexts, thetas):
    one, two = (wall_seconds(task, contexts, thetas, threads) for threads in (1, 2))
    verdict = "met" if one / two >= FASTER else "NOT MET"
    print(
        f"{name:36} wall {one:.2f} s with one thread, {two:.2f} s with two: {one / two:.2f} times "
        f"faster, limit {FASTER}: {verdict}"
    )


def show(name, ms, share, limits):
    met = ms <= limits[0] and share >= limits[1]
    verdict = "met" if met else "NOT MET"
    print(f"{name:36} {ms:7.1f} {share:8.1%}   limits {limits[0]:.0f}, {limits[1]:.0%}: {verdict}")


def main():
    rng = np.random.default_rng(0)
    print(f"{'':36} {'CPU ms':>7} {'inside':>8}")
    task, contexts, thetas = Reacher(), np.full((ROWS, 2), 0.05), lingering(rng)
    ms, share = timed(task, contexts, thetas)
    actions = np.clip(displacements(thetas), -1, 1)
    steps = simulate(task.arms(contexts), lambda step, rows: actions[rows, step]).steps.mean()
    show(f"reacher, per {STEPS} steps", ms * STEPS / steps, share, REACHER_LIMITS)
    policy = experiment("reacher").problem().initial_policy
    ms, share = timed(task, contexts, policy.sample(contexts, rng))
    show("reacher, initial policy", ms, share, REACHER_LIMITS)
    policy = experiment("ball-in-a-cup").problem().initial_policy
    scales = np.linspace(0.9, 2.5, 16)[:, None]  # every row with a cup of its own
    thetas = policy.sample(scales, rng)
    for name, (fidelity, limits) in BALL_LIMITS.items():
        show(f"ball-in-a-cup, {name}", *timed(BallInACup(fidelity), scales, thetas, 2), limits)
    show_threads(f"reacher, {ROWS} rollouts", task, contexts, lingering(rng))
    show_threads(f"ball-in-a-cup, {len(scales)} rollouts", BallInACup(), scales, thetas)


if __name__ == "__main__":
    main()
