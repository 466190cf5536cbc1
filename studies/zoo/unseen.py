"""Seven tasks of the zoo that were written without knowledge of the rule, for a third proof."""

import numpy as np

from selfpaced import Box, Gaussian
from selfpaced.maths.arrays import Array
from studies.zoo.motion import clearance
from studies.zoo.zoo_task import ZooTask

GRAVITY = 9.81
RELEASE, DRUM = 1.0, 1.5  # metres: height of a throw of `bounce`, and where its drum is
REBOUND, GRIP = 0.8, 0.4  # share of vertical speed that a bounce keeps, share of spin it takes
UPPER, FORE = 0.7, 0.9  # lengths of the links of `elbow`, metres
POST = 1.2  # metres from the shoulder of `elbow` to the post
REST = np.array([-1.1, 0.6])  # first angles of shoulder and elbow, rad
INSTANTS = 12  # at which a move of `elbow` is tested for touching the post
LIGHTS = np.array([80.0, 200.0, 320.0])  # places of the traffic lights, metres
SECTION = 5.0  # seconds that a speed of `lights` is kept
CAPTURE = 1.6  # speed at which a ball rolls across the middle of a hole, m/s
PUSH, PUSHES = 0.3, 4  # duration of a jump's thrust in seconds, and its intervals
ROBOT, INERTIA, LEVER = 20.0, 4.0, 0.15  # kg, kg m^2, and metres between leg force and centre
BALANCE_STEP, BALANCE_STEPS = 0.04, 50  # seconds, and how many
FALLEN, STRONGEST = 0.8, 20.0  # rad of a pole that counts as fallen, largest cart push in m/s^2
CHANNEL, BANK = 8.0, 0.4  # length and half-width of the channel, metres
STRIDE, COURSES = 0.25, 40  # metres that the boat travels on one course, and number of courses
HELM = 0.6  # share of a change of course that the boat makes in one stride


