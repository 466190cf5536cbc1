"""Ball-in-a-Cup: the arm and the string against closed forms, the cup, and the rules."""

import functools
import re
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="needs the extra mujoco")
import mujoco

from selfpaced.experiments import experiment
from selfpaced.tasks import ball_in_a_cup
from selfpaced.tasks.ball_in_a_cup import (
    CONTROLS,
    DURATION,
    SET_POINTS,
    START,
    BallInACup,
    BallRollouts,
    movement,
    reward,
    set_points,
    success,
)
from selfpaced.tasks.mujoco import wam
from selfpaced.tasks.mujoco.rollouts import Rollouts
from selfpaced.tasks.mujoco.wam import JOINTS, KP, LINKS, cup_axis, resize_cup, wam_spec
from selfpaced.tasks.mujoco.wam_rollouts import WamRollouts
from selfpaced.tasks.string_models import (
    FAST,
    HINGE_DAMPING,
    REFERENCE,
    STRING_LINKS,
    TEN_LINKS,
    Fidelity,
    equal_bending,
)

POSES = [
    START,
    np.array([0.3, -0.8, 0.5, 2.0, -1.0, 0.7, 1.1]),
    np.array([-1.2, 1.1, -2.0, -0.4, 0.9, -1.3, -2.0]),
]
FIDELITIES = {"fast": FAST, "converged": TEN_LINKS, "reference": REFERENCE}


def spec_of(fidelity, scale=1.0):
    return wam_spec(scale, fidelity)


# An independent account of the arm: products of 4 x 4 transforms.


