"""A uniform target with an obstacle in the middle: some goals cannot be reached.

python examples/obstacle.py

A ball is pushed to a goal on a line, with an obstacle from -0.3 to 0.3. In the first problem the
space says which goals are feasible. In the second nobody knows: the simulator refuses goals inside
the obstacle, and the curriculum learns to leave them out.
"""

import numpy as np

from selfpaced import SPRL, Box, Constrained, FunctionTask, Problem, Uniform, train

LINE, PUSHES = Box([-1.0], [1.0]), Box([-3.0], [3.0])
TARGET = Uniform(low=[-1.0], high=[1.0])


def is_free(contexts):
    """True for each goal outside of the obstacle."""
    return np.abs(contexts[:, 0]) > 0.3


def push(contexts, thetas):
    """Rewards and successes: the ball rolls half as far as it is pushed."""
    miss = np.abs(thetas[:, 0] / 2 - contexts[:, 0])
    return -miss, miss < 0.05


def refusing_push(contexts, thetas):
    """As `push`; the third value says which goals the simulator refuses."""
    return *push(contexts, thetas), ~is_free(contexts)


def main(iterations=60):
    """Print and return the success rates on the feasible goals of the target."""
    known = Problem(FunctionTask(push, Constrained(LINE, is_free), PUSHES), TARGET)
    unknown = Problem(FunctionTask(refusing_push, LINE, PUSHES), TARGET)
    rates = []
    for name, problem in (("known", known), ("refused", unknown)):
        rates.append(train(problem, SPRL(), seed=0, iterations=iterations).success)
        print(f"obstacle {name}: {rates[-1]:.0%} of the feasible goals")
    return rates


if __name__ == "__main__":
    main()
