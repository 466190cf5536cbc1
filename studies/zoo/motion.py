"""Physics and geometry that several tasks of the zoo share."""

import numpy as np

from selfpaced.maths.arrays import Array


def clearance(path: Array, centre: Array) -> Array:
    """(n,): smallest distance of the polygon `path` (n, k, 2) to `centre` (n, 2)."""
    start, end = path[:, :-1], path[:, 1:]
    along = end - start
    to_centre = centre[:, None] - start
    share = (to_centre * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-12)
    nearest = start + np.clip(share, 0.0, 1.0)[..., None] * along
    return np.asarray(np.linalg.norm(nearest - centre[:, None], axis=-1).min(axis=1))


def length(path: Array) -> Array:
    """(n,): the length of `path` (n, k, 2)."""
    return np.asarray(np.linalg.norm(np.diff(path, axis=1), axis=-1).sum(axis=1))


def pushed(accelerations: Array, interval: float, steps: int) -> tuple[Array, Array]:
    """(n, k * steps) each: positions and speeds of carts from rest, pushed in k intervals.

    `accelerations` are (n, k), constant over intervals of `interval` seconds, cut into `steps`.
    """
    dt = interval / steps
    a = np.repeat(accelerations, steps, axis=1)
    speeds = np.cumsum(a * dt, axis=1)
    return np.cumsum((speeds - a * dt / 2) * dt, axis=1), speeds


def first_crossing(positions: Array, speeds: Array, line: float, dt: float) -> tuple[Array, Array]:
    """(n,) each: when `positions` (n, t) first pass `line`, nan if never, and how fast they are."""
    beyond = positions >= line
    at = beyond.argmax(axis=1)
    rows = np.arange(len(positions))
    before = np.where(at > 0, positions[rows, at - 1], 0.0)
    share = (line - before) / np.maximum(positions[rows, at] - before, 1e-12)
    time = np.where(beyond.any(axis=1), (at + share) * dt, np.nan)
    return time, speeds[rows, at]