def rotation(quaternion):
    w, x, y, z = np.asarray(quaternion) / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def transform(pos, quaternion=(1, 0, 0, 0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(quaternion), pos
    return T


def about_z(angle):
    return transform((0, 0, 0), (np.cos(angle / 2), 0, 0, np.sin(angle / 2)))


def frames(q):
    """World transforms of the seven links and of the cup."""
    T, found = transform((0, 0, 0.6)), []
    for link, angle in zip(LINKS, q, strict=True):
        T = T @ transform(link.pos, link.quat) @ about_z(angle)
        found.append(T)
    return [*found, T @ transform((0, 0, 0), (0, 0, 0, 1))]


def potential_energy(q, scale, links):
    """Of arm, cup, string and ball, the string straight along -y of the cup."""
    *arm, cup = frames(q)
    points = [(link.mass, T @ [*link.com, 1]) for link, T in zip(LINKS, arm, strict=True)]
    points.append((0.132, cup @ [0, 8.28e-5, 0.0947, 1]))
    stub = np.array([0, -0.045, 0.1165 + 0.0385 * (scale - 1)])
    pitch = 0.30495 / (links - 0.5)
    for k in range(links - 1):
        middle = stub - [0, (k + 0.5) * pitch, 0]
        points.append((29 * 7.4927e-5 / (links - 1), cup @ [*middle, 1]))
    points.append((0.021, cup @ [*(stub - [0, 0.30495, 0]), 1]))
    return sum(mass * 9.81 * point[2] for mass, point in points)


@pytest.mark.parametrize("q", POSES, ids=["start", "second", "third"])
def test_forward_kinematics_are_the_product_of_the_link_transforms(q):
    model = spec_of(FAST).compile()
    data = mujoco.MjData(model)
    data.qpos[:JOINTS] = q
    mujoco.mj_kinematics(model, data)
    for name, T in zip([*(link.name for link in LINKS), "cup"], frames(q), strict=True):
        np.testing.assert_allclose(data.body(name).xpos, T[:3, 3], atol=1e-6)
        np.testing.assert_allclose(data.body(name).xmat.reshape(3, 3), T[:3, :3], atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 2.3])
@pytest.mark.parametrize("q", POSES, ids=["start", "second", "third"])
def test_gravity_torques_are_the_slope_of_the_potential_energy(q, scale):
    model = spec_of(FAST, scale).compile()
    data = mujoco.MjData(model)
    data.qpos[:JOINTS] = q
    mujoco.mj_forward(model, data)
    slope = [
        potential_energy(q + h, scale, FAST.links) - potential_energy(q - h, scale, FAST.links)
        for h in 1e-5 * np.eye(JOINTS)
    ]
    np.testing.assert_allclose(data.qfrc_bias[:JOINTS], np.array(slope) / 2e-5, atol=1e-5)


def frozen(fidelity, scale=1.0):
    """Only the string moves: the arm stands still in the start pose."""
    spec = spec_of(fidelity, scale)
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for joint in list(spec.joints):
        if not joint.name.startswith("string"):
            spec.delete(joint)
    for link, angle in zip(LINKS, START, strict=True):
        T = transform((0, 0, 0), link.quat) @ about_z(angle)
        body = spec.body(link.name)
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, T[:3, :3].flatten())
        body.quat = quaternion
    return spec


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_the_string_is_as_long_as_it_should_be(fidelity):
    model = spec_of(FIDELITIES[fidelity]).compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    length = np.linalg.norm(data.body("ball").xpos - data.body("string0").xpos)
    assert length == pytest.approx(0.30495, abs=1e-9)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_the_ball_swings_with_the_period_of_a_pendulum(fidelity):
    model = frozen(FIDELITIES[fidelity]).compile()
    model.dof_damping[:] = 0.0
    data = mujoco.MjData(model)
    cup = data.body("cup")
    mujoco.mj_kinematics(model, data)
    # Straight down, and 3 degrees more, about the axis that the first hinge turns about.
    axis = cup.xmat.reshape(3, 3)[:, 0]
    along = -cup.xmat.reshape(3, 3)[:, 1]
    down = np.array([0, 0, -1.0])
    tilt = np.arctan2(np.cross(along, down) @ axis, along @ down)
    data.qpos[0] = tilt + np.deg2rad(3)
    angles = []
    for _ in range(int(5 / model.opt.timestep)):
        mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        offset = data.body("ball").xpos - data.body("string0").xpos
        angles.append(np.cross(down, offset) @ axis)
    angles = np.array(angles) - np.mean(angles)
    crossings = np.flatnonzero((angles[:-1] < 0) & (angles[1:] >= 0))
    period = np.diff(crossings).mean() * model.opt.timestep
    L, m, M, r = 0.30495, 29 * 7.4927e-5, 0.021, 0.02
    inertia = m * L**2 / 3 + M * (L**2 + 0.4 * r**2)
    moment = 9.81 * (m * L / 2 + M * L)
    assert period == pytest.approx(2 * np.pi * np.sqrt(inertia / moment), rel=0.02)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_a_swing_creates_no_energy(fidelity):
    spec = frozen(FIDELITIES[fidelity])
    spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[0] = 1.2
    mujoco.mj_forward(model, data)
    energies = []
    for _ in range(int(3 / model.opt.timestep)):
        energies.append(data.energy.sum())
        mujoco.mj_step(model, data)
    energies = np.array(energies)
    swing = energies[0] - (data.energy[0] - 0.021 * 9.81 * 0.2)  # its order of magnitude
    assert (energies - energies[0]).max() < 0.02 * max(abs(swing), 0.01)
    assert energies[-1] < energies[0]  # damping takes some


