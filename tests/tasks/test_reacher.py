"""The reacher in MuJoCo, against loops and models written here."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="needs the extra mujoco")
import mujoco
from reacher_rows import purposeful

from selfpaced.tasks.mujoco import fetch
from selfpaced.tasks.mujoco.fetch import Fetch, FetchArms, arm_spec, place_obstacles
from selfpaced.tasks.reacher import (
    BASES,
    GOAL,
    STEPS,
    Reacher,
    displacements,
    obstacles,
    reward,
)


@pytest.fixture(scope="module")
def task():
    return Reacher()


def plain_rollout(context, theta):
    """Last grip and whether an obstacle was touched, one mj_step after the other."""
    spec = arm_spec(context)
    model = spec.compile()
    data = mujoco.MjData(model)
    obstacle_geoms = {model.geom(f"obstacle{k}").id for k in (1, 2, 3, 4)}
    fingers = [model.joint(f"robot0:{s}_gripper_finger_joint").qposadr[0] for s in "lr"]

    def step():
        for _ in range(5):
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        contacts = {g for c in data.contact for g in (c.geom1, c.geom2)}
        touched = bool(contacts & obstacle_geoms)
        grip, link = data.site("robot0:grip").xpos.copy(), data.body("robot0:gripper_link")
        position, quaternion = link.xpos.copy(), link.xquat.copy()
        data.qpos[fingers] = 0
        return grip, position, quaternion, touched

    mujoco.mj_forward(model, data)
    data.mocap_pos[0] = data.site("robot0:grip").xpos + np.array([-0.5398, 0.4059, -0.286])
    data.mocap_quat[0] = [1, 0, 1, 0]
    for _ in range(50):
        grip, position, quaternion, touched = step()
    centres = np.linspace(-0.2, 1.2, 20)
    weights = theta.reshape(20, 2)
    effort = 0.0
    over = False
    for k in range(150):
        activation = np.exp(-((k / 149 - centres) ** 2) / 0.06)
        action = activation / activation.sum() @ weights
        effort += action @ action
        if over:
            continue
        lift = np.clip(2 * (0.5 - grip[2]), -1, 1)
        data.mocap_pos[0] = position + 0.05 * np.array([*np.clip(action, -1, 1), lift])
        data.mocap_quat[0] = quaternion + np.array([1, 0, 1, 0])
        grip, position, quaternion, touched = step()
        over = touched or np.linalg.norm(grip - [1.3, 0.35, 0.5]) < 0.05
    distance = np.linalg.norm(grip - [1.3, 0.35, 0.5])
    return 20 * np.exp(-distance) - 0.1 * effort, distance < 0.05, touched


def test_the_batch_equals_a_plain_loop_of_mj_step(task):
    contexts, thetas = purposeful(20)
    found = task.evaluate(contexts, thetas, np.random.default_rng(0))
    expected = [plain_rollout(*row) for row in zip(contexts, thetas, strict=True)]
    rewards, successes, touched = (np.array(column) for column in zip(*expected, strict=True))
    np.testing.assert_allclose(found.rewards, rewards, atol=1e-6)
    np.testing.assert_array_equal(found.successes, successes)
    assert 0 < touched.sum() < 20  # the comparison saw both
    assert 0 < successes.sum() < 20


def test_obstacles_edited_in_place_equal_a_recompiled_model():
    rng = np.random.default_rng(0)
    edited = arm_spec(np.array([0.05, 0.05])).compile()
    for context in (*Reacher.context_space.uniform(5, rng), [0.01, 0.09], [0.09, 0.01]):
        context = np.asarray(context)
        place_obstacles(edited, *(part[0] for part in obstacles(context[None])))
        compiled = arm_spec(context).compile()
        for name in dir(compiled):
            one, other = getattr(edited, name), getattr(compiled, name)
            if isinstance(one, np.ndarray):
                np.testing.assert_allclose(one, other, atol=1e-12, err_msg=name)


def test_rollouts_among_edited_obstacles_equal_those_of_a_recompiled_model(task, monkeypatch):
    contexts, thetas = purposeful(12, seed=3)
    found = task.evaluate(contexts, thetas, np.random.default_rng(0)).rewards
    monkeypatch.setattr(fetch, "place_obstacles", lambda *_: None)  # the reference is compiled so
    for k in range(12):
        again = Reacher()
        again._fetch = Fetch()
        again._fetch.model = arm_spec(contexts[k]).compile()
        rewards = again.evaluate(contexts[k : k + 1], thetas[k : k + 1], np.random.default_rng(0))
        assert rewards.rewards[0] == pytest.approx(found[k], abs=1e-12)


def test_a_full_action_moves_the_gripper_34_millimetres(task):
    arms = task.arms(np.array([[0.01, 0.01]]))
    for _ in range(5):
        before = arms.grips[0].copy()
        arms.move(np.array([0]), np.array([[0.0, -1.0]]))
    assert arms.grips[0, 1] - before[1] == pytest.approx(-0.034, abs=0.001)


def test_the_start_is_at_the_back_wall_clear_of_obstacles(task):
    arms = task.arms(np.array([[0.09, 0.09]]))
    np.testing.assert_allclose(arms.grips[0], [1.301, 1.119, 0.482], atol=0.003)
    assert not arms.touching[0]


def test_walls_hold_the_gripper_and_do_not_end_the_rollout(task):
    arms = task.arms(np.array([[0.01, 0.01]]))
    for _ in range(30):
        arms.move(np.array([0]), np.array([[-1.0, 0.0]]))
    assert not arms.touching[0]
    assert 1.12 < arms.grips[0, 0] < 1.16  # the near wall's face is at 1.12


def test_an_obstacle_ends_the_rollout_where_it_stands(task):
    straight_down = np.zeros((1, BASES, 2))
    straight_down[:, :, 1] = -0.5
    theta = straight_down.reshape(1, -1)
    path = task.trajectories(np.array([[0.09, 0.09]]), theta, np.random.default_rng(0))[0]
    moved = np.flatnonzero(np.linalg.norm(np.diff(path, axis=0), axis=1) > 0)
    assert moved[-1] < STEPS - 50
    assert path[-1, 1] > 0.45
    outcome = task.evaluate(np.array([[0.09, 0.09]]), theta, np.random.default_rng(0))
    assert outcome.successes[0] == 0.0


def test_the_effort_counts_the_whole_movement_unclipped(task):
    contexts, thetas = purposeful(3, seed=1)
    small = task.evaluate(contexts, thetas, np.random.default_rng(0))
    ends = task.trajectories(contexts, thetas, np.random.default_rng(0))[:, -1]
    effort = (displacements(thetas) ** 2).sum(axis=(1, 2))
    bound = 20 * np.exp(-np.linalg.norm(ends - GOAL[:2], axis=1)) - 0.1 * effort
    assert (small.rewards <= bound + 1e-12).all()  # the third coordinate only adds distance
    np.testing.assert_allclose(small.rewards, bound, atol=1.0)


def test_the_gripper_never_gets_into_an_obstacle(task):
    contexts, thetas = purposeful(60, seed=4)
    paths = task.trajectories(contexts, thetas, np.random.default_rng(0))
    centres, half_lengths = obstacles(contexts)
    directions = np.stack([np.cos(fetch.YAWS), np.sin(fetch.YAWS)], axis=1)
    offset = paths[:, :, None] - centres[:, None]  # (n, t, 4, 2)
    along = np.abs((offset * directions).sum(-1))
    across = np.abs(offset[..., 1] * directions[:, 0] - offset[..., 0] * directions[:, 1])
    inside = (along < half_lengths[:, None]) & (across < fetch.OBSTACLE_HALF_WIDTH)
    assert not inside.any()


def test_a_play_does_not_depend_on_what_was_played_before(task):
    contexts, thetas = purposeful(5, seed=2)
    first = task.evaluate(contexts, thetas, np.random.default_rng(0)).rewards
    task.evaluate(*purposeful(30, seed=9), np.random.default_rng(0))
    np.testing.assert_array_equal(
        task.evaluate(contexts, thetas, np.random.default_rng(0)).rewards, first
    )


def blow_up(monkeypatch, row, at):
    """In step `at` the arm `row` gets a velocity that no solver can follow."""
    original, steps = FetchArms.move, iter(range(STEPS))

    def move(self, rows, actions):
        if next(steps) == at:
            self.states[row, 1 + self._fetch.model.nq] = 1e8
        original(self, rows, actions)

    monkeypatch.setattr(FetchArms, "move", move)


@pytest.mark.parametrize("at", [0, 1, 30])
def test_a_simulation_that_blows_up_is_a_contact_of_its_row_alone_and_counted(
    task, tmp_path, monkeypatch, capfd, at
):
    monkeypatch.chdir(tmp_path)
    contexts, thetas = purposeful(20)
    rng = np.random.default_rng(0)
    whole = task.evaluate(contexts, thetas, rng)
    assert task.diagnostics() == {"unstable": 0}
    paths = task.trajectories(contexts, thetas, rng)
    (row,) = np.flatnonzero(whole.successes)[:1]  # it would have got to the goal
    with monkeypatch.context() as patched:
        blow_up(patched, row, at)
        found = task.evaluate(contexts, thetas, rng)
    assert task.diagnostics() == {"unstable": 1}
    others = np.arange(20) != row
    np.testing.assert_array_equal(found.rewards[others], whole.rewards[others])
    np.testing.assert_array_equal(found.successes[others], whole.successes[others])
    assert found.successes[row] == 0.0
    effort = (displacements(thetas[[row]]) ** 2).sum(axis=(1, 2))
    flat = np.linalg.norm(paths[row, at] - GOAL[:2])  # it stays where the step began
    assert found.rewards[row] <= reward(flat, effort)[0] + 1e-12
    assert found.rewards[row] == pytest.approx(reward(flat, effort)[0], abs=0.1)
    task.evaluate(contexts, thetas, rng)
    assert task.diagnostics() == {"unstable": 0}
    assert not list(tmp_path.iterdir())  # MuJoCo would leave a log
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("joint", [0, 3, 8])
def test_no_arm_is_taken_for_one_that_mujoco_has_started_anew(task, joint):
    fresh = mujoco.MjData(task.arms(np.array([[0.01, 0.01]]))._fetch.model)
    mujoco.mj_forward(fresh.model, fresh)
    anew = fresh.site("robot0:grip").xpos
    arms = task.arms(np.full((200, 2), 0.01))
    # From harmless to absurd: some blow up in the first substep, some only in the one that looks.
    arms.states[:, 1 + fresh.model.nq + joint] = np.geomspace(1.0, 1e9, 200)
    arms.move(np.arange(200), np.zeros((200, 2)))
    assert 0 < arms.unstable.sum() < 200
    assert np.linalg.norm(arms.grips - anew, axis=1).min() > 0.01
    stayed = arms.grips[arms.unstable] - arms._fetch.start_sensors[fetch.GRIP]
    np.testing.assert_array_equal(stayed, 0.0)
