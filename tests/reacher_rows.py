"""Rows for the reacher that do not all crash at once."""

import numpy as np

from selfpaced.tasks.reacher import BASES, BASIS, STEPS, ReacherTask


def purposeful(n, seed=0):
    """Contexts and thetas on the way around the obstacles, more or less: all ends occur."""
    rng = np.random.default_rng(seed)
    contexts = ReacherTask.context_space.uniform(n, rng)
    contexts[::2] *= 0.3  # a wide corridor for every other row
    corners = np.array([[1.30, 1.12], [1.36, 0.8], [1.38, 0.5], [1.28, 0.32]])
    path = np.stack([np.interp(np.linspace(0, 3, STEPS + 1), range(4), x) for x in corners.T], 1)
    theta = np.linalg.lstsq(BASIS, np.diff(path, axis=0) / 0.034, rcond=None)[0]
    return contexts, theta.ravel() + rng.normal(scale=0.05, size=(n, 2 * BASES))
