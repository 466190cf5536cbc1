"""Whole numbers and categories as contexts: a grid world of some size on some terrain.

python examples/grid_world.py

The function that scores a walk gets natural values, such as {"size": 5, "terrain": "ice"}. The
policy is linear in the size, over each terrain.
"""

import numpy as np

from selfpaced import (
    SPRL,
    Box,
    Categorical,
    Categories,
    FunctionTask,
    Independent,
    Integers,
    Problem,
    Product,
    Uniform,
    train,
)

WORLDS = Product(size=Integers(2, 9), terrain=Categories("grass", "sand", "ice"))
STEP = {"grass": 1.0, "sand": 0.5, "ice": 1.6}  # how far one unit of effort goes
# The worlds that count are large, and seldom of grass.
TARGET = Independent([Uniform(Integers(7, 9)), Categorical([0.2, 0.4, 0.4])])


def walk(worlds, thetas):
    """Rewards and successes of n walks from one corner to the other: effort in x and in y."""
    steps = np.array([STEP[world["terrain"]] for world in worlds])
    sizes = np.array([world["size"] for world in worlds], dtype=float)
    miss = np.abs(thetas * steps[:, None] - sizes[:, None]).max(axis=1)
    return -miss / sizes, miss < 0.5


problem = Problem(FunctionTask(walk, WORLDS, Box([0.0, 0.0], [20.0, 20.0])), TARGET)


def main(iterations=100):
    """Print the efforts that were learned for one world, and return the success rate."""
    run = train(problem, SPRL(), seed=0, iterations=iterations)
    world = {"size": 8, "terrain": "sand"}
    print(f"{run.success:.0%} on the target; {world}: {run.policy.mean(WORLDS.encode(world))}")
    return run.success


if __name__ == "__main__":
    main()
