"""The reacher without physics: a rectangle moves over the table, for tests and sweeps.

The same geometry as in MuJoCo, but an action moves the gripper by a fixed distance at once, and
contact is the overlap of rectangles. It costs a seventieth and is not the paper's task; how
far both agree is in docs/reproduction.md.
"""

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.tasks.reacher import (
    DIRECTIONS,
    OBSTACLE_HALF_WIDTH,
    STEP_SECONDS,
    WALLS,
    ReacherTask,
    lift,
    obstacles,
)

FULL_STEP = 0.034  # what a full action moves in MuJoCo
START = np.array([1.2997, 1.1196, 0.4807])  # where the arm of MuJoCo settles
HALF_SIZE = np.array([0.0135, 0.0149])  # of the closed fingers in x and y
MARGIN = 0.001  # closer than this counts as contact, as in Fetch's model
CHECKS = 5  # of where on a step a contact began; whether there is one is tested at its end
ACROSS = np.stack([-DIRECTIONS[:, 1], DIRECTIONS[:, 0]], axis=1)
(NEAR_X, _), (HALF_WALL, _) = WALLS[0]
LEFT = NEAR_X + HALF_WALL + HALF_SIZE[0]
RIGHT = WALLS[1][0][0] - HALF_WALL - HALF_SIZE[0]
FRONT = WALLS[0][0][1] - WALLS[0][1][1]  # where the walls end
BACK = WALLS[2][0][1] - WALLS[2][1][1] - HALF_SIZE[1]


class KinematicReacher(ReacherTask):
    """The reacher as a moving rectangle; needs no MuJoCo."""

    def arms(self, contexts: Array) -> "Points":
        return Points(contexts)


class Points:
    """n grippers, each among its own obstacles."""

    def __init__(self, contexts: Array) -> None:
        n = len(contexts)
        self._reaches = Reaches(*obstacles(contexts))
        self.grips = np.tile(START, (n, 1))
        self.velocities = np.zeros((n, 2))
        self.touching: BoolArray = np.zeros(n, dtype=bool)

    def move(self, rows: IntArray, actions: Array) -> None:
        before = self.grips[rows, :2]
        after = before + FULL_STEP * actions
        indoors = before[:, 1] > FRONT
        np.copyto(after[:, 0], np.clip(after[:, 0], LEFT, RIGHT), where=indoors)
        np.minimum(after[:, 1], BACK, out=after[:, 1])
        hit = self._reaches.overlap(rows, after)
        if hit.any():  # where on the way was that?
            struck = rows[hit]
            fractions = np.arange(1, CHECKS + 1)[:, None, None] / CHECKS
            way = before[hit] + fractions * (after[hit] - before[hit])  # (CHECKS, k, 2)
            first = np.array([self._reaches.overlap(struck, points) for points in way]).argmax(0)
            after[hit] = way[first, np.arange(len(struck))]
        self.velocities[rows] = (after - before) / STEP_SECONDS
        self.grips[rows, :2] = after
        z = self.grips[rows, 2]
        self.grips[rows, 2] = z + FULL_STEP * lift(z)
        self.touching[rows] = hit

    def restart(self, rows: IntArray) -> None:
        self.grips[rows], self.velocities[rows], self.touching[rows] = START, 0.0, False

    def place(self, rows: IntArray, contexts: Array) -> None:
        self._reaches.place(rows, Reaches(*obstacles(contexts)))


class Reaches:
    """How far from obstacles with `centres` (n, 4, 2), `half_lengths` (n, 4) contact begins."""

    def __init__(self, centres: Array, half_lengths: Array) -> None:
        extent = np.abs(DIRECTIONS) * half_lengths[..., None] + np.abs(ACROSS) * OBSTACLE_HALF_WIDTH
        self._centres = centres
        self._xy = extent + HALF_SIZE + MARGIN  # (n, 4, 2), along x and y
        self._along = half_lengths + np.abs(DIRECTIONS) @ HALF_SIZE + MARGIN  # (n, 4)
        self._across = OBSTACLE_HALF_WIDTH + np.abs(ACROSS) @ HALF_SIZE + MARGIN  # (4,)

    def place(self, rows: IntArray, others: "Reaches") -> None:
        """Take the obstacles of `rows` (k,) from `others`."""
        self._centres[rows], self._xy[rows], self._along[rows] = (
            *(others._centres, others._xy, others._along),
        )

    def overlap(self, rows: IntArray, points: Array) -> BoolArray:
        """(k,): which grippers `rows` (k,), at `points` (k, 2), touch one of their obstacles.

        Two rectangles are apart if they are along one of their four axes.
        """
        offset = points[:, None] - self._centres[rows]  # (k, 4, 2)
        x, y = np.abs(offset[..., 0]), np.abs(offset[..., 1])
        limits = self._xy[rows]
        together = (x <= limits[..., 0]) & (y <= limits[..., 1])
        if not together.any():
            return np.zeros(len(rows), dtype=bool)
        along = np.abs(offset[..., 0] * DIRECTIONS[:, 0] + offset[..., 1] * DIRECTIONS[:, 1])
        across = np.abs(offset[..., 0] * ACROSS[:, 0] + offset[..., 1] * ACROSS[:, 1])
        together &= (along <= self._along[rows]) & (across <= self._across)
        return np.logical_or.reduce(together, axis=1)