def dropped(scale, above, beside=0.0, fidelity=FAST):
    """Where a free ball ends in the cup's frame: from its axis, and over the goal."""
    spec = frozen(fidelity, scale)
    for sensor in list(spec.sensors):
        if sensor.name.startswith("ball"):
            spec.delete(sensor)
    spec.delete(spec.body("string0"))
    ball = spec.worldbody.add_body(name="free")
    ball.add_freejoint()
    ball.add_geom(
        type=wam.SPHERE, size=[0.02, 0, 0], mass=0.021, contype=0, conaffinity=1, name="free"
    )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    goal, axes = data.site("goal").xpos.copy(), data.site("goal").xmat.reshape(3, 3).copy()
    data.qpos[:3] = goal + axes[:, 1] * above + axes[:, 0] * beside
    for _ in range(int(2 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    offset = data.body("free").xpos - goal
    height = offset @ axes[:, 1]
    return np.linalg.norm(offset - height * axes[:, 1]), height


def judged(radius, height, scale):
    swung = BallRollouts(
        np.array([radius]), np.array([height]), *np.zeros((2, 1), dtype=bool), np.zeros((1, 1, 3))
    )
    return success(swung, np.array([[scale]]))[0]


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.5, 2.0, 2.5])
def test_a_ball_dropped_into_a_cup_of_any_size_stays_and_counts(scale):
    radius, height = dropped(scale, above=0.1)
    assert radius < 0.0336 * scale
    assert 0.0 < height < 0.05
    assert judged(radius, height, scale) == 1.0


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.5, 2.0, 2.5])
def test_a_ball_dropped_beside_the_cup_falls_and_does_not_count(scale):
    radius, height = dropped(scale, above=0.1, beside=0.038 * scale + 0.025)
    assert height < -0.3
    assert judged(radius, height, scale) == 0.0


@pytest.mark.parametrize("scale", [0.9, 1.7, 2.5])
def test_a_ball_that_touches_the_cup_from_outside_never_counts(scale):
    beside = 0.038 * scale + 0.02
    for height in np.linspace(-0.1, 0.1, 41):
        assert judged(beside, height, scale) == 0.0
    for above in (0.08, 0.1, 0.12):
        assert judged(0.0, above, scale) == 0.0
    under = -0.0395 + 0.025 - 0.02  # below the floor, the ball's own radius away
    for radius in np.linspace(0, 0.1, 11):
        assert judged(radius, under, scale) == 0.0


@functools.cache
def first_trials(scale, n):
    """n thetas of the initial policy for a cup of this size, and which of them catch the ball."""
    problem, rng = experiment("ball-in-a-cup").problem(), np.random.default_rng(0)
    contexts = np.full((n, 1), scale)
    thetas = problem.initial_policy.sample(contexts, rng)
    return thetas, BallInACup(FAST).evaluate(contexts, thetas, rng).successes > 0


def catches(wanted, fidelity=FAST):
    """Thetas of the initial policy that catch the ball with the largest cup."""
    thetas, caught = first_trials(2.5, 300)
    found = thetas[caught]
    if fidelity is not FAST:  # most catches of one model are catches of another
        rows = np.full((len(found), 1), 2.5), found, np.random.default_rng(0)
        found = found[BallInACup(fidelity).evaluate(*rows).successes > 0]
    assert len(found) >= wanted
    return found[:wanted]


def test_in_a_catch_the_string_goes_over_the_rim_not_through_the_cup():
    scale, thetas = 2.5, catches(4, TEN_LINKS)
    world, through = WamRollouts(TEN_LINKS), 0
    for theta in thetas:
        model = world._model(scale)
        data = mujoco.MjData(model)
        positions, velocities = set_points(theta[None])
        controls = KP * positions + wam.KD * velocities
        controls = np.repeat(controls, TEN_LINKS.substeps, axis=1)
        start = world.start(np.array([scale]))
        after, _, _ = world._rollouts.simulate([model], start, controls)
        mujoco.mj_setState(model, data, after[0, -1], int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_kinematics(model, data)
        names = [*(f"string{k}" for k in range(TEN_LINKS.links)), "ball"]
        rotated = data.body("cup").xmat.reshape(3, 3)
        joints = [(data.body(name).xpos - data.body("cup").xpos) @ rotated for name in names]
        way = np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(joints)])
        radius = np.hypot(way[:, 0], way[:, 2] - (0.117 + 0.039 * (scale - 1)))
        in_wall = (radius > 0.0336 * scale + 0.0015) & (radius < 0.038 * scale - 0.0015)
        in_floor = (radius < 0.0336 * scale) & (np.abs(way[:, 1] + 0.035) < 0.0025)
        through += ((in_wall & (np.abs(way[:, 1] - 0.01) < 0.035)) | in_floor).any()
    assert through == 0