def bounce(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Throw a spinning ball onto a drum, from where it must jump into a cup; around it is sand.

    Contexts are the distance of the cup, the height of its rim, and the radius of cup and drum, all
    in metres. Parameters are the speeds forward and up and the surface speed by top spin, in m/s.
    A ball earns 0 that misses the drum, jumps too low, or misses the cup by three radii or more.
    """
    distance, rim, radius = contexts.T
    forward, up, spin = thetas.T
    down = np.sqrt(up**2 + 2 * GRAVITY * RELEASE)
    bounces_at = forward * (up + down) / GRAVITY
    drums = np.abs(bounces_at - DRUM) < radius
    spare = (REBOUND * down) ** 2 - 2 * GRAVITY * rim
    airtime = (REBOUND * down + np.sqrt(np.maximum(spare, 0.0))) / GRAVITY
    miss = np.abs(bounces_at + ((1 - GRIP) * forward + GRIP * spin) * airtime - distance)
    arrives = drums & (spare > 0.0)
    rewards = np.where(arrives, np.maximum(1.0 - miss / (3 * radius), 0.0), 0.0)
    return rewards, arrives & (miss < radius)


def bounce_solution(contexts: Array) -> Array:
    """A jump 0.3 m above the rim, off the drum's middle, with the spin that gives the distance."""
    distance, rim, _ = contexts.T
    down = np.sqrt(2 * GRAVITY * (rim + 0.3)) / REBOUND
    up = np.sqrt(down**2 - 2 * GRAVITY * RELEASE)
    forward = DRUM * GRAVITY / (up + down)
    airtime = (REBOUND * down + np.sqrt(2 * GRAVITY * 0.3)) / GRAVITY
    onward = (distance - DRUM) / airtime
    return np.column_stack([forward, up, (onward - (1 - GRIP) * forward) / GRIP])


def elbow(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Move an arm of two joints past a post to a place on its other side, at the post's distance.

    Contexts are the radius of the post (m), the bearing of the place (rad) and the tolerance (m).
    Parameters are four poses of shoulder and elbow (rad), which the arm moves through in turn.
    An arm that touches the post stops there.
    """
    radius, bearing, tolerance = contexts.T
    n = len(thetas)
    poses = np.concatenate([np.broadcast_to(REST, (n, 1, 2)), thetas.reshape(n, 4, 2)], axis=1)
    share = np.arange(1, INSTANTS + 1)[:, None] / INSTANTS
    moves = poses[:, :-1, None] + share * np.diff(poses, axis=1)[:, :, None]
    forearms = _forearms(moves.reshape(-1, 2))
    posts = np.broadcast_to([POST, 0.0], (len(forearms), 2))
    touches = clearance(forearms, posts).reshape(n, -1) < radius[:, None]
    stopped = touches.any(axis=1)
    last = np.where(stopped, touches.argmax(axis=1), 4 * INSTANTS - 1)
    tip = forearms[:, 1].reshape(n, -1, 2)[np.arange(n), last]
    place = POST * np.column_stack([np.cos(bearing), np.sin(bearing)])
    miss = np.linalg.norm(tip - place, axis=1)
    return -miss, ~stopped & (miss < tolerance)


def _forearms(poses: Array) -> Array:
    """(n, 2, 2): places of the elbow and the tip; the upper arm is too short to touch the post."""
    upper, fore = poses[:, 0], poses.sum(axis=1)
    elbows = UPPER * np.column_stack([np.cos(upper), np.sin(upper)])
    return np.stack([elbows, elbows + FORE * np.column_stack([np.cos(fore), np.sin(fore)])], axis=1)


def elbow_solution(contexts: Array) -> Array:
    """Fold the arm, turn the shoulder past the post, unfold it."""
    bend = np.arccos((POST**2 - UPPER**2 - FORE**2) / (2 * UPPER * FORE))
    ahead = np.arctan2(FORE * np.sin(bend), UPPER + FORE * np.cos(bend))
    shoulder = contexts[:, 1] - ahead
    one = np.ones(len(contexts))
    folded = 2.5 * one
    start = REST[0] * one
    return np.column_stack(
        [
            start - 0.6,
            folded,
            (start + shoulder) / 2,
            folded,
            shoulder,
            folded,
            shoulder,
            bend * one,
        ]
    )


def lights(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Drive past three traffic lights while they are green: 0 for a ride that meets a red one.

    Contexts are the middles of the three green phases and half of their duration, in seconds.
    Parameters are eight speeds in m/s, each kept for 5 s. A smooth ride earns more.
    """
    greens, half = contexts[:, :3], contexts[:, 3:]
    start = np.zeros((len(thetas), 1))
    places = np.concatenate([start, np.cumsum(SECTION * thetas, axis=1)], axis=1)
    section = (places[:, 1:, None] < LIGHTS).sum(axis=1)
    reached = section < 8
    at = np.minimum(section, 7)
    speeds = np.maximum(np.take_along_axis(thetas, at, axis=1), 1e-9)
    before = np.take_along_axis(places, at, axis=1)
    when = SECTION * at + (LIGHTS - before) / speeds
    passed = reached & (np.abs(when - greens) < half)
    success = passed.all(axis=1)
    changes = np.abs(np.diff(thetas, axis=1)).mean(axis=1)
    return np.where(success, 1.0 - 0.02 * changes, 0.0), success


def lights_solution(contexts: Array) -> Array:
    """The speeds nearest to 10 m/s that reach every light in the middle of its green phase."""
    kept = np.clip(contexts[:, :3, None] - SECTION * np.arange(8), 0.0, SECTION)
    lack = LIGHTS - 10.0 * kept.sum(axis=2)
    return 10.0 + (np.linalg.pinv(kept) @ lack[..., None])[..., 0]


def putt(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Putt a golf ball on a slope: 1 if it falls into the hole, 0 if not.

    Contexts are the distance (m) and bearing (rad) of the hole, the accelerations by slope across
    and against the way and by the grass (m/s^2), and the radius of the hole (m). Parameters are the
    direction (rad) and the speed (m/s). A fast ball must meet the hole's middle better.
    """
    distance, bearing, across, against, grass, radius = contexts.T
    direction, speed = thetas.T
    off = direction - bearing
    ahead = speed * np.cos(off)
    slows = grass + against
    left = ahead**2 - 2 * slows * distance
    arrives = (ahead > 0.0) & (left > 0.0)
    pace = np.sqrt(np.maximum(left, 0.0))
    time = (ahead - pace) / slows
    miss = np.abs(speed * np.sin(off) * time - across / 2 * time**2)
    falls = arrives & (miss < radius * (1.0 - (pace / CAPTURE) ** 2))
    return falls.astype(float), falls


def putt_solution(contexts: Array) -> Array:
    """Arrive at 0.6 m/s in the hole's middle."""
    distance, bearing, across, against, grass, _ = contexts.T
    pace, slows = 0.6, grass + against
    ahead = np.sqrt(pace**2 + 2 * slows * distance)
    aside = across / 2 * (ahead - pace) / slows
    return np.column_stack([bearing + np.arctan2(aside, ahead), np.hypot(ahead, aside)])


def leap(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Jump with a legged robot onto a platform and land upright; forces and rewards are noisy.

    Contexts are the distance of the platform's middle and its height (m), half of its length (m),
    the load (kg) and the deceleration by headwind (m/s^2). Parameters are forward forces (4, N),
    upward forces (4, N) and hip torques (4, N m). On a short platform the pitch must be small.
    """
    distance, height, half, load, wind = contexts.T
    pushes = thetas.reshape(-1, 3, PUSHES) * (1 + 0.012 * rng.standard_normal((len(thetas), 3, 1)))
    fx, fz, torque = pushes.mean(axis=2).T
    mass = ROBOT + load
    forward, up = PUSH * fx / mass, PUSH * (fz / mass - GRAVITY)
    turn = PUSH * (torque - LEVER * fx) / INERTIA
    spare = up * np.abs(up) - 2 * GRAVITY * height
    time = (np.maximum(up, 0.0) + np.sqrt(np.maximum(spare, 0.0))) / GRAVITY
    miss = np.abs(forward * time - wind / 2 * time**2 - distance)
    pitch = np.abs(turn * time)
    low = np.maximum(-spare, 0.0) / (2 * GRAVITY)
    rewards = -np.minimum(miss + pitch + 2 * low, 3.0) + rng.standard_normal(len(thetas))
    return rewards, (spare > 0.0) & (miss < half) & (pitch < 2 * half)


def leap_solution(contexts: Array) -> Array:
    """Constant forces for a jump that peaks 0.25 m above the platform, without turning."""
    distance, height, _, load, wind = contexts.T
    up = np.sqrt(2 * GRAVITY * (height + 0.25))
    time = (up + np.sqrt(2 * GRAVITY * 0.25)) / GRAVITY
    forward = distance / time + wind / 2 * time
    mass = ROBOT + load
    fx, fz = mass * forward / PUSH, mass * (up / PUSH + GRAVITY)
    return np.repeat(np.column_stack([fx, fz, LEVER * fx]), PUSHES, axis=1)


def pole(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Balance a pole on a cart and bring the cart back; costs are energies, small for short poles.

    Contexts are the length of the pole (decades of metres) and its first tilt (rad). Parameters are
    the gains from tilt, its rate, the place of the cart and its speed to the cart's acceleration.
    """
    size = 10.0 ** contexts[:, 0]
    tilt, rate = contexts[:, 1], np.zeros(len(thetas))
    place, speed, costs = np.zeros((3, len(thetas)))
    stands = np.ones(len(thetas), bool)
    gains = np.ascontiguousarray(thetas.T)
    for _ in range(BALANCE_STEPS):
        push = gains[0] * tilt + gains[1] * rate + gains[2] * place + gains[3] * speed
        push = np.minimum(np.maximum(push, -STRONGEST), STRONGEST)
        cosine = np.cos(tilt)
        rate = rate + BALANCE_STEP * (GRAVITY * np.sin(tilt) - push * cosine) / size
        speed = speed + BALANCE_STEP * push
        tilt, place = tilt + BALANCE_STEP * rate, place + BALANCE_STEP * speed
        stands &= np.abs(tilt) < FALLEN
        costs += np.where(stands, 1.0 - cosine + 0.1 * np.minimum(place**2, 1.0), 1.0)
    rewards = -GRAVITY * size**2 * costs / BALANCE_STEPS
    return rewards, stands & (np.abs(place) < 0.1) & (np.abs(tilt) < 0.05)


def pole_solution(contexts: Array) -> Array:
    """Gains that place all poles of the linear closed loop at the same rate."""
    size, decay = 10.0 ** contexts[:, 0], 4.5
    place, speed = size * decay**4 / GRAVITY, 4 * size * decay**3 / GRAVITY
    tilt, rate = GRAVITY + size * (6 * decay**2 + place), size * (4 * decay + speed)
    return np.column_stack([tilt, rate, place, speed])


def channel(contexts: Array, thetas: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Steer a boat by 40 courses through a bent channel; the reward is the share that it passes.

    The context is how far the channel swings out to one side, in metres; courses are in rad. The
    boat runs aground where it touches a bank.
    """
    x, y = np.cumsum(STRIDE * _headings(thetas), axis=2)
    apart = np.abs(y - contexts * (1 - np.cos(2 * np.pi * x / CHANNEL)) / 2)
    beyond = x >= CHANNEL
    aground = (apart > BANK) & ~np.logical_or.accumulate(beyond, axis=1)
    ends = aground.any(axis=1)
    farthest = np.where(np.logical_or.accumulate(aground, axis=1), 0.0, x).max(axis=1)
    return np.clip(farthest / CHANNEL, 0.0, 1.0), ~ends & beyond.any(axis=1)


def _headings(courses: Array) -> Array:
    """(2, n, 40): directions of the strides of a boat that turns to its courses with a lag."""
    lag = HELM * (1 - HELM) ** np.subtract.outer(np.arange(COURSES), np.arange(COURSES))
    headings = courses @ np.tril(lag).T
    return np.stack([np.cos(headings), np.sin(headings)])


def channel_solution(contexts: Array) -> Array:
    """Courses that keep the boat in the middle."""
    swing, x = contexts[:, 0], np.zeros(len(contexts))
    headings = []
    for _ in range(COURSES):
        wave = 2 * np.pi / CHANNEL
        heading = np.arctan(swing * wave * np.sin(wave * x) / 2)
        middle = x + STRIDE / 2 * np.cos(heading)
        headings.append(np.arctan(swing * wave * np.sin(wave * middle) / 2))
        x = x + STRIDE * np.cos(headings[-1])
    turned = np.column_stack(headings)
    before = np.column_stack([np.zeros(len(contexts)), turned[:, :-1]])
    return before + (turned - before) / HELM


UNSEEN = (
    ZooTask(
        name="bounce",
        structure="two hits in a row with spin, 0 without the first",
        function=bounce,
        contexts=Box([2.5, 0.1, 0.04], [4.0, 1.5, 0.5]),
        thetas=Box([0.0, -2.0, -8.0], [5.0, 8.0, 8.0]),
        target=Gaussian([3.8, 1.4, 0.055], np.diag([0.02, 0.02, 0.005]) ** 2),
        solution=bounce_solution,
    ),
    ZooTask(
        name="elbow",
        structure="an arm that must fold to pass a post, and else gets stuck there",
        function=elbow,
        contexts=Box([0.02, 0.5, 0.05], [0.4, 1.4, 0.6]),
        thetas=Box(np.tile([-2.0, -2.8], 4), np.tile([2.0, 2.8], 4)),
        target=Gaussian([0.36, 0.7, 0.07], np.diag([0.005, 0.02, 0.006]) ** 2),
        solution=elbow_solution,
    ),
    ZooTask(
        name="lights",
        structure="three moments to be met in a row, nothing for one or two",
        function=lights,
        contexts=Box([6.0, 16.0, 26.0, 0.4], [15.0, 28.0, 38.0, 4.0]),
        thetas=Box(np.zeros(8), np.full(8, 20.0)),
        target=Gaussian([14.5, 22.0, 37.0, 0.6], np.diag([0.12, 0.12, 0.12, 0.04]) ** 2),
        solution=lights_solution,
    ),
    ZooTask(
        name="putt",
        structure="two parameters, six contexts, 0 or 1, a corner",
        function=putt,
        contexts=Box([0.5, -0.5, -0.3, -0.2, 0.5, 0.05], [6.0, 0.5, 0.3, 0.2, 1.0, 0.25]),
        thetas=Box([-1.0, 0.0], [1.0, 5.0]),
        target=Gaussian(
            [5.6, 0.45, -0.27, 0.18, 0.95, 0.08],
            np.diag([0.08, 0.02, 0.01, 0.006, 0.01, 0.003]) ** 2,
        ),
        solution=putt_solution,
    ),
    ZooTask(
        name="leap",
        structure="a jump with noisy forces, noise as large as the gain, five contexts",
        function=leap,
        contexts=Box([0.3, 0.0, 0.1, 0.0, 0.0], [1.6, 0.8, 0.5, 15.0, 3.0]),
        thetas=Box(
            np.repeat([-500.0, 0.0, -200.0], PUSHES), np.repeat([500.0, 1000.0, 200.0], PUSHES)
        ),
        target=Gaussian([1.5, 0.75, 0.15, 12.0, 2.8], np.diag([0.02, 0.01, 0.01, 0.2, 0.05]) ** 2),
        solution=leap_solution,
    ),
    ZooTask(
        name="pole",
        structure="feedback gains, costs only, smallest where it is hardest",
        function=pole,
        contexts=Box([-0.8, 0.02], [0.3, 0.5]),
        thetas=Box([-60.0, -15.0, -10.0, -10.0], [60.0, 15.0, 10.0, 10.0]),
        target=Gaussian([-0.75, 0.45], np.diag([0.015, 0.01]) ** 2),
        solution=pole_solution,
    ),
    ZooTask(
        name="channel",
        structure="40 parameters, one context, a reward that grows with the way passed",
        function=channel,
        contexts=Box([0.0], [2.5]),
        thetas=Box(np.full(COURSES, -1.2), np.full(COURSES, 1.2)),
        target=Gaussian([2.3], [[0.03**2]]),
        solution=channel_solution,
    ),
)
"""In the order of tables."""
