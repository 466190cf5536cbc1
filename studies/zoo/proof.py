"""The seven tasks of the zoo on which the rule was run once, after everything was fixed."""

import numpy as np

from selfpaced import Box, Gaussian
from selfpaced.maths.arrays import Array
from studies.zoo.motion import clearance, length
from studies.zoo.zoo_task import ZooTask

BASINS = np.full(3, -0.8), np.full(3, 0.8)  # where the two ways of `fork` are
WIND = np.random.default_rng(17).normal(size=(2, 2)) * 0.7  # how the wind moves the landing point
THROWER = np.random.default_rng(18).normal(size=(2, 8)) / np.sqrt(8)  # from parameters to a place
SCALED = np.random.default_rng(19).normal(size=(2, 5)) * 0.6  # what `scales` asks for
GOAL = np.array([3.0, 0.0])  # where the path of `path40` ends


def catch(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Close a moving hand around a ball: contexts are the ball's speed and the hand's size.

    The hand must close when the ball falls past 1 m, where the ball is then.
    """
    speed, size = contexts.T
    a, b, c, when = thetas.T
    height = 2.0 + when - 4.9 * when**2
    falling = 1.0 - 9.8 * when < 0.0
    apart = np.abs(a + b * when + c * when**2 - speed * when)
    missed = np.hypot(apart, height - 1.0)
    return np.where(falling, np.exp(-missed / size), 0.0), falling & (missed < size)


def catch_solution(contexts: Array) -> Array:
    """Run beside the ball, and close when it passes."""
    when = (1.0 + np.sqrt(1.0 + 4 * 4.9)) / 9.8
    thetas = np.zeros((len(contexts), 4))
    thetas[:, 1], thetas[:, 3] = contexts[:, 0], when
    return thetas


def slalom(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Between two discs, one above and one below: contexts are radii and offsets; costs only."""
    path = _slalom_path(thetas)
    inside = np.zeros(len(thetas))
    for radius, offset, x in ((0, 2, 1.5), (1, 3, 3.5)):
        centre = np.column_stack([np.full(len(thetas), x), contexts[:, offset]])
        inside += np.maximum(contexts[:, radius] - clearance(path, centre), 0.0)
    miss = np.linalg.norm(path[:, -1] - [5.0, 0.0], axis=1)
    return -length(path) - 3 * inside - miss, (inside == 0.0) & (miss < 0.2)


def _slalom_path(thetas: Array) -> Array:
    straight = np.column_stack([5 / 6 * np.arange(7), np.zeros(7)])
    points = straight[1:] + thetas.reshape(-1, 6, 2)
    return np.concatenate([np.zeros((len(thetas), 1, 2)), points], axis=1)


def slalom_solution(contexts: Array) -> Array:
    """Below the first, above the second."""
    first = contexts[:, 2] - contexts[:, 0] - 0.25
    second = contexts[:, 3] + contexts[:, 1] + 0.25
    y = np.column_stack([first, first, first * 0, second, second, first * 0])
    x = np.zeros_like(y)
    x[:, 0], x[:, 1], x[:, 3], x[:, 4] = 0.1, 0.4, -0.3, 0.1
    return np.stack([x, y], axis=-1).reshape(-1, 12)


def fork(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two ways to succeed; the one that is wide at first closes while the other one opens."""
    c = contexts[:, 0]
    radii = np.maximum(0.9 - 1.3 * c, 0.0), np.interp(c, [0.2, 0.5, 1.0], [0.0, 0.7, 0.15])
    distances = [np.linalg.norm(thetas - basin, axis=1) for basin in BASINS]
    paid = [np.where(r > 0.0, np.exp(-d / 0.4), 0.0) for d, r in zip(distances, radii, strict=True)]
    success = (distances[0] < radii[0]) | (distances[1] < radii[1])
    return np.maximum(*paid), success


def fork_solution(contexts: Array) -> Array:
    """The way that is open at the end."""
    return np.broadcast_to(BASINS[1], (len(contexts), 3))


def lock(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Four tumblers must all be in place: contexts are two positions and a tolerance; 0 or 1."""
    error = np.abs(thetas - lock_solution(contexts)).max(axis=1)
    success = error < contexts[:, 2]
    return success.astype(float), success


def lock_solution(contexts: Array) -> Array:
    """Where the tumblers are."""
    p, q = contexts[:, 0], contexts[:, 1]
    return np.column_stack([p, q, p * q, p - q])


def windy(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Land in the middle of a field in the wind: contexts are two winds and a tolerance."""
    place = thetas @ THROWER.T + 0.3 * np.tanh(thetas[:, :2]) + contexts[:, :2] @ WIND
    place += 0.03 * rng.standard_normal(place.shape)
    miss = np.linalg.norm(place - [1.0, -1.0], axis=1)
    rewards = -np.minimum(miss, 2.0) + 0.7 * rng.standard_normal(len(miss))
    return rewards, miss < contexts[:, 2]


def windy_solution(contexts: Array) -> Array:
    """The small parameters that land in the middle, by Newton's method."""
    thetas = np.zeros((len(contexts), 8))
    aim = np.array([1.0, -1.0]) - contexts[:, :2] @ WIND
    for _ in range(20):
        place = thetas @ THROWER.T + 0.3 * np.tanh(thetas[:, :2])
        thetas = thetas + (aim - place) @ np.linalg.pinv(THROWER).T * 0.6
    return thetas


def scales(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Costs over three decades: contexts are the decade and a position; dear is easy."""
    decade = contexts[:, 0]
    error = np.linalg.norm(thetas - scales_solution(contexts), axis=1)
    tolerance = 0.1 + 0.3 * decade
    rewards = -(10.0**decade) * (1.1 - np.exp(-((error / (2 * tolerance)) ** 2)))
    return rewards, error < tolerance


def scales_solution(contexts: Array) -> Array:
    """What the position asks for."""
    return np.column_stack([np.ones(len(contexts)), contexts[:, 1]]) @ SCALED


def path40(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Twenty steps through a gap to a goal: contexts are the gap's place and half-width."""
    place, gap = contexts.T
    path = np.cumsum(thetas.reshape(-1, 20, 2), axis=1)
    off = np.hypot(path[:, 9, 0] - 1.5, path[:, 9, 1] - place)
    miss = np.linalg.norm(path[:, -1] - GOAL, axis=1)
    success = (off < gap) & (miss < 2 * gap)
    return success + 0.5 * np.exp(-off) * (off < 2 * gap), success


def path40_solution(contexts: Array) -> Array:
    """Straight to the gap, straight on to the goal."""
    gap = np.column_stack([np.full(len(contexts), 1.5), contexts[:, 0]])
    steps = np.concatenate(
        [
            np.repeat(gap[:, None] / 10, 10, axis=1),
            np.repeat((GOAL - gap)[:, None] / 10, 10, axis=1),
        ],
        axis=1,
    )
    return steps.reshape(-1, 40)


PROOF = (
    ZooTask(
        name="catch",
        structure="physics and timing, a small hand",
        function=catch,
        contexts=Box([-4.0, 0.05], [4.0, 0.6]),
        thetas=Box([-3.0, -5.0, -5.0, 0.0], [3.0, 5.0, 5.0, 1.2]),
        target=Gaussian([3.6, 0.07], np.diag([0.1, 0.005]) ** 2),
        solution=catch_solution,
    ),
    ZooTask(
        name="slalom",
        structure="a way between two obstacles, costs only",
        function=slalom,
        contexts=Box([0.05, 0.05, -0.6, -0.6], [0.9, 0.9, 0.6, 0.6]),
        thetas=Box(np.full(12, -2.0), np.full(12, 2.0)),
        target=Gaussian([0.8, 0.8, 0.4, -0.4], np.diag([0.02, 0.02, 0.02, 0.02]) ** 2),
        solution=slalom_solution,
    ),
    ZooTask(
        name="fork",
        structure="a bifurcation: the best parameters jump on the way",
        function=fork,
        contexts=Box([0.0], [1.0]),
        thetas=Box(np.full(3, -2.0), np.full(3, 2.0)),
        target=Gaussian([0.97], [[0.01**2]]),
        solution=fork_solution,
    ),
    ZooTask(
        name="lock",
        structure="rewards of 0 or 1 only, in a corner",
        function=lock,
        contexts=Box([0.0, 0.0, 0.02], [1.0, 1.0, 0.7]),
        thetas=Box(np.full(4, -2.0), np.full(4, 2.0)),
        target=Gaussian([0.97, 0.95, 0.04], np.diag([0.01, 0.01, 0.003]) ** 2),
        solution=lock_solution,
    ),
    ZooTask(
        name="windy",
        structure="strong noise, three contexts, eight parameters",
        function=windy,
        contexts=Box([-1.0, -1.0, 0.1], [1.0, 1.0, 1.0]),
        thetas=Box(np.full(8, -4.0), np.full(8, 4.0)),
        target=Gaussian([0.9, -0.8, 0.2], np.diag([0.02, 0.02, 0.01]) ** 2),
        solution=windy_solution,
    ),
    ZooTask(
        name="scales",
        structure="costs over three decades, and dear is easy",
        function=scales,
        contexts=Box([0.0, -1.0], [3.0, 1.0]),
        thetas=Box(np.full(5, -2.0), np.full(5, 2.0)),
        target=Gaussian([0.1, 0.9], np.diag([0.03, 0.02]) ** 2),
        solution=scales_solution,
    ),
    ZooTask(
        name="path40",
        structure="40 parameters, sparse rewards, the initial contexts given as easy",
        function=path40,
        contexts=Box([-2.0, 0.1], [2.0, 1.5]),
        thetas=Box(np.full(40, -0.5), np.full(40, 0.5)),
        target=Gaussian([1.5, 0.2], np.diag([0.05, 0.01]) ** 2),
        solution=path40_solution,
        easy=Gaussian([0.0, 1.3], np.diag([0.3, 0.1]) ** 2),
    ),
)
"""In the order of tables."""