def test_the_initial_policy_catches_with_a_bucket_but_not_with_the_real_cup():
    assert 0.01 <= first_trials(2.5, 300)[1].mean() <= 0.05
    assert not first_trials(1.0, 200)[1].any()


def test_at_rest_nothing_moves_and_the_arm_sags_as_known():
    for fidelity in FIDELITIES.values():
        world = WamRollouts(fidelity)
        state = world.start(np.array([1.3]))
        sag = state[0, 1 : 1 + JOINTS] - START
        np.testing.assert_allclose(sag[[1, 3, 5]], [0.0644, 0.0489, 0.0370], atol=0.001)
        still = np.tile(KP * START, (1, 400, 1))
        after, _, _ = world._rollouts.simulate([world._model(1.3)], state, still)
        assert np.abs(after[0, :, 1:] - state[0, 1:]).max() < 1e-6


def test_the_rollout_equals_a_plain_loop_that_looks_at_every_control_step():
    theta = catches(1)
    problem, rng = experiment("ball-in-a-cup").problem(), np.random.default_rng(3)
    others = problem.initial_policy.sample(np.full((12, 1), 2.5), rng)
    thetas = np.concatenate([theta, others])
    scales = np.concatenate([[2.5], np.linspace(0.9, 2.5, 12)])
    swung = BallInACup(FAST).simulate(scales[:, None], thetas, rng)
    assert swung.touched.any()
    world = WamRollouts(FAST)
    for k, (scale, row) in enumerate(zip(scales, thetas, strict=True)):
        model = spec_of(FAST, scale).compile()
        data = mujoco.MjData(model)
        state = world.start(np.array([scale]))[0]
        mujoco.mj_setState(model, data, state, int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_forward(model, data)
        ball = model.geom("ball").id
        forbidden = {model.body(name).id for name in wam.FORBIDDEN}
        positions, velocities = set_points(row[None])
        place = None
        for step in range(CONTROLS + 1):
            geoms = {(c.geom1, c.geom2) for c in data.contact}
            bodies = {model.geom_bodyid[g] for pair in geoms if ball in pair for g in pair}
            if bodies & forbidden:
                break
            offset = data.body("ball").xpos - data.site("goal").xpos
            place = np.linalg.norm(offset)
            if step < CONTROLS:
                data.ctrl[:] = KP * positions[0, step] + wam.KD * velocities[0, step]
                if step % 150 == 0:
                    data.qacc_warmstart[:] = 0  # where a chunk begins
                mujoco.mj_step(model, data)
                mujoco.mj_forward(model, data)
        assert swung.touched[k] == (step < CONTROLS)
        assert np.hypot(swung.radii[k], swung.heights[k]) == pytest.approx(place, abs=1e-4)


def test_resized_cups_equal_cups_built_that_size():
    spec = spec_of(FAST, 1.0)
    for scale in (2.5, 0.9, 1.4):
        resize_cup(spec, scale)
        one, other = spec.compile(), spec_of(FAST, scale).compile()
        for name in dir(other):
            if isinstance(getattr(other, name), np.ndarray):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


@pytest.mark.parametrize("scale", [0.9, 1.0, 2.5])
def test_the_cup_has_the_measures_it_should_have(scale):
    model = spec_of(FAST, scale).compile()
    walls = [model.geom(f"wall{k}") for k in range(wam.WALL_SEGMENTS)]
    middle = 0.117 + 0.039 * (scale - 1)
    for wall in walls:
        radius = np.hypot(wall.pos[0], wall.pos[2] - middle)
        assert radius - wall.size[2] == pytest.approx(0.0336 * scale)
        assert radius + wall.size[2] == pytest.approx(0.038 * scale)
        assert wall.pos[1] - wall.size[1] == pytest.approx(-0.032)
        assert wall.pos[1] + wall.size[1] == pytest.approx(0.0506)
    assert cup_axis(scale) == pytest.approx(0.1165 + 0.0385 * (scale - 1))
    goal = model.site("goal").pos[1]
    floor = model.geom("cup_base")
    assert floor.pos[1] + floor.size[1] - goal == pytest.approx(ball_in_a_cup.FLOOR)
    assert walls[0].pos[1] + walls[0].size[1] - goal == pytest.approx(ball_in_a_cup.RIM)


def test_reward_counts_only_catches_and_the_scaled_weights():
    thetas = np.full((2, 15), 2.0)
    expected = 1 - 0.07 * 0.02 * 15 * 4
    np.testing.assert_allclose(reward(np.array([1.0, 0.0]), thetas), [expected, 0.0])


def test_movements_start_and_end_at_rest_and_velocities_are_their_slopes():
    theta = np.random.default_rng(0).normal(scale=2, size=(1, 15))
    positions, velocities = set_points(theta)
    assert positions.shape == velocities.shape == (1, CONTROLS, 7)
    np.testing.assert_allclose(positions[0, [0, -1]], [START, START], atol=0.01)
    np.testing.assert_array_equal(velocities[0, SET_POINTS:], 0.0)
    still = [0, 2, 4, 6]
    np.testing.assert_array_equal(positions[..., still], np.tile(START[still], (1, CONTROLS, 1)))
    dt = DURATION / (SET_POINTS - 1)
    slopes = np.gradient(positions[0, :SET_POINTS], dt, axis=0)
    np.testing.assert_allclose(velocities[0, 1 : SET_POINTS - 1], slopes[1:-1], atol=2e-3)


@pytest.mark.parametrize(("frequency", "speed"), [(500.0, 1.0), (100.0, 0.5), (250.0, 1.2)])
def test_an_exported_movement_is_the_same_path_at_another_pace(frequency, speed):
    theta = np.random.default_rng(1).normal(scale=2, size=15)
    times, positions, velocities = movement(theta, frequency, speed)
    assert np.diff(times) == pytest.approx(1 / frequency)
    assert times[-1] == pytest.approx(DURATION / speed, abs=1 / frequency)
    reference, _ = set_points(theta[None])
    at = np.linspace(0, DURATION, SET_POINTS)
    for joint in range(7):
        expected = np.interp(times * speed, at, reference[0, :SET_POINTS, joint])
        np.testing.assert_allclose(positions[:, joint], expected, atol=1e-4)
    slopes = np.gradient(positions, 1 / frequency, axis=0)
    np.testing.assert_allclose(velocities[2:-2], slopes[2:-2], atol=0.02)


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-9, 1e9, np.inf, np.nan])
@pytest.mark.parametrize("number", ["frequency", "speed"])
def test_a_movement_is_one_that_a_robot_can_be_sent(number, value):
    arguments = {"frequency": 500.0, "speed": 1.0, number: value}
    words = f"{number} must be from .* for a robot; got {re.escape(f'{value:g}')}"
    with pytest.raises(ValueError, match=words):
        movement(np.zeros(15), **arguments)


