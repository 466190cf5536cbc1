"""The reacher without physics: a rectangle moves over the table, for tests and sweeps.

The same geometry as in MuJoCo, but an action moves the gripper by a fixed distance at once, and
contact is the overlap of rectangles. It costs a two-hundredth and is not the paper's task; how
far both agree is in docs/reproduction.md.
"""

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.tasks.reacher import (
    DIRECTIONS,
    HEIGHT,
    OBSTACLE_HALF_WIDTH,
    STEP_SECONDS,
    WALLS,
    ReacherTask,
    obstacles,
)

FULL_STEP = 0.034  # what a full action moves in MuJoCo
LIFT = 2.0  # action towards HEIGHT per metre below it
START = np.array([1.2997, 1.1196, 0.4807])  # where the arm of MuJoCo settles
HALF_SIZE = np.array([0.0135, 0.0149])  # of the closed fingers in x and y
MARGIN = 0.001  # closer than this counts as contact, as in Fetch's model
CHECKS = 5  # of contact within a step, as many as MuJoCo has substeps
ACROSS = np.stack([-DIRECTIONS[:, 1], DIRECTIONS[:, 0]], axis=1)
(NEAR_X, _), (HALF_WALL, _) = WALLS[0]
LEFT = NEAR_X + HALF_WALL + HALF_SIZE[0]
RIGHT = WALLS[1][0][0] - HALF_WALL - HALF_SIZE[0]
BACK = WALLS[2][0][1] - WALLS[2][1][1] - HALF_SIZE[1]


class KinematicReacher(ReacherTask):
    """The reacher as a moving rectangle; needs no MuJoCo."""

    def arms(self, contexts: Array) -> "Points":
        return Points(contexts)


class Points:
    """n grippers, each among its own obstacles."""

    def __init__(self, contexts: Array) -> None:
        n = len(contexts)
        self._centres, self._half_lengths = obstacles(contexts)
        self.grips = np.tile(START, (n, 1))
        self.velocities = np.zeros((n, 2))
        self.touching: BoolArray = np.zeros(n, dtype=bool)

    def move(self, rows: IntArray, actions: Array) -> None:
        before = self.grips[rows, :2]
        after = before + FULL_STEP * actions
        indoors = before[:, 1] > WALLS[0][0][1] - WALLS[0][1][1]  # the walls end at the front
        after[:, 0] = np.where(indoors, np.clip(after[:, 0], LEFT, RIGHT), after[:, 0])
        after[:, 1] = np.minimum(after[:, 1], BACK)
        fractions = np.arange(1, CHECKS + 1)[:, None, None] / CHECKS
        way = before + fractions * (after - before)  # (CHECKS, k, 2)
        hit = overlap(way, self._centres[rows], self._half_lengths[rows])
        touching = hit.any(axis=0)
        last = np.where(touching, hit.argmax(axis=0), CHECKS - 1)
        self.grips[rows, :2] = way[last, np.arange(len(rows))]
        z = self.grips[rows, 2]
        self.grips[rows, 2] = z + FULL_STEP * np.clip(LIFT * (HEIGHT - z), -1.0, 1.0)
        self.velocities[rows] = (self.grips[rows, :2] - before) / STEP_SECONDS
        self.touching[rows] = touching

    def restart(self, rows: IntArray) -> None:
        self.grips[rows], self.velocities[rows], self.touching[rows] = START, 0.0, False


def overlap(points: Array, centres: Array, half_lengths: Array) -> BoolArray:
    """(t, n): which grippers at `points` (t, n, 2) are within MARGIN of one of their obstacles.

    `centres` (n, 4, 2), `half_lengths` (n, 4). Two rectangles are apart if they are along one of
    the four axes.
    """
    offset = points[:, :, None] - centres  # (t, n, 4, 2)
    gap = np.abs(offset) - HALF_SIZE - MARGIN
    gap -= np.abs(DIRECTIONS) * half_lengths[..., None] + np.abs(ACROSS) * OBSTACLE_HALF_WIDTH
    along = np.abs((offset * DIRECTIONS).sum(-1)) - np.abs(DIRECTIONS) @ HALF_SIZE - half_lengths
    across = np.abs((offset * ACROSS).sum(-1)) - np.abs(ACROSS) @ HALF_SIZE - OBSTACLE_HALF_WIDTH
    apart = (gap > 0).any(-1) | (along > MARGIN) | (across > MARGIN)
    return ~apart.all(axis=-1)
