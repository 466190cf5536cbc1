"""Goals that cannot be reached: an obstacle in the middle, and a target half of which is a wall.

python examples/obstacle.py

A ball is pushed to a goal on a line, with an obstacle from -0.3 to 0.3. In the first problem the
space says which goals are feasible. In the second nobody knows: the simulator refuses goals inside
the obstacle, and the curriculum learns to leave them out.

In the third problem goals lie on a square, and the half of them to the right of x = 0 is refused.
After a refusal no goal within 5% of each width of it is tried again; the example counts that.
"""

import numpy as np

from selfpaced import SPRL, Box, Constrained, FunctionTask, Problem, Uniform, train
from selfpaced.maths.randomness import streams_of

LINE, PUSHES = Box([-1.0], [1.0]), Box([-3.0], [3.0])
TARGET = Uniform(low=[-1.0], high=[1.0])
SQUARE, FORCES = Box([-1.0, -1.0], [1.0, 1.0]), Box([-3.0, -3.0], [3.0, 3.0])


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


class HalfWalled:
    """A simulator that refuses goals to the right of x = 0 and counts what is tried near them."""

    def __init__(self):
        self.refused = np.zeros((0, 2))
        self.near = 0  # goals that were tried within 5% of each width of a refused one

    def __call__(self, contexts, thetas):
        """Rewards, successes, and which goals are refused."""
        apart = np.abs(contexts[:, None] - self.refused) / SQUARE.width
        self.near += int((apart <= 0.05).all(axis=2).any(axis=1).sum())
        miss = np.linalg.norm(thetas / 2 - contexts, axis=1)
        walled = contexts[:, 0] > 0.0
        self.refused = np.concatenate([self.refused, contexts[walled]])
        return -miss, miss < 0.1, walled


def half_feasible(seed, iterations):
    """Refused goals, goals that were tried near them, and success on the feasible half."""
    simulator, target = HalfWalled(), Uniform(SQUARE)
    problem = Problem(FunctionTask(simulator, SQUARE, FORCES), target)
    training = SPRL().start(problem, streams_of(seed))
    for _ in range(iterations):
        training.advance()
    refused, near = len(simulator.refused), simulator.near
    rng = np.random.default_rng([seed, 1])
    outcomes = training.measure(target.sample(1000, rng), rng)  # leaves out what is refused
    return refused, near, len(outcomes.successes), float(outcomes.successes.mean())


def main(iterations=60, seeds=(0,)):
    """Print and return the success rates on the feasible goals of the targets."""
    known = Problem(FunctionTask(push, Constrained(LINE, is_free), PUSHES), TARGET)
    unknown = Problem(FunctionTask(refusing_push, LINE, PUSHES), TARGET)
    rates = []
    for name, problem in (("known", known), ("refused", unknown)):
        rates.append(train(problem, SPRL(), seed=0, iterations=iterations).success)
        print(f"obstacle {name}: {rates[-1]:.0%} of the feasible goals")
    for seed in seeds:
        refused, near, feasible, rate = half_feasible(seed, 2 * iterations)
        print(
            f"half walled, seed {seed}: {refused} goals refused, {near} tried near a refused one, "
            f"{rate:.0%} of {feasible} feasible goals of 1,000"
        )
        rates.append(rate)
    return rates


if __name__ == "__main__":
    main(seeds=range(5))