@pytest.mark.parametrize("frequency", ball_in_a_cup.FREQUENCIES)
@pytest.mark.parametrize("speed", ball_in_a_cup.SPEEDS)
def test_the_limits_of_a_movement_are_within_them(frequency, speed):
    times, positions, _ = movement(np.ones(15), frequency, speed)
    assert len(times) == len(positions) == int(DURATION / speed * frequency + 1e-9) + 1


@pytest.mark.parametrize("at", [0, 300])
def test_a_simulation_that_blows_up_is_a_failure_of_its_row_alone_and_counted(
    tmp_path, monkeypatch, capfd, at
):
    monkeypatch.chdir(tmp_path)
    task = BallInACup(FAST)
    thetas = np.concatenate([catches(1), np.ones((2, 15))])[[1, 0, 2]]
    contexts = np.array([[1.0], [2.5], [2.0]])
    whole = task.simulate(contexts, thetas, np.random.default_rng(0))
    assert success(whole, contexts)[1] == 1.0
    original, chunks = Rollouts.simulate, iter(range(0, CONTROLS + 1, 150))

    def simulate(self, models, states, controls):
        if next(chunks) == at:
            states[1, 1 + self.model.nq] = 1e8  # a velocity that no solver can follow
        return original(self, models, states, controls)

    with monkeypatch.context() as patched:
        patched.setattr(Rollouts, "simulate", simulate)
        outcomes = task.evaluate(contexts, thetas, np.random.default_rng(0))
    assert task.diagnostics() == {"unstable": 1}
    assert outcomes.successes[1] == outcomes.rewards[1] == 0.0
    np.testing.assert_array_equal(outcomes.successes[::2], success(whole, contexts)[::2])
    task.evaluate(contexts, thetas, np.random.default_rng(0))
    assert task.diagnostics() == {"unstable": 0}
    assert not list(tmp_path.iterdir())  # MuJoCo would leave a log
    assert capfd.readouterr() == ("", "")


