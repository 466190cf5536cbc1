"""CPU time of a teacher's update: told of 1,000 episodes, then asked for 20 contexts.

python benchmarks/teachers.py

Contexts have 2, 10 and 50 dimensions. The limits are those for 2 and for 10.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads

import time

import numpy as np

from selfpaced import Box, Gaussian
from selfpaced.teachers import TEACHERS

LIMITS = {2: 20.0, 10: 25.0, 50: np.inf}  # CPU ms, by the number of dimensions
EPISODES, REPEATS = 1000, 10


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


if __name__ == "__main__":
    main()
