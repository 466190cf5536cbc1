"""The reacher without physics: a rectangle moves over the table, for tests and sweeps.

The geometry is that of the MuJoCo task, but an action moves the gripper at once, and contact is the
overlap of two rectangles. A rollout costs a seventieth of the time. This is not the paper's task;
docs/reproduction.md says how far the two agree.
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

FULL_STEP = 0.034  # metres that a full action moves the gripper in MuJoCo
START = np.array([1.2997, 1.1196, 0.4807])  # where the gripper settles in MuJoCo
HALF_SIZE = np.array([0.0135, 0.0149])  # half the size of the closed fingers in x and y
MARGIN = 0.001  # distance below which there is contact, as in the Fetch model
CHECKS = 5  # points on a step among which the first one in contact is looked for
ACROSS = np.stack([-DIRECTIONS[:, 1], DIRECTIONS[:, 0]], axis=1)  # normal to DIRECTIONS
(NEAR_X, _), (HALF_WALL, _) = WALLS[0]
LEFT = NEAR_X + HALF_WALL + HALF_SIZE[0]  # smallest x of the gripper between the walls
RIGHT = WALLS[1][0][0] - HALF_WALL - HALF_SIZE[0]  # largest x
FRONT = WALLS[0][0][1] - WALLS[0][1][1]  # y at which the two side walls end
BACK = WALLS[2][0][1] - WALLS[2][1][1] - HALF_SIZE[1]  # largest y of the gripper


class KinematicReacher(ReacherTask):
    """The reacher as a rectangle that moves over the table; it needs no MuJoCo."""

    def arms(self, contexts: Array) -> "KinematicArms":
        """Grippers at the start, one per row of `contexts` (n, 2)."""
        return KinematicArms(contexts)


class KinematicArms:
    """n grippers, each among its own obstacles; see `Arms`."""

    grips: Array
    """(n, 3): positions of the grippers, in metres."""
    velocities: Array
    """(n, 2): velocities of the grippers over the table, in m/s."""
    touching: BoolArray
    """(n,): True where the gripper touches an obstacle."""

    def __init__(self, contexts: Array) -> None:
        n = len(contexts)
        self._regions = ContactRegions(*obstacles(contexts))
        self.grips = np.tile(START, (n, 1))
        self.velocities = np.zeros((n, 2))
        self.touching = np.zeros(n, dtype=bool)

    def move(self, rows: IntArray, actions: Array) -> None:
        """Move the grippers `rows` (k,) by one step with `actions` (k, 2) in [-1, 1].

        Contact is tested at the end of the step. A gripper that touches an obstacle there stays
        at the first of CHECKS points on the step where it touches one.
        """
        before = self.grips[rows, :2]
        after = before + FULL_STEP * actions
        between_walls = before[:, 1] > FRONT
        np.copyto(after[:, 0], np.clip(after[:, 0], LEFT, RIGHT), where=between_walls)
        np.minimum(after[:, 1], BACK, out=after[:, 1])
        hit = self._regions.overlap(rows, after)
        if hit.any():
            hit_rows = rows[hit]
            fractions = np.arange(1, CHECKS + 1)[:, None, None] / CHECKS
            way = before[hit] + fractions * (after[hit] - before[hit])  # (CHECKS, k, 2)
            first = np.array([self._regions.overlap(hit_rows, points) for points in way]).argmax(0)
            after[hit] = way[first, np.arange(len(hit_rows))]
        self.velocities[rows] = (after - before) / STEP_SECONDS
        self.grips[rows, :2] = after
        z = self.grips[rows, 2]
        self.grips[rows, 2] = z + FULL_STEP * lift(z)
        self.touching[rows] = hit

    def restart(self, rows: IntArray) -> None:
        """Put the grippers `rows` (k,) back to the start."""
        self.grips[rows], self.velocities[rows], self.touching[rows] = START, 0.0, False

    def place(self, rows: IntArray, contexts: Array) -> None:
        """Give the grippers `rows` (k,) the obstacles of `contexts` (k, 2)."""
        self._regions.place(rows, ContactRegions(*obstacles(contexts)))


class ContactRegions:
    """Where grippers touch obstacles with `centres` (n, 4, 2) and `half_lengths` (n, 4).

    It keeps, for every obstacle, how far along each axis a gripper's centre may be for a contact.
    """

    def __init__(self, centres: Array, half_lengths: Array) -> None:
        extent = np.abs(DIRECTIONS) * half_lengths[..., None] + np.abs(ACROSS) * OBSTACLE_HALF_WIDTH
        self._centres = centres
        self._xy = extent + HALF_SIZE + MARGIN  # (n, 4, 2): along x and y
        self._along = half_lengths + np.abs(DIRECTIONS) @ HALF_SIZE + MARGIN  # (n, 4)
        self._across = OBSTACLE_HALF_WIDTH + np.abs(ACROSS) @ HALF_SIZE + MARGIN  # (4,)

    def place(self, rows: IntArray, others: "ContactRegions") -> None:
        """Replace the obstacles of `rows` (k,) by those of `others`, which has k rows."""
        self._centres[rows] = others._centres
        self._xy[rows] = others._xy
        self._along[rows] = others._along

    def overlap(self, rows: IntArray, points: Array) -> BoolArray:
        """(k,): which of the grippers `rows` (k,), at `points` (k, 2), touch an obstacle of theirs.

        Two rectangles do not overlap if their projections on one of their four axes do not.
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
