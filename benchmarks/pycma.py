"""CPU time of an update of `SPRL()`, without rollouts, in units of one of pycma's.

pycma has the same population and dimension, and both take turns in one process, so that the ratio
travels. Run it when nothing else runs:

    python benchmarks/pycma.py
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy loads

import time

import cma
import numpy as np

from selfpaced import SPRL
from selfpaced.experiments import experiment
from selfpaced.maths.randomness import streams_of

LIMIT = 1.5
UPDATES = {"gate-precision": 250, "reacher-kinematic": 250}


def clocked(spent, function):
    def call(*arguments, **keywords):
        started = time.process_time()
        try:
            return function(*arguments, **keywords)
        finally:
            spent.append(time.process_time() - started)

    return call


def one_of_pycma(strategy, rng):
    started = time.process_time()
    asked = strategy.ask()
    strategy.tell(asked, list(rng.random(len(asked))))
    return time.process_time() - started


def main():
    for name, updates in UPDATES.items():
        problem, config, rollouts = experiment(name).built_problem(), SPRL(), []
        problem.task.evaluate = clocked(rollouts, problem.task.evaluate)
        training = config.start(problem, streams_of(0))
        training.advance()  # fills the buffer
        dimension, rng = problem.task.theta_space.dimension, np.random.default_rng(0)
        options = {"popsize": config.n_samples, "verbose": -9, "seed": 1}
        strategy = cma.CMAEvolutionStrategy(np.zeros(dimension), 1.0, options)
        ours, theirs = 0.0, 0.0
        for _ in range(updates):
            rollouts.clear()
            started = time.process_time()
            training.advance()
            ours += time.process_time() - started - sum(rollouts)
            theirs += one_of_pycma(strategy, rng)
        ours, theirs = (1000 * seconds / updates for seconds in (ours, theirs))
        print(
            f"{name}: an update of {config.n_samples} x {dimension} takes {ours:.2f} CPU ms, "
            f"pycma's {theirs:.2f}: {ours / theirs:.2f} times, at most {LIMIT} wanted"
        )


if __name__ == "__main__":
    main()
