"""Functions that score one row, well or badly.

They are apart from the tests, because every worker imports them, and pytest takes its time.
"""

import os
import signal
import time
from pathlib import Path

import numpy as np


def plain(context, theta):
    return float(context.sum() - theta[0] ** 2)


def scored(context, theta, rng):
    reward = float(context[0] + rng.normal())
    return reward, reward > 0.5


def picky(context, theta):
    if context[0] > 0.9:
        raise ZeroDivisionError("too far")
    return 0.0


def fragile(context, theta):
    """Kills its worker as often as the file named in the environment says."""
    counter = Path(os.environ["SELFPACED_TEST_DEATHS"])
    left = int(counter.read_text())
    if left and context[0] > 0.5:
        counter.write_text(str(left - 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return float(context[0])


def sleeper(context, theta):
    if context[0] > 0.9:
        time.sleep(1e6)
    return float(context[0])


def forks_and_dies(context, theta):
    """Its worker dies and leaves a child behind, which keeps the pipe open."""
    if context[0] > 0.9:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        os._exit(3)
    return float(context[0])


def forks_and_returns(context, theta):
    os.fork()
    return float(context[0])


def hungry(context, theta):
    return float(np.ones(2**29)[0])  # 4 GB


def unknown(context, theta):
    return (np.nan, 1.0) if context[0] > 0.9 else (float(context[0]), 1.0)
