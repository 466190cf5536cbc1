"""A task with one context, the experiment that learns it, and a learner with small batches."""

import numpy as np

from selfpaced import CREPS, SPRL, Box, Experiment, Gaussian, Outcomes, Problem
from selfpaced.tasks.batch import checked_batch
from selfpaced_stairs.stairs import STAIRS


class Dial:
    """A dial must be turned to the angle that the context asks for, within 0.1 rad."""

    context_space = Box([-3.0], [3.0])
    theta_space = Box([-4.0], [4.0])
    context_names = ("angle (rad)",)

    def evaluate(self, contexts, thetas, rng):
        """Rewards and successes of n rollouts: contexts (n, 1), thetas (n, 1)."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        miss = np.abs(thetas - contexts)[:, 0]
        return Outcomes(np.exp(-miss), (miss < 0.1).astype(float))


def dial_problem():
    """The dial, turned far to the right."""
    return Problem(Dial(), Gaussian([2.8], [[1e-3]]))


SMALL_BATCHES = SPRL(n_samples=20)
DIAL_FAR = Experiment(
    name="dial-far",
    title="A dial, turned far",
    problem=dial_problem,
    algorithms={"sprl": SPRL(n_samples=20), "stairs": CREPS(n_samples=20, teacher=STAIRS)},
    iterations=40,
)
