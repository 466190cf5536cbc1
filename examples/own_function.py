"""Your own task: a reward function, a box of contexts, a box of parameters, a target.

A ball is thrown into a bucket. The context is the bucket's distance and radius; theta is the
throw's speed and angle. The target is a small bucket far away: most first throws miss it by
metres, so SPRL starts with large buckets nearby.
"""

import numpy as np

from selfpaced import CREPS, SPRL, Box, FunctionTask, Gaussian, Problem, train


def throw(contexts, thetas):
    """Rewards and successes of n throws: contexts (n, 2), thetas (n, 2)."""
    distance, radius = contexts.T
    speed, angle = thetas.T
    miss = np.abs(speed**2 * np.sin(2 * angle) / 9.81 - distance)
    hit = miss < radius
    return hit * (1.0 - miss / radius), hit  # nothing at all for a miss


task = FunctionTask(
    throw,
    context_space=Box(low=[2.0, 0.02], high=[12.0, 2.0]),
    theta_space=Box(low=[0.0, 0.0], high=[15.0, 1.5]),  # speed in m/s, angle in rad
    context_names=("distance in m", "radius in m"),  # for figures
)
problem = Problem(task, target=Gaussian(mean=[10.0, 0.05], covariance=np.diag([0.05, 1e-4])))

if __name__ == "__main__":
    for algorithm in (SPRL(), CREPS()):
        run = train(problem, algorithm, seed=0, iterations=200)
        print(f"{type(algorithm).__name__:6} {run.success:5.0%} on the target")
        print(f"       a bucket at 10 m: speed, angle = {run.policy.mean([10.0, 0.05]).round(3)}")
