"""Your own experiment, with its own page: three contexts, a task that can be drawn.

A ball is thrown over a wall into a bucket. Contexts: the bucket's distance and radius, and the
height of the wall halfway. From the folder of this file:

    selfpaced run own_experiment:THROW --seeds 5
    selfpaced scene own_experiment:THROW --out runs
    selfpaced report runs --import own_experiment:THROW --out throw.html
"""

import numpy as np

from selfpaced import CREPS, SPRL, Box, Experiment, Gaussian, Outcomes, Problem

G = 9.81


class Throw:
    """Contexts (n, 3): distance, wall, radius; thetas (n, 2): speed and angle."""

    context_space = Box([2.0, 0.0, 0.05], [12.0, 3.0, 2.0])
    theta_space = Box([0.0, 0.1], [15.0, 1.5])
    context_names = ("distance (m)", "wall (m)", "radius (m)")

    def evaluate(self, contexts, thetas, rng):
        distance, wall, radius = contexts.T
        speed, angle = thetas.T
        landing = speed**2 * np.sin(2 * angle) / G
        over = height(distance / 2, speed, angle) > wall
        miss = np.abs(landing - distance)
        hit = over & (miss < radius)
        return Outcomes(hit * (1.0 - miss / radius), hit.astype(float))

    def trajectories(self, contexts, thetas, rng):
        """(n, 40, 2): the ball's way until it lands."""
        speed, angle = thetas[:, :1], thetas[:, 1:]
        x = np.linspace(0.0, 1.0, 40) * speed**2 * np.sin(2 * angle) / G
        return np.stack([x, height(x, speed, angle)], axis=2)

    def draw(self, context, trajectories, axes):
        distance, wall, radius = context
        axes.plot([distance / 2] * 2, [0, wall], color="0.3", linewidth=4)
        axes.plot([distance - radius, distance + radius], [0, 0], color="crimson", linewidth=5)
        for path in trajectories:
            axes.plot(*path.T, linewidth=1)
        axes.set(xlim=(0, 14), ylim=(-0.3, 6))


def height(x, speed, angle):
    return x * np.tan(angle) - G * x**2 / (2 * (speed * np.cos(angle)) ** 2 + 1e-12)


def problem():
    return Problem(Throw(), target=Gaussian([10.0, 2.0, 0.15], np.diag([0.05, 0.02, 4e-4])))


THROW = Experiment(
    name="throw",
    title="Throw over a wall",
    problem=problem,
    algorithms={"sprl": SPRL(), "creps": CREPS()},
    iterations=150,
)
