"""A list of recorded situations as the target: forty positions of a ball that a robot shall catch.

python examples/recorded_positions.py

The positions were recorded in two corners of a room. Nobody knows their distribution; the list is
all there is. CURROT and the mastery rule need nothing else.
"""

import numpy as np

from selfpaced import CREPS, SPRL, Box, CurrOT, Empirical, FunctionTask, Problem, train

ROOM, HANDS = Box([0.0, 0.0], [4.0, 3.0]), Box([-1.0, -1.0], [5.0, 4.0])  # in m


def recorded_positions():
    """(40, 2): what a camera has seen."""
    rng = np.random.default_rng(7)
    corners = np.repeat([[0.6, 2.5], [3.5, 0.5]], 20, axis=0)
    return ROOM.snapped(np.clip(corners + 0.15 * rng.standard_normal((40, 2)), 0.0, [4.0, 3.0]))


def catch(contexts, thetas):
    """Rewards and successes: the hand must be within 12 cm of the ball."""
    miss = np.linalg.norm(thetas - contexts, axis=1)
    return np.exp(-2.0 * miss), miss < 0.12


problem = Problem(FunctionTask(catch, ROOM, HANDS), target=Empirical(recorded_positions()))


def main(iterations=80):
    """Print and return the success rates on the recorded positions."""
    rates = {}
    for name, algorithm in (("sprl", SPRL()), ("currot", CREPS(teacher=CurrOT()))):
        rates[name] = train(problem, algorithm, seed=0, iterations=iterations).success
        print(f"{name:7} {rates[name]:.0%} of the recorded positions")
    return rates


if __name__ == "__main__":
    main()
