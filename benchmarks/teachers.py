"""CPU time of a teacher's update: told of 1,000 episodes with 2-d contexts, then asked for 20.

python benchmarks/teachers.py
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads

import time

import numpy as np

from selfpaced import Box, Gaussian
from selfpaced.teachers import TEACHERS

LIMIT = 20.0  # CPU ms
EPISODES, REPEATS = 1000, 10


def main():
    box = Box([0.0, 0.0], [1.0, 1.0])
    target = Gaussian([0.8, 0.8], 1e-3 * np.eye(2))
    print(f"{'teacher':12} {'CPU ms':>7}   limit {LIMIT:.0f}")
    for name, config in TEACHERS.items():
        teacher, rng = config.start(box, target), np.random.default_rng(0)
        spent = []
        for _ in range(REPEATS):
            contexts = teacher.ask(EPISODES, rng)
            wins = (rng.random(EPISODES) < 1.4 - contexts.mean(axis=1)).astype(float)
            started = time.process_time()
            teacher.tell(contexts, wins, wins)
            teacher.ask(20, rng)  # some learn when they are asked
            spent.append(1000 * (time.process_time() - started))
        usual = float(np.mean(spent[1:]))
        print(f"{name:12} {usual:7.1f}   {'met' if usual <= LIMIT else 'NOT MET'}")


if __name__ == "__main__":
    main()
