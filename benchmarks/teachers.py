"""CPU time of a teacher's update: told of 1,000 episodes, then asked for 20 contexts.

python benchmarks/teachers.py

Contexts have 2, 10 and 50 dimensions. The limits are those for 2 and for 10. Then the self-paced
step over 200 tasks: told of 50 episodes, then asked for 50.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads

import time

import numpy as np

from selfpaced import (
    Box,
    Categorical,
    Gaussian,
    SelfPacedAlpha,
    SelfPacedMastery,
    SelfPacedThreshold,
    TaskSet,
)
from selfpaced.teachers import TEACHERS

LIMITS = {2: 20.0, 10: 25.0, 50: np.inf}  # CPU ms, by the number of dimensions
EPISODES, REPEATS = 1000, 10
TASKS, FINITE_LIMIT = 200, 1.0  # CPU ms of one update over a finite set
FINITE = {
    "threshold": SelfPacedThreshold(),
    "learnability": SelfPacedThreshold(judged_by="learnability", epsilon=1.0),
    "alpha": SelfPacedAlpha(),
    "mastery": SelfPacedMastery(),
}


def milliseconds(config, dimension):
    """CPU ms of one update, the mean over all but the first."""
    box = Box(np.zeros(dimension), np.ones(dimension))
    target = Gaussian(np.full(dimension, 0.8), 1e-3 * np.eye(dimension))
    teacher, rng = config.start(box, target), np.random.default_rng(0)
    spent = []
    for _ in range(REPEATS):
        contexts = teacher.ask(EPISODES, rng)
        wins = (rng.random(EPISODES) < 1.4 - contexts.mean(axis=1)).astype(float)
        started = time.process_time()
        teacher.tell(contexts, wins, wins)
        teacher.ask(20, rng)  # some learn when they are asked
        spent.append(1000 * (time.process_time() - started))
    return float(np.mean(spent[1:]))


def finite_milliseconds(config, updates=400):
    """CPU ms of one update over a chain of tasks, each learnable near the last; the mean."""
    space = TaskSet(range(TASKS), related=[(k, k + 1) for k in range(TASKS - 1)])
    target = Categorical(np.where(np.arange(TASKS) >= TASKS - 10, 0.1, 0.0))
    teacher, rng = config.start(space, target), np.random.default_rng(0)
    ability, spent = 0.0, 0.0
    contexts = teacher.ask(50, rng)
    for _ in range(updates):
        chances = 1.0 / (1.0 + np.exp(contexts[:, 0] + 0.5 - ability))
        ability += float((0.4 * chances * (1.0 - chances)).sum())
        wins = (rng.random(50) < chances).astype(float)
        started = time.process_time()
        teacher.tell(contexts, wins, wins)
        contexts = teacher.ask(50, rng)
        spent += time.process_time() - started
    return 1000 * spent / updates


def main():
    names = "".join(f"{f'd = {d}':>10}" for d in LIMITS)
    print(f"{'teacher':12}{names}   growth from 10 to 50")
    for name, config in TEACHERS.items():
        usual = {d: milliseconds(config, d) for d in LIMITS}
        met = all(usual[d] <= limit for d, limit in LIMITS.items())
        columns = "".join(f"{value:10.1f}" for value in usual.values())
        growth = usual[50] / max(usual[10], 0.1)
        print(
            f"{name:12}{columns}   {growth:5.1f} times   {'met' if met else 'NOT MET'}", flush=True
        )
    print(f"one update over {TASKS} tasks, CPU ms, at most {FINITE_LIMIT} wanted")
    for name, config in FINITE.items():
        usual = finite_milliseconds(config)
        print(f"{name:12}{usual:10.2f}   {'met' if usual <= FINITE_LIMIT else 'NOT MET'}")


if __name__ == "__main__":
    main()
