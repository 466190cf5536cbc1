"""The seven tasks of the zoo on which the rule was developed."""

import numpy as np

from selfpaced import Box, Gaussian
from selfpaced.maths.arrays import Array
from studies.zoo.motion import clearance, first_crossing, length, pushed
from studies.zoo.zoo_task import ZooTask

GRAVITY = 9.81
WALL = 2.0  # height of the wall that a throw must clear, metres
DOORS = -0.6, 1.5  # where the doors of `doors` are
AIM = np.random.default_rng(7).normal(size=(2, 6)) * 0.5  # what `noisy` asks for, by position
MIX = np.random.default_rng(8).normal(size=(6, 24)) / np.sqrt(24)  # from 24 parameters to 6 places


def throw(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Throw over a wall into a bin: contexts are its distance and half-width."""
    distance, size = contexts.T
    angle, speed = thetas.T
    vx, vy = speed * np.cos(angle), speed * np.sin(angle)
    time = distance / 2 / np.maximum(vx, 1e-3)
    clears = vy * time - GRAVITY / 2 * time**2 > WALL
    miss = np.abs(2 * vx * vy / GRAVITY - distance)
    return np.where(clears, np.exp(-miss / size), 0.0), clears & (miss < size)


def throw_solution(contexts: Array) -> Array:
    """At one radian, as fast as it must be."""
    speed = np.sqrt(contexts[:, 0] * GRAVITY / np.sin(2.0))
    return np.column_stack([np.ones(len(contexts)), speed])


def detour(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Reach a point behind a disc: contexts are its radius, its offset and the tolerance."""
    radius, offset, tolerance = contexts.T
    path = _detour_path(thetas)
    gap = clearance(path, np.column_stack([np.full(len(offset), 2.0), offset])) - radius
    miss = np.linalg.norm(path[:, -1] - [4.0, 0.0], axis=1)
    rewards = -0.3 * length(path) - 2 * np.maximum(-gap, 0.0) - miss
    return rewards, (gap >= 0.0) & (miss < tolerance)


def _detour_path(thetas: Array) -> Array:
    straight = np.column_stack([0.8 * np.arange(6), np.zeros(6)])
    points = straight[1:] + thetas.reshape(-1, 5, 2)
    return np.concatenate([np.zeros((len(thetas), 1, 2)), points], axis=1)


def detour_solution(contexts: Array) -> Array:
    """Around it, on the side with more room."""
    low = -(contexts[:, 0] - contexts[:, 1]) - 0.25
    y = low[:, None] * np.array([0.9, 1.0, 1.0, 0.9, 0.0])
    return np.stack([np.broadcast_to([0.0, 0, 0, 0, 0], y.shape), y], axis=-1).reshape(-1, 10)


def doors(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """To the other side of a wall with two doors: contexts are their half-widths and a tolerance.

    The near door is shorter, and closed at the target.
    """
    near, far, tolerance = contexts.T
    start = np.broadcast_to([0.0, 1.0], (len(thetas), 1, 2))
    path = np.concatenate([start, thetas.reshape(-1, 3, 2)], axis=1)
    y0, y1 = path[:, :-1, 1], path[:, 1:, 1]
    crosses = (y0 > 0.0) != (y1 > 0.0)
    share = y0 / np.where(crosses, y0 - y1, 1.0)
    x = path[:, :-1, 0] + share * (path[:, 1:, 0] - path[:, :-1, 0])
    through = np.abs(x - DOORS[0]) < near[:, None]
    through |= np.abs(x - DOORS[1]) < far[:, None]
    crashed = (crosses & ~through).any(axis=1)
    miss = np.linalg.norm(path[:, -1] - [0.0, -1.0], axis=1)
    rewards = -0.2 * length(path) - crashed - np.minimum(miss, 2.0)
    return rewards, ~crashed & (miss < tolerance)


def doors_solution(contexts: Array) -> Array:
    """Through the far door."""
    way = np.array([DOORS[1], 0.3, DOORS[1], -0.3, 0.0, -1.0])
    return np.broadcast_to(way, (len(contexts), 6))


def timing(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """A cart must pass a line at the right moment, slowly: contexts are the moment, the tolerance.

    It is pushed in six intervals; one that never passes the line earns 0.
    """
    moment, tolerance = contexts.T
    positions, speeds = pushed(thetas, 0.5, 10)
    when, speed = first_crossing(positions, speeds, 1.0, 0.05)
    late = np.abs(when - moment)
    too_fast = np.maximum(speed - 0.5 - 2 * tolerance, 0.0)
    rewards = np.where(np.isnan(when), 0.0, np.exp(-late / 0.3 - too_fast))
    return rewards, (late < tolerance) & (too_fast == 0.0)


def timing_solution(contexts: Array) -> Array:
    """One push, then coasting."""
    thetas = np.zeros((len(contexts), 6))
    thetas[:, 0] = 2.0 / (contexts[:, 0] - 0.25)
    return thetas


def noisy(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Six parameters must fit the position within a tolerance; what is paid is mostly noise."""
    tolerance = contexts[:, 1]
    error = np.linalg.norm(thetas - noisy_solution(contexts), axis=1)
    error += 0.02 * np.abs(rng.standard_normal(len(error)))
    rewards = np.exp(-error) + 0.3 * rng.standard_normal(len(error))
    return rewards, error < tolerance


def noisy_solution(contexts: Array) -> Array:
    """What the position asks for."""
    return np.column_stack([np.ones(len(contexts)), contexts[:, 0]]) @ AIM


def masses(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Push a mass and stop it in place: contexts are the mass (decades) and the distance.

    A light mass costs little, whatever happens to it, and is the hardest to stop.
    """
    mass, distance = 10.0 ** contexts[:, 0], contexts[:, 1]
    positions, speeds = pushed(thetas / mass[:, None], 0.5, 1)
    miss, speed = np.abs(positions[:, -1] - distance), np.abs(speeds[:, -1])
    rewards = -mass * (np.minimum(miss, 3.0) + 0.3 * np.minimum(speed, 3.0))
    return rewards, (miss < 0.15) & (speed < 0.3)


def masses_solution(contexts: Array) -> Array:
    """Push for one second, brake for one."""
    force = 10.0 ** contexts[:, 0] * contexts[:, 1]
    return force[:, None] * np.array([1.0, 1.0, -1.0, -1.0])


def links(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Six places must be met by 24 parameters, the more exactly the farther out they are."""
    error = np.linalg.norm(thetas @ MIX.T - _places(contexts), axis=1) / np.sqrt(6)
    rewards = -(error**2) - 0.01 * (thetas**2).mean(axis=1)
    return rewards, error < 0.5 - 0.4 * np.abs(contexts).max(axis=1)


def _places(contexts: Array) -> Array:
    return contexts + 0.3 * contexts**3


def links_solution(contexts: Array) -> Array:
    """The smallest parameters that meet the places."""
    return _places(contexts) @ np.linalg.pinv(MIX).T


DEVELOPMENT = (
    ZooTask(
        name="throw",
        structure="physics, a narrow bin far away",
        function=throw,
        contexts=Box([1.0, 0.05], [10.0, 1.0]),
        thetas=Box([0.1, 0.0], [1.4, 15.0]),
        target=Gaussian([9.0, 0.08], np.diag([0.1, 0.005]) ** 2),
        solution=throw_solution,
    ),
    ZooTask(
        name="detour",
        structure="reaching around an obstacle",
        function=detour,
        contexts=Box([0.05, -0.5, 0.05], [0.9, 0.5, 0.5]),
        thetas=Box(np.full(10, -1.5), np.full(10, 1.5)),
        target=Gaussian([0.8, 0.2, 0.08], np.diag([0.01, 0.02, 0.005]) ** 2),
        solution=detour_solution,
    ),
    ZooTask(
        name="doors",
        structure="two ways around, of which the better one closes",
        function=doors,
        contexts=Box([0.0, 0.1, 0.05], [1.0, 1.0, 0.5]),
        thetas=Box(np.full(6, -3.0), np.full(6, 3.0)),
        target=Gaussian([0.02, 0.2, 0.1], np.diag([0.005, 0.01, 0.005]) ** 2),
        solution=doors_solution,
    ),
    ZooTask(
        name="timing",
        structure="timing, nothing for doing nothing",
        function=timing,
        contexts=Box([0.6, 0.02], [2.8, 0.5]),
        thetas=Box(np.full(6, -4.0), np.full(6, 4.0)),
        target=Gaussian([2.5, 0.05], np.diag([0.05, 0.005]) ** 2),
        solution=timing_solution,
    ),
    ZooTask(
        name="noisy",
        structure="noise as large as the gain",
        function=noisy,
        contexts=Box([-1.0, 0.1], [1.0, 1.2]),
        thetas=Box(np.full(6, -2.0), np.full(6, 2.0)),
        target=Gaussian([0.9, 0.2], np.diag([0.03, 0.01]) ** 2),
        solution=noisy_solution,
    ),
    ZooTask(
        name="masses",
        structure="costs on other scales in every context, smallest where it is hardest",
        function=masses,
        contexts=Box([-1.0, 0.1], [1.0, 2.0]),
        thetas=Box(np.full(4, -8.0), np.full(4, 8.0)),
        target=Gaussian([-0.5, 1.5], np.diag([0.02, 0.02]) ** 2),
        solution=masses_solution,
    ),
    ZooTask(
        name="links",
        structure="six context and 24 parameter dimensions, a corner",
        function=links,
        contexts=Box(np.full(6, -1.0), np.full(6, 1.0)),
        thetas=Box(np.full(24, -4.0), np.full(24, 4.0)),
        target=Gaussian(np.full(6, 0.85), 0.02**2 * np.eye(6)),
        solution=links_solution,
    ),
)
"""In the order of tables."""
