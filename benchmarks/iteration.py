"""CPU time of one SPRL iteration on gate-precision, by part, and as a ratio that travels.

The yardstick is ten products (X * w[:, None]).T @ X with X 1000 x 51: what the machine needs for
the arithmetic that no dual with 1,000 samples and 51 value features can avoid. It is timed in
the same process, between the iterations. Run it when nothing else runs:

    python benchmarks/iteration.py
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads

import time
from collections import Counter

import numpy as np

from selfpaced.experiments import experiment
from selfpaced.learners import sprl
from selfpaced.maths.randomness import streams_of

PARTS = ("rollouts", "sampling", "dual", "fit")
LIMITS = 2.2, 4.0  # without and with rollouts, in units of ten products
GATE_LIMIT = 3.5  # CPU ms per 100 rollouts


def timed(spent, part, function):
    def call(*arguments, **keywords):
        started = time.process_time_ns()
        try:
            return function(*arguments, **keywords)
        finally:
            spent[part] += time.process_time_ns() - started

    return call


def ten_products(X, w):
    started = time.process_time_ns()
    for _ in range(10):
        (X * w[:, None]).T @ X
    return time.process_time_ns() - started


def main():
    spent = Counter()
    found = experiment("gate-precision")
    problem = found.problem()
    problem.task.evaluate = timed(spent, "rollouts", problem.task.evaluate)
    sprl.sprl_weights = timed(spent, "dual", sprl.sprl_weights)
    sprl.fit_joint = timed(spent, "fit", sprl.fit_joint)
    training = found.algorithm("sprl").start(problem, streams_of(0))
    training.learner.ask = timed(spent, "sampling", training.learner.ask)

    rng = np.random.default_rng(0)
    X, w = rng.random((1000, 51)), rng.random(1000)
    training.advance()  # fills the buffer, which is not an iteration's work
    for phase, iterations in (("alpha = 0", range(2, 141)), ("alpha > 0", range(141, 351))):
        spent.clear()
        yardstick = total = steps = 0
        for _ in iterations:
            started = time.process_time_ns()
            steps += training.advance()["newton_steps"]
            total += time.process_time_ns() - started
            yardstick += ten_products(X, w)
        report(phase, len(iterations), spent, total, yardstick, steps)


def report(phase, n, spent, total, yardstick, steps):
    ms = {part: spent[part] / n / 1e6 for part in PARTS}
    total, yardstick = total / n / 1e6, yardstick / n / 1e6
    print(f"{phase}: mean over {n} iterations; CPU ms, and in units of ten products")
    ms["everything else"] = total - sum(ms.values())
    ms |= {"iteration": total, "ten products": yardstick}
    for part, value in ms.items():
        print(f"  {part:18}{value:8.2f}{value / yardstick:8.2f}")
    without = (total - ms["rollouts"]) / yardstick
    print(f"  without rollouts {without:.2f} times ten products, at most {LIMITS[0]} wanted")
    print(f"  with rollouts {total / yardstick:.2f} times, at most {LIMITS[1]} wanted")
    print(f"  100 rollouts {ms['rollouts']:.2f} CPU ms, at most {GATE_LIMIT} wanted")
    print(f"  {steps / n:.1f} Newton steps an iteration")


if __name__ == "__main__":
    main()
