"""Experiments for tests: tiny, and some that misbehave. Importable, so that workers find them."""

import dataclasses
import os
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np

from selfpaced import (
    CREPS,
    SPRL,
    Alpha,
    Box,
    Experiment,
    FractionOfGain,
    FunctionTask,
    Gaussian,
    Problem,
)

BOXES = Box([-1.0, -1.0], [1.0, 1.0]), Box([-2.0, -2.0], [2.0, 2.0])
TARGET = Gaussian([0.7, 0.7], 0.01 * np.eye(2))
ALGORITHMS = {
    "sprl": SPRL(pacing=Alpha(schedule=FractionOfGain()), n_samples=10, buffer_size=3),
    "creps": CREPS(n_samples=10, buffer_size=3),
}


def bowl(contexts, thetas):
    miss = np.sum((thetas - contexts) ** 2, axis=1)
    return -miss, miss < 0.01


def dies(counter, how, contexts, thetas):
    """Kills its process as often as the file `counter` says, then behaves."""
    left = int(counter.read_text())
    if left > 0:
        counter.write_text(str(left - 1))
        os.kill(os.getpid(), signal.Signals[how])
    return bowl(contexts, thetas)


def mortal(counter, how="SIGKILL"):
    return make("dies", partial(dies, Path(counter), how))


def leaves(marker, contexts, thetas):
    """Once, forks a child that outlives the worker, and kills the worker."""
    if not marker.exists():
        child = os.fork()
        if child == 0:
            time.sleep(120)
            os._exit(0)
        marker.write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(contexts, thetas)


def leaving(marker):
    return make("leaves", partial(leaves, Path(marker)), iterations=2)


def loses(contexts, thetas):
    raise BrokenPipeError("simulator lost")


def raises(contexts, thetas):
    raise ArithmeticError("<script>alert(1)</script>")


def problem(function):
    return Problem(FunctionTask(function, *BOXES), TARGET)


def make(name, function, iterations=20):
    return Experiment(
        name=name,
        title=name,
        problem=partial(problem, function),
        algorithms=ALGORITHMS,
        iterations=iterations,
        measure_rollouts=20,
        final_rollouts=30,
    )


def rewards_of_bowl(contexts, thetas):
    return bowl(contexts, thetas)[0]


BOWL = make("bowl", bowl)
BLIND = dataclasses.replace(make("blind", rewards_of_bowl), algorithms={"sprl": SPRL()})
RAISES = make("raises", raises)
LOST = make("lost", loses)
