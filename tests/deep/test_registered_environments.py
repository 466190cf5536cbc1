"""The step-based reacher as Gymnasium sees it."""

import ctypes.util

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gym")
from gymnasium.utils.env_checker import check_env

from selfpaced.deep import environments, reacher_env
from selfpaced.tasks.reacher import STEPS

KINEMATIC = "selfpaced/ReacherObstaclesKinematic-v0"


def make(name=KINEMATIC, **arguments):
    if "Reacher" in name and "Kinematic" not in name:
        pytest.importorskip("mujoco", reason="needs the extra mujoco")
    return gymnasium.make(name, **arguments)


# Two environments have the published forces, up to 10, which Gymnasium would have scaled to 1.
@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")
@pytest.mark.parametrize("name", environments.ENVIRONMENTS)
def test_gymnasiums_own_checks_pass(name):
    check_env(make(name).unwrapped, skip_render_check=True)


def test_an_episode_has_as_many_steps_as_the_paper_says():
    environment = make()
    environment.reset(seed=0)
    for step in range(STEPS):
        *_, ended, truncated, _ = environment.step(np.zeros(2, dtype=np.float32))
        assert not ended
        assert truncated == (step == STEPS - 1)


def test_reward_falls_with_the_distance_to_the_goal_over_the_table():
    environment = make()
    environment.reset()
    observation, reward, *_ = environment.step(np.array([0.0, -1.0], dtype=np.float32))
    x, vx, y, vy = observation
    assert reward == pytest.approx(np.exp(-2.5 * np.hypot(x - 1.3, y - 0.35)), rel=1e-6)
    assert vy == pytest.approx(-0.034 / 0.04, rel=1e-5)
    assert vx == 0.0


def into_the_obstacle(environment, context):
    """Straight ahead until something happens, at most 60 steps."""
    start, info = environment.reset(options={"context": context})
    np.testing.assert_array_equal(info["context"], context)
    for _ in range(60):
        observation, _, ended, _, info = environment.step(np.array([0.0, -1.0], dtype=np.float32))
        if info["touched"]:
            return start, observation, ended
    return start, observation, None


@pytest.mark.parametrize("kinematic", [True, False])
def test_contact_puts_the_arm_back_to_the_start(kinematic):
    name = KINEMATIC if kinematic else "selfpaced/ReacherObstacles-v0"
    start, observation, ended = into_the_obstacle(make(name), [0.09, 0.09])
    assert ended is False
    np.testing.assert_array_equal(observation, start)


def test_contact_ends_the_episode_in_the_ending_variant():
    name = "selfpaced/ReacherObstaclesEnding-v0"
    start, observation, ended = into_the_obstacle(make(name), [0.09, 0.09])
    assert ended is True
    assert observation[2] < start[2] - 0.2


@pytest.mark.parametrize("ending", [False, True])
def test_a_simulation_that_blows_up_counts_as_contact(ending):
    name = "selfpaced/ReacherObstaclesEnding-v0" if ending else "selfpaced/ReacherObstacles-v0"
    environment = make(name)
    start, _ = environment.reset(options={"context": [0.01, 0.01]})
    ahead = np.array([0.0, -1.0], dtype=np.float32)
    before = environment.step(ahead)[0]
    environment.unwrapped._episodes.arms.states[0, -1] = 1e8  # a velocity that no solver can follow
    observation, reward, ended, truncated, info = environment.step(ahead)
    assert info["touched"]
    assert (ended, truncated) == (ending, False)
    np.testing.assert_array_equal(observation, before if ending else start)
    assert np.isfinite(reward)
    if not ending:  # the episode goes on from the start
        assert not environment.step(ahead)[4]["touched"]


def test_the_context_decides_what_is_touched_and_stays_until_it_is_changed():
    environment = make()
    touched = {}
    for size in (0.01, 0.09):
        environment.reset(options={"context": [size, size]})
        for _ in range(8):
            _, _, _, _, info = environment.step(np.array([-0.3, -1.0], dtype=np.float32))
            if info["touched"]:
                break
        touched[size] = info["touched"]
    assert touched == {0.01: False, 0.09: True}
    _, info = environment.reset()
    np.testing.assert_array_equal(info["context"], [0.09, 0.09])
    assert environment.unwrapped.context_space.contains(info["context"])


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ({"context": [0.5, 0.05]}, None, "context must lie in"),
        ({}, {"context": [0.05]}, "context must"),
        ({}, {"context": [np.nan, 0.05]}, "context"),
        ({"render_mode": "human"}, None, "render_mode must be None, or 'rgb_array'"),
    ],
)
def test_bad_arguments_are_named(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        reacher_env.ReacherObstacles(kinematic=True, **arguments).reset(options=options)


def test_a_rendered_picture_shows_the_scene():
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    if not any(map(ctypes.util.find_library, ("EGL", "OSMesa"))):
        pytest.skip("needs a library to draw without a screen, such as Debian's libegl1")
    environment = reacher_env.ReacherObstacles(render_mode="rgb_array")
    environment.reset()
    picture = environment.render()
    environment.close()
    assert picture.shape == (480, 640, 3)
    blue = (picture[..., 2] > 150) & (picture[..., 0] < 150)  # obstacles and parts of the arm
    red = (picture[..., 0] > 150) & (picture[..., 1] < 90)  # the goal
    assert 0.02 < blue.mean() < 0.5
    assert 0.0005 < red.mean() < 0.02