def test_strings_of_any_number_of_links_bend_alike():
    """Two strings that are bent to the same arc at the same rate lose the same power."""
    rate = 2.0  # of the angle between the ends of the arc, in rad/s
    powers = [equal_bending(links) * links * (rate / links) ** 2 for links in (5, 10, 29, 80)]
    np.testing.assert_allclose(powers, powers[0])
    assert equal_bending(STRING_LINKS) == HINGE_DAMPING


def test_the_name_of_a_fidelity_tells_a_damping_that_is_not_the_default():
    named = {"links": 10, "margin": 0.001, "substeps": 1}
    assert repr(Fidelity(**named)) == "Fidelity(links=10, margin=0.001, substeps=1)"
    other = Fidelity(**named, damping=0.5)
    assert repr(other) == "Fidelity(links=10, margin=0.001, substeps=1, damping=0.5)"


def test_hinges_have_the_damping_of_the_fidelity():
    for fidelity in (TEN_LINKS, REFERENCE):
        model = spec_of(fidelity).compile()
        assert model.dof_damping[model.joint("string3x").dofadr] == fidelity.damping


@pytest.mark.parametrize("name", ["margin", "damping"])
@pytest.mark.parametrize("value", [-0.1, np.nan])
def test_a_fidelity_needs_a_margin_and_a_damping_of_at_least_0(name, value):
    numbers = {"links": 10, "margin": 0.001, "substeps": 1, name: value}
    with pytest.raises(ValueError, match=f"{name} must be .*; got {value}"):
        Fidelity(**numbers)


@pytest.mark.parametrize("links", [0, 1, 2.5])
def test_a_fidelity_needs_links(links):
    with pytest.raises(ValueError, match=f"links must be .*; got {links}"):
        Fidelity(links=links, margin=0.001, substeps=1)


def test_a_fidelity_that_is_not_stable_at_rest_is_refused_with_a_sentence():
    # Short links are light, so that they swing faster than steps of 2 ms can follow.
    task = BallInACup(Fidelity(links=40, margin=0.0015, substeps=1, damping=0.0))
    with pytest.raises(ValueError, match=r"fidelity must be stable while the arm is at rest; with"):
        task.evaluate(np.ones((1, 1)), np.zeros((1, 15)), np.random.default_rng(0))


def test_what_a_fidelity_or_a_randomisation_must_be():
    with pytest.raises(ValueError, match="fidelity must be"):
        BallInACup(10)
    with pytest.raises(ValueError, match="randomisation must be"):
        BallInACup(FAST, 0.1)
