"""A Gymnasium environment as a task: episodes, seeds, refusals, and a whole run with a teacher."""

import gymnasium
import numpy as np
import pytest

for _package in ("torch", "stable_baselines3"):
    pytest.importorskip(_package, reason="needs the extra sb3")

from selfpaced import (
    ALPGMM,
    PPO,
    Box,
    ContextualEnv,
    Experiment,
    Gaussian,
    GymTask,
    Problem,
    SelfPacedThreshold,
)
from selfpaced.deep import stepwise_env
from selfpaced.maths.randomness import streams_of
from selfpaced.sweep import run
from selfpaced.tasks.pointmass import PointMass2D

POINT_MASS = "selfpaced.deep.environments:selfpaced/PointMass2D-v0"
TARGET = Gaussian([2.5, 0.6], np.diag([0.01, 0.01]))
SMALL = PPO(
    environment=POINT_MASS,
    environments=2,
    steps=200,
    minibatches=2,
    epochs=1,
    hidden=(8, 8),
    n_samples=4,
    buffer_size=1,
)


def rows(task, n=20):
    rng = np.random.default_rng(0)
    return task.context_space.uniform(n, rng), 0.1 * task.theta_space.uniform(n, rng)


def test_episodes_of_the_environment_are_those_of_the_task():
    """The same physics in float32, through Gymnasium: 20 rows, more than are stepped at once."""
    own, gym = PointMass2D(), GymTask(POINT_MASS)
    contexts, thetas = rows(own)
    expected = own.evaluate(contexts, thetas, np.random.default_rng(0))
    found = gym.evaluate(contexts, thetas, np.random.default_rng(0))
    np.testing.assert_allclose(found.rewards, expected.rewards, rtol=1e-4)
    np.testing.assert_array_equal(found.successes, expected.successes)
    paths = gym.trajectories(contexts, thetas, np.random.default_rng(0))
    assert paths.shape == (20, 101, 6)
    ends = own.trajectories(contexts, thetas, np.random.default_rng(0))[:, -1]
    np.testing.assert_allclose(paths[:, -1, :2], ends, atol=1e-3)


def test_a_row_depends_on_nothing_but_its_place_and_itself():
    gym = GymTask(POINT_MASS)
    contexts, thetas = rows(gym)
    many = gym.evaluate(contexts, thetas, np.random.default_rng(0))
    few = gym.evaluate(contexts[:3], thetas[:3], np.random.default_rng(0))
    np.testing.assert_array_equal(many.rewards[:3], few.rewards)


def test_a_training_stopped_and_continued_draws_the_same_contexts(tmp_path):
    experiment = Experiment(
        name="with-teacher",
        title="With a teacher",
        problem=problem,
        algorithms={
            "threshold": PPO(**{**vars(SMALL), "teacher": SelfPacedThreshold(update_every=4)})
        },
        iterations=5,
        measure_rollouts=3,
        final_rollouts=4,
    )
    run(experiment, seeds=1, iterations=2, out=tmp_path / "stopped", workers=1)
    run(experiment, seeds=1, out=tmp_path / "stopped", workers=1)
    run(experiment, seeds=1, out=tmp_path / "whole", workers=1)
    lines = [
        (tmp_path / name / "with-teacher" / "threshold" / "seed-000" / "metrics.jsonl").read_bytes()
        for name in ("stopped", "whole")
    ]
    assert lines[0] == lines[1]
    assert lines[0].count(b"\n") == 5


def problem():
    return Problem(GymTask(POINT_MASS), TARGET)


def test_single_environments_train_as_batched_ones_do():
    """The same task through Gymnasium, one environment at a time."""
    if "Alone-v0" not in gymnasium.registry:
        gymnasium.register("Alone-v0", lambda: ContextualEnv(Alone()), max_episode_steps=100)
    config = {**vars(SMALL), "teacher": SelfPacedThreshold()}
    batched = PPO(**config).start(problem(), streams_of(0))
    single = PPO(**{**config, "environment": "Alone-v0"}).start(problem(), streams_of(0))
    for _ in range(2):
        assert batched.advance() == single.advance()


class Alone(stepwise_env.PointMassEnv):
    """An environment that offers no batches."""

    def __getattribute__(self, name):
        if name == "batched_episodes":
            if not super().__getattribute__("__dict__").get("_episodes"):
                return super().__getattribute__(name)
            raise AttributeError(name)
        return super().__getattribute__(name)


class Discrete(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)


class Several(Discrete):
    action_space = gymnasium.spaces.MultiDiscrete([3, 3])


class Wide(Discrete):
    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)


class Pictures(Discrete):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2, 2), np.float32)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Several, "actions of Refused.* must be vectors, or numbers from 0"),
        (Wide, "actions of Refused.* must lie in .-1, 1. .gymnasium.wrappers.RescaleAction"),
        (Pictures, "observations of Refused.* must be vectors"),
    ],
)
def test_what_cannot_be_played_is_refused_in_words(kind, words):
    name = f"Refused{kind.__name__}-v0"
    if name not in gymnasium.registry:
        space = Box([0.0], [1.0])
        gymnasium.register(
            name,
            lambda: ContextualEnv(kind(), space),
            max_episode_steps=10,
            disable_env_checker=True,
        )
    with pytest.raises(ValueError, match=words):
        GymTask(name)


class Cheaper(gymnasium.RewardWrapper):
    """Every step costs 7."""

    def reward(self, reward):
        return float(reward) - 7.0


def cheaper():
    return ContextualEnv(Cheaper(gymnasium.make(POINT_MASS)), PointMass2D.context_space)


gymnasium.register(
    "tests/Cheaper-v0",
    cheaper,
    max_episode_steps=100,
    disable_env_checker=True,
    order_enforce=False,
)


def test_what_is_trained_is_what_is_measured_whatever_is_wrapped_around_it():
    config = PPO(
        **{**vars(SMALL), "environment": "tests/Cheaper-v0", "teacher": SelfPacedThreshold()}
    )
    training = config.start(Problem(GymTask("tests/Cheaper-v0"), TARGET), streams_of(0))
    record = training.advance()
    assert record["step_reward"] < -6.0
    outcomes = training.measure(TARGET.mean[None], np.random.default_rng(0))
    assert outcomes.rewards[0] < -600.0


def test_an_update_shorter_than_an_episode_is_refused():
    config = PPO(**{**vars(SMALL), "steps": 50, "teacher": SelfPacedThreshold()})
    with pytest.raises(ValueError, match="steps must be at least those of an episode, 100"):
        config.start(problem(), streams_of(0))


class Plain(gymnasium.Env):
    """Says nothing of success."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    context_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float64)
    context = np.zeros(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.context = (options or {}).get("context", self.context)
        return self.context.astype(np.float32), {}

    def step(self, action):
        return self.context.astype(np.float32), float(self.context[0]), False, False, {}


gymnasium.register("tests/Plain-v0", Plain, max_episode_steps=20)


@pytest.mark.parametrize("teacher", [None, ALPGMM()])
def test_an_environment_without_successes_is_trained_with_and_without_a_teacher(teacher):
    target = Gaussian([0.8], [[1e-4]])
    config = PPO(**{**vars(SMALL), "environment": "tests/Plain-v0", "teacher": teacher})
    training = config.start(Problem(GymTask("tests/Plain-v0"), target), streams_of(0))
    record = training.advance()
    assert np.isnan(record["success"])
    if teacher is None:
        assert record["step_reward"] == pytest.approx(0.8, abs=1e-5)
