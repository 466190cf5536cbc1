"""Seven tasks of the zoo that were written without knowledge of the rule, for a second proof."""

import numpy as np

from selfpaced import Box, Gaussian
from selfpaced.maths.arrays import Array
from studies.zoo.zoo_task import ZooTask

GRAVITY = 9.81
TORQUE = 1.2  # largest torque on the pendulum of `swing`, in rad/s^2
PUMP = np.array(
    [1.0, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, -1]
)  # signs of torques that swing it highest
SWITCHES = 2 * np.pi / 3 * np.arange(3)  # angles of the three switches on their ring
DOCKING_TIME, DOCKING_STEPS = 1.8, 20  # duration in units of 1 / orbital rate, and time steps
COUNTERWEIGHT, WEIGHT_SIZE = 3.0, 0.25  # kilograms and metres of each of the five weights
TILT = 0.5  # degrees that the plate of `plate` may tilt
HOOPS = 2.0, 4.0  # distances of the two hoops, metres
LINKS, LINK = 30, 0.1  # number and length of the links of `snake`
WALL, TIP = 1.5, np.array([2.2, 0.2])  # where the wall of `snake` is, and where its tip shall be


def cushion(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """A ball must come to rest on a spot, directly or off a cushion, with a barrier on the way.

    Contexts are the distance of the spot, how far the barrier reaches across the direct way (less
    than 0 leaves it open) and the tolerance, all in metres. Parameters are the angle, the speed and
    the side spin, which acts at the cushion. A ball that meets the barrier stops there.
    """
    spot, barrier, tolerance = contexts.T
    angle, speed, spin = thetas.T
    reach = speed**2  # metres until friction stops the ball
    out = np.column_stack([np.cos(angle), np.sin(angle)])
    back = np.column_stack([np.cos(angle) + 0.6 * spin, -np.sin(angle)])
    back /= np.maximum(np.linalg.norm(back, axis=1, keepdims=True), 1e-9)
    to_cushion = np.where(out[:, 1] > 1e-6, 1.0 / np.maximum(out[:, 1], 1e-6), np.inf)
    first = np.minimum(reach, to_cushion)
    corner = first[:, None] * out
    legs = ((np.zeros_like(corner), out, first), (corner, back, reach - first))
    end, stopped = corner, np.zeros(len(thetas), bool)
    for start, direction, distance in legs:
        ahead = spot / 2 - start[:, 0]
        share = ahead / np.where(np.abs(direction[:, 0]) > 1e-9, direction[:, 0], np.inf)
        meets = (share > 0.0) & (share < distance)
        meets &= start[:, 1] + share * direction[:, 1] < barrier
        travelled = np.where(meets, share, distance)[:, None]
        end = np.where(stopped[:, None], end, start + travelled * direction)
        stopped |= meets
    miss = np.hypot(end[:, 0] - spot, end[:, 1])
    return np.exp(-miss / 0.3), miss < tolerance


def cushion_solution(contexts: Array) -> Array:
    """Off the middle of the cushion, without spin."""
    half = contexts[:, 0] / 2
    reach = 2 * np.hypot(half, 1.0)
    return np.column_stack([np.arctan2(1.0, half), np.sqrt(reach), np.zeros(len(half))])


def swing(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Pump a pendulum of 1 m with twelve weak torques until it rings a bell: 0 if it does not.

    The context is the height of the bell above the pendulum's lowest point, in metres.
    """
    angle, speed, peak = np.zeros(len(thetas)), np.zeros(len(thetas)), np.zeros(len(thetas))
    dt = 0.025
    for torque in np.repeat(TORQUE * np.clip(thetas, -1.0, 1.0), 20, axis=1).T:
        speed = speed + dt * (torque - GRAVITY * np.sin(angle))
        angle = angle + dt * speed
        peak = np.maximum(peak, np.abs(angle))
    rings = 1.0 - np.cos(np.minimum(peak, np.pi)) >= contexts[:, 0]
    return np.where(rings, 1.0 - 0.1 * (thetas**2).mean(axis=1), 0.0), rings


def swing_solution(contexts: Array) -> Array:
    """Nearly full torques in the direction of the movement."""
    return np.broadcast_to(0.97 * PUMP, (len(contexts), 12))


def switches(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Touch three switches in order along six legs; a later one, touched too soon, resets all.

    Contexts are the radius and the rotation of the ring that the switches are on, and the size of a
    switch. The reward is the share of switches that are on at the end.
    """
    radius, rotation, size = contexts.T
    places = _switch_places(radius, rotation)
    legs = np.repeat(thetas.reshape(-1, 6, 2) / 10, 10, axis=1)
    path = np.cumsum(legs, axis=1)
    near = np.linalg.norm(path[:, :, None] - places[:, None], axis=-1) < size[:, None, None]
    done = np.zeros(len(thetas), int)
    for touched in np.moveaxis(near, 1, 0):
        now = np.take_along_axis(touched, np.minimum(done, 2)[:, None], axis=1)[:, 0]
        later = (touched & (np.arange(3) > done[:, None])).any(axis=1)
        done = np.where(done == 3, 3, np.where(now, done + 1, np.where(later, 0, done)))
    return done / 3, done == 3


def _switch_places(radius: Array, rotation: Array) -> Array:
    angles = rotation[:, None] + SWITCHES
    return radius[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def switches_solution(contexts: Array) -> Array:
    """Two equal legs from each switch to the next."""
    places = _switch_places(contexts[:, 0], contexts[:, 1])
    steps = np.diff(places, axis=1, prepend=np.zeros((len(contexts), 1, 2)))
    return np.repeat(steps / 2, 2, axis=1).reshape(-1, 12)


def docking(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Dock in orbit with four thrusts: Hill's equations with random drift, and very noisy rewards.

    Contexts are the first position (2), the first velocity (2) and the tolerance.
    """
    drift = 0.06 * rng.standard_normal((len(thetas), DOCKING_STEPS, 2))
    state = _docked(contexts[:, :4], thetas, drift)
    miss = np.linalg.norm(state[:, :2], axis=1)
    speed = np.linalg.norm(state[:, 2:], axis=1)
    rewards = -np.minimum(miss + 0.5 * speed, 4.0) + 1.5 * rng.standard_normal(len(miss))
    return rewards, (miss < contexts[:, 4]) & (speed < 2 * contexts[:, 4])


def _docked(starts: Array, thetas: Array, drift: Array | float = 0.0) -> Array:
    """(n, 4): position and velocity at the end."""
    x, y, vx, vy = starts.T
    dt = DOCKING_TIME / DOCKING_STEPS
    thrusts = np.repeat(thetas.reshape(-1, 4, 2), DOCKING_STEPS // 4, axis=1) + drift
    for ax, ay in thrusts.transpose(1, 2, 0):
        vx, vy = vx + dt * (3 * x + 2 * vy + ax), vy + dt * (-2 * vx + ay)
        x, y = x + dt * vx, y + dt * vy
    return np.column_stack([x, y, vx, vy])


def docking_solution(contexts: Array) -> Array:
    """The smallest thrusts that end at rest in the dock; the equations are linear."""
    effect = _docked(np.zeros((8, 4)), np.eye(8))
    coasting = _docked(contexts[:, :4], np.zeros((len(contexts), 8)))
    return -coasting @ np.linalg.pinv(effect)


def plate(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Place five counterweights so that a loaded plate stays level; costs grow with the load.

    Contexts are the load (decades of kilograms), its place (2) and the stiffness of the bearing
    (decades). Weights must not overlap. A soft bearing under a heavy load is hard.
    """
    load, stiffness = 10.0 ** contexts[:, 0], 10.0 ** contexts[:, 3]
    places = thetas.reshape(-1, 5, 2)
    torque = load[:, None] * contexts[:, 1:3] + COUNTERWEIGHT * places.sum(axis=1)
    tilt = np.linalg.norm(torque, axis=1) / stiffness
    first, second = np.triu_indices(5, 1)
    apart = np.linalg.norm(places[:, first] - places[:, second], axis=-1)
    overlap = np.maximum(WEIGHT_SIZE - apart, 0.0).sum(axis=1)
    rewards = -load * (0.1 + np.log1p(tilt / TILT) + 4 * overlap)
    return rewards, (tilt < TILT) & (overlap == 0.0)


def plate_solution(contexts: Array) -> Array:
    """A pentagon of weights opposite to the load."""
    middle = -(10.0 ** contexts[:, :1]) * contexts[:, 1:3] / (5 * COUNTERWEIGHT)
    angles = 2 * np.pi / 5 * np.arange(5)
    pentagon = 0.3 * np.column_stack([np.cos(angles), np.sin(angles)])
    return (middle[:, None] + pentagon).reshape(-1, 10)


def hoops(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Throw a spinning ball through two hoops: 0 if it misses the first, 0.3 if only the second.

    Contexts are the heights of both hoops, the side offset of the second one, the acceleration by
    side wind, and the radii of both hoops. Parameters are the velocity (forward, up, side) and the
    accelerations by spin (up, side).
    """
    high1, high2, offset, wind, size1, size2 = contexts.T
    forward, up, side, lift, curve = thetas.T
    misses = []
    for distance, high, aside in ((HOOPS[0], high1, 0.0), (HOOPS[1], high2, offset)):
        time = distance / np.maximum(forward, 0.1)
        z = up * time + (lift - GRAVITY) / 2 * time**2
        y = side * time + (wind + curve) / 2 * time**2
        misses.append(np.hypot(z - high, y - aside))
    first = misses[0] < size1
    both = first & (misses[1] < size2)
    return 0.3 * first + 0.7 * both, both


def hoops_solution(contexts: Array) -> Array:
    """Through the middles of both hoops at 4 m/s."""
    high1, high2, offset, wind = contexts[:, :4].T
    forward, time = 4.0, HOOPS[0] / 4.0
    pull = (2 * high1 - high2) / time**2  # downward acceleration
    up = high1 / time + pull * time / 2
    across = offset / time**2
    side = -across * time / 2
    return np.column_stack([np.full(len(up), forward), up, side, GRAVITY - pull, across - wind])


def snake(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bend a snake arm of 30 links through a slot in a wall to a point behind it; costs only.

    Contexts are the height of the slot and its half-width; the tip may miss by the width.
    """
    height, gap = contexts.T
    path = _snake_path(thetas)
    x0, x1 = path[:, :-1, 0], path[:, 1:, 0]
    crosses = (x0 < WALL) != (x1 < WALL)
    share = (WALL - x0) / np.where(crosses, x1 - x0, 1.0)
    y = path[:, :-1, 1] + share * (path[:, 1:, 1] - path[:, :-1, 1])
    hit = np.maximum(np.abs(y - height[:, None]) - gap[:, None], 0.0)
    hit = np.where(crosses, hit, 0.0).max(axis=1)
    hit = np.where(crosses.any(axis=1), hit, 1.0)  # an arm that stays in front of the wall
    miss = np.linalg.norm(path[:, -1] - TIP, axis=1)
    rewards = -miss - 2 * np.minimum(hit, 1.0) - 0.05 * (hit > 0.0)
    return rewards, (hit == 0.0) & (miss < 2 * gap)


def _snake_path(thetas: Array) -> Array:
    headings = np.cumsum(thetas, axis=1)
    links = LINK * np.stack([np.cos(headings), np.sin(headings)], axis=-1)
    return np.concatenate([np.zeros((len(thetas), 1, 2)), np.cumsum(links, axis=1)], axis=1)


def snake_solution(contexts: Array) -> Array:
    """Smooth bends that meet the slot's middle and the tip's place, by Newton's method."""
    share = (np.arange(LINKS) + 0.5) / LINKS
    waves = np.stack([np.exp(-8 * share), np.sin(np.pi * share), np.sin(2 * np.pi * share)])
    weights = np.broadcast_to([0.3, -0.1, 0.0], (len(contexts), 3)).copy()

    def error(weights: Array) -> Array:
        path = _snake_path(weights @ waves)
        height = [np.interp(WALL, p[:, 0], p[:, 1]) for p in path]
        return np.column_stack([path[:, -1] - TIP, height - contexts[:, 0]])

    for _ in range(30):
        now = error(weights)
        slopes = np.stack([(error(weights + 1e-5 * row) - now) / 1e-5 for row in np.eye(3)], -1)
        weights = weights - 0.5 * np.linalg.solve(slopes, now[..., None])[..., 0]
    return weights @ waves


FRESH = (
    ZooTask(
        name="cushion",
        structure="two ways, direct and off a cushion, of which one gets blocked",
        function=cushion,
        contexts=Box([0.5, -0.8, 0.08], [2.0, 0.9, 0.25]),
        thetas=Box([-1.4, 0.0, -1.0], [1.4, 2.5, 1.0]),
        target=Gaussian([1.9, 0.8, 0.12], np.diag([0.02, 0.02, 0.005]) ** 2),
        solution=cushion_solution,
    ),
    ZooTask(
        name="swing",
        structure="resonance: energy is gathered by well-timed torques, sparse rewards",
        function=swing,
        contexts=Box([0.01], [0.85]),
        thetas=Box(np.full(12, -1.0), np.full(12, 1.0)),
        target=Gaussian([0.78], [[0.01**2]]),
        solution=swing_solution,
    ),
    ZooTask(
        name="switches",
        structure="a chain of three events in order, rewards in steps",
        function=switches,
        contexts=Box([0.2, -2.0, 0.12], [1.4, 2.0, 0.6]),
        thetas=Box(np.full(12, -1.5), np.full(12, 1.5)),
        target=Gaussian([1.3, 1.8, 0.15], np.diag([0.02, 0.02, 0.005]) ** 2),
        solution=switches_solution,
    ),
    ZooTask(
        name="docking",
        structure="coupled linear dynamics, five contexts, strong noise",
        function=docking,
        contexts=Box([-1.0, -1.0, -0.5, -0.5, 0.2], [1.0, 1.0, 0.5, 0.5, 1.5]),
        thetas=Box(np.full(8, -6.5), np.full(8, 6.5)),
        target=Gaussian([0.9, -0.9, 0.4, 0.4, 0.25], np.diag([0.02, 0.02, 0.02, 0.02, 0.01]) ** 2),
        solution=docking_solution,
    ),
    ZooTask(
        name="plate",
        structure="balance under costs over two decades, largest where it is hardest",
        function=plate,
        contexts=Box([-1.0, -1.0, -1.0, -0.5], [1.0, 1.0, 1.0, 1.5]),
        thetas=Box(np.full(10, -1.0), np.full(10, 1.0)),
        target=Gaussian([0.9, 0.9, -0.9, -0.4], np.diag([0.01, 0.01, 0.01, 0.02]) ** 2),
        solution=plate_solution,
    ),
    ZooTask(
        name="hoops",
        structure="ballistics with spin, six contexts, sparse rewards in a corner",
        function=hoops,
        contexts=Box([0.5, -0.5, -1.0, -2.0, 0.12, 0.12], [1.5, 0.7, 1.0, 2.0, 0.8, 0.8]),
        thetas=Box([3.0, 0.0, -2.0, -6.0, -6.0], [7.0, 8.0, 2.0, 9.0, 6.0]),
        target=Gaussian(
            [1.4, -0.4, 0.9, -1.8, 0.2, 0.2],
            np.diag([0.02, 0.02, 0.02, 0.03, 0.005, 0.005]) ** 2,
        ),
        solution=hoops_solution,
    ),
    ZooTask(
        name="snake",
        structure="30 joints through a slot, costs only",
        function=snake,
        contexts=Box([0.0, 0.05], [1.0, 0.8]),
        thetas=Box(np.full(LINKS, -0.5), np.full(LINKS, 0.5)),
        target=Gaussian([0.9, 0.07], np.diag([0.02, 0.005]) ** 2),
        solution=snake_solution,
    ),
)
"""In the order of tables."""
