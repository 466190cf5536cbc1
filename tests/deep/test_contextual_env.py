"""The wrapper: the context that the physics sees is the one that was queued, whoever resets."""

import gymnasium
import numpy as np
import pytest

for _package in ("torch", "stable_baselines3"):
    pytest.importorskip(_package, reason="needs the extra sb3")
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

from selfpaced import Box
from selfpaced.deep.contextual_env import ContextualEnv
from selfpaced.deep.environments import ENVIRONMENTS
from selfpaced.deep.stepwise_env import StepwiseEnv
from selfpaced.tasks.pointmass import PointMass2D

SPACE = Box([-1.0, 0.0], [1.0, 10.0])


class Physics(gymnasium.Env):
    """Shows in its observations the context that its physics uses; ends after 1 to 4 steps."""

    observation_space = gymnasium.spaces.Box(-100.0, 100.0, (3,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self):
        self.gravity = np.zeros(2)
        self.steps = self.left = 0

    def set_gravity(self, gravity):
        self.gravity = gravity

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if options and "context" in options:
            self.gravity = options["context"]
        self.steps, self.left = 0, 1 + int(self.np_random.integers(4))
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        self.left -= 1
        info = {"is_success": self.gravity[0] > 0}
        return self.seen(), float(self.gravity[1]), self.left == 0, False, info

    def seen(self):
        return np.array([*self.gravity, self.steps], dtype=float)


def made(apply="gravity", **arguments):
    return ContextualEnv(Physics(), SPACE, apply=apply, **arguments)


def contexts(n, seed=0):
    return SPACE.uniform(n, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "apply", ["gravity", "set_gravity", None, lambda env, c: setattr(env, "gravity", c)]
)
def test_each_way_of_applying_reaches_the_physics(apply):
    env = made(apply)
    queued = contexts(5)
    env.queue_contexts(queued)
    for context in queued:
        observation, info = env.reset()
        np.testing.assert_array_equal(observation[:2], context)
        np.testing.assert_array_equal(info["context"], context)
        assert info["context"].dtype == np.float64


def test_the_end_of_an_episode_tells_return_and_success():
    env = made()
    env.queue_contexts([[0.5, 2.0]])
    env.reset(seed=0)
    ended, steps = False, 0
    while not ended:
        *_, ended, _, info = env.step(np.zeros(1, dtype=np.float32))
        steps += 1
    assert info["episode_return"] == 2.0 * steps
    assert info["episode_success"] == 1.0


def test_a_time_limit_around_the_wrapper_ends_episodes_as_well():
    env = gymnasium.wrappers.TimeLimit(made(), 2)
    env.get_wrapper_attr("queue_contexts")([[0.5, 2.0]])
    env.reset()
    env.unwrapped.left = 4  # steps that the environment itself would take
    for _ in range(2):
        *_, ended, truncated, info = env.step(np.zeros(1, dtype=np.float32))
    assert truncated
    assert not ended
    assert info["episode_return"] == 4.0


def test_an_environment_without_successes_says_nan():
    env = ContextualEnv(gymnasium.make("Pendulum-v1"), Box([5.0], [15.0]), apply=set_g)
    env.queue_contexts([[7.0]])
    env.reset()
    assert env.unwrapped.g == 7.0
    for _ in range(200):
        *_, truncated, info = env.step(np.zeros(1, dtype=np.float32))
    assert truncated
    assert np.isnan(info["episode_success"])


def set_g(env, context):
    env.g = context[0]


def test_a_context_in_the_options_is_played_once_and_leaves_the_queue_alone():
    env = made()
    env.queue_contexts([[0.1, 1.0]])
    _, info = env.reset(options={"context": [0.9, 9.0]})
    np.testing.assert_array_equal(info["context"], [0.9, 9.0])
    assert not env.from_queue
    _, info = env.reset()
    np.testing.assert_array_equal(info["context"], [0.1, 1.0])
    assert env.from_queue


def test_a_queue_that_has_run_dry_is_an_error_and_one_that_was_never_filled_is_not():
    env = made(context=[0.3, 3.0])
    np.testing.assert_array_equal(env.reset()[1]["context"], [0.3, 3.0])
    np.testing.assert_array_equal(env.reset()[1]["context"], [0.3, 3.0])
    env.queue_contexts([[0.1, 1.0]])
    env.reset()
    with pytest.raises(RuntimeError, match="no context is waiting"):
        env.reset()


def test_a_scalar_attribute_gets_a_number():
    env = gymnasium.make("Pendulum-v1").unwrapped
    one = ContextualEnv(env, Box([5.0], [15.0]), apply="g", context=[9.0])
    seen, info = one.reset(seed=0)
    assert env.g == 9.0
    assert isinstance(env.g, float)
    assert seen.shape == (3,)
    assert one.step(np.zeros(1))[0].shape == (3,)
    assert info["context"].tolist() == [9.0]
    with pytest.raises(ValueError, match=r"PendulumEnv\.g is a scalar"):
        ContextualEnv(env, SPACE, apply="g")


def test_without_a_teacher_an_option_is_for_one_episode():
    env = made(context=[0.3, 3.0])
    env.reset(options={"context": np.array([0.9, 9.0])})
    assert env.reset()[1]["context"].tolist() == [0.3, 3.0]


def test_contexts_of_another_shape_are_not_taken_for_a_list_of_them():
    with pytest.raises(ValueError, match=r"contexts must be \(n, 2\)"):
        made().waiting_contexts = np.zeros((3, 1, 2))


def test_an_observed_context_is_scaled_to_the_box():
    env = made(observe_context=True)
    env.queue_contexts([[0.0, 10.0]])
    observation, _ = env.reset()
    assert observation.shape == env.observation_space.shape == (5,)
    np.testing.assert_array_equal(observation[3:], [0.0, 1.0])
    assert env.observation_space.contains(observation)


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")  # forces up to 10
@pytest.mark.parametrize("observe_context", [False, True])
@pytest.mark.parametrize("name", [n for n in ENVIRONMENTS if "Reacher" not in n])
def test_gymnasiums_own_checks_pass(name, observe_context):
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)
    env = ContextualEnv(gymnasium.make(name), observe_context=observe_context)
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ContextualEnv(Physics(), None), "context_space must be given"),
        (lambda: made("weight"), "apply must name an attribute or a method of Physics"),
        (lambda: made(context=[2.0, 0.0]), "context must lie in"),
        (lambda: made().queue_contexts([[0.0, 11.0]]), "contexts must lie in"),
        (lambda: made().queue_contexts([0.0, 1.0]), "contexts must be"),
        (lambda: made().reset(options={"context": [np.nan, 0]}), "context must be finite"),
    ],
)
def test_bad_arguments_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# The four vector environments, each with 3 environments and hundreds of its own resets.

ENVIRONMENTS_AT_ONCE, STEPS = 3, 300


def queues():
    return [contexts(STEPS + 1, seed=i) for i in range(ENVIRONMENTS_AT_ONCE)]


def actions():
    return np.zeros((ENVIRONMENTS_AT_ONCE, 1), dtype=np.float32)


@pytest.mark.parametrize("autoreset", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_gymnasiums_vector_environments_play_what_was_queued(kind, autoreset):
    env = kind([made] * ENVIRONMENTS_AT_ONCE, autoreset_mode=autoreset)
    try:
        queued = queues()
        env.set_attr("waiting_contexts", queued)
        episode = np.zeros(ENVIRONMENTS_AT_ONCE, dtype=int)
        observations, infos = env.reset(seed=0)
        over = done = np.zeros(ENVIRONMENTS_AT_ONCE, dtype=bool)
        for _ in range(STEPS):
            for i in range(ENVIRONMENTS_AT_ONCE):
                np.testing.assert_array_equal(observations[i, :2], queued[i][episode[i]])
                np.testing.assert_array_equal(infos["context"][i], queued[i][episode[i]])
            assert infos["context"].dtype == np.float64
            over = done  # these are reset by the next step, or have been by the last
            observations, _rewards, ended, truncated, infos = env.step(actions())
            done = ended | truncated
            episode += done if autoreset is AutoresetMode.SAME_STEP else over
        assert episode.min() > 50
    finally:
        env.close()


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_stable_baselines_vector_environments_play_what_was_queued(kind, normalised):
    env = kind([lambda: Monitor(made())] * ENVIRONMENTS_AT_ONCE)
    if normalised:
        env = VecNormalize(env)
    try:
        queued = queues()
        for i, waiting in enumerate(queued):
            env.env_method("queue_contexts", waiting, indices=i)
        env.seed(0)
        env.reset()
        episode = np.zeros(ENVIRONMENTS_AT_ONCE, dtype=int)
        for _ in range(STEPS):
            env.step_async(actions())
            observations, _, done, infos = env.step_wait()
            if normalised:
                observations = env.get_original_obs()
            for i in range(ENVIRONMENTS_AT_ONCE):
                np.testing.assert_array_equal(infos[i]["context"], queued[i][episode[i]])
                if done[i]:  # the observation is the next episode's already
                    steps = infos[i]["episode"]["l"]
                    expected = queued[i][episode[i], 1] * steps
                    assert infos[i]["episode_return"] == pytest.approx(expected)
                    last = infos[i]["terminal_observation"]
                    if not normalised:
                        np.testing.assert_array_equal(last[:2], queued[i][episode[i]])
                    episode[i] += 1
                np.testing.assert_array_equal(observations[i, :2], queued[i][episode[i]])
        assert episode.min() > 50
        waiting = env.get_attr("waiting_contexts")
        np.testing.assert_array_equal(waiting[0], queued[0][episode[0] + 1 :])
    finally:
        env.close()


def test_a_context_is_not_appended_to_integers():
    class Counting(Physics):
        observation_space = gymnasium.spaces.Box(0, 9, (1,), np.int64)

    with pytest.raises(ValueError, match="observe_context needs observations that are vectors of"):
        ContextualEnv(Counting(), SPACE, apply="gravity", observe_context=True)


def test_a_stepwise_task_ends_after_its_steps_without_anybodys_limit():
    env = StepwiseEnv(PointMass2D())
    env.reset(seed=0)
    ends = [env.step(np.zeros(2))[2:4] for _ in range(PointMass2D.steps)]
    assert ends[:-1] == [(False, False)] * (PointMass2D.steps - 1)
    assert ends[-1] == (False, True)


class Deaf(gymnasium.Env):
    """An environment that ignores contexts, and one that overwrites them."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self):
        self.gravity = 9.8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.gravity = 9.8
        return np.zeros(1), {}

    def step(self, action):
        return np.zeros(1), 1.0, True, False, {}


ONE = Box([0.0], [5.0])


def test_an_environment_that_ignores_contexts_is_named_once():
    env = ContextualEnv(Deaf(), ONE)
    with pytest.warns(UserWarning, match=r"Deaf.reset did not look at options\['context'\]"):
        env.reset()
    env.reset()  # and not again: warnings are errors here
    with pytest.warns(UserWarning, match="Deaf.reset has overwritten the attribute 'gravity'"):
        ContextualEnv(Deaf(), ONE, apply="gravity").reset()


def test_an_environment_that_takes_contexts_is_not_warned_about(recwarn):
    for apply in ("gravity", "set_gravity", None, lambda env, c: setattr(env, "gravity", c)):
        made(apply).reset()
    ContextualEnv(Deaf(), ONE, check_context=False).reset()  # says that it takes them otherwise
    assert not recwarn.list


@pytest.mark.parametrize(
    "look",
    [
        lambda options: options["context"],
        lambda options: options.get("context"),
        lambda options: options.pop("context", None),
        lambda options: "context" in options,
        lambda options: {**options},
        lambda options: dict(options),
        lambda options: list(options.items()),
        lambda options: options.copy(),
    ],
)
def test_every_way_to_read_the_options_counts(look, recwarn):
    class Reads(Deaf):
        def reset(self, *, seed=None, options=None):
            look(options)
            return super().reset(seed=seed)

    ContextualEnv(Reads(), ONE).reset()
    assert not recwarn.list


def test_success_comes_from_the_end_the_return_or_a_function():
    def successes(success):
        env = made(success=success)
        env.reset(seed=0, options={"context": [0.5, 4.0]})
        found = []
        while True:
            _, _, ended, _, info = env.step(None)
            found.append((ended, info["episode_return"], info["episode_success"]))
            if ended:
                return found

    assert all(success == ended for ended, _, success in successes("terminated"))
    assert all(success == (total >= 7.0) for _, total, success in successes(7.0))
    both = successes(lambda info: info["terminated"] and info["episode_return"] > 3.0)
    assert [success for _, _, success in both] == [
        ended and total > 3.0 for ended, total, _ in both
    ]
    assert all(np.isnan(success) for _, _, success in successes(None))
    with pytest.raises(ValueError, match="success must be the name of an entry of info"):
        made(success=[1.0])


def test_a_list_as_context_space_is_named():
    with pytest.raises(ValueError, match=r"context_space must be a Box, such as Box\(\[0, 0\]"):
        ContextualEnv(Physics(), [[0, 1], [0, 1]])


def test_a_teacher_that_needs_successes_says_so_before_anything_is_trained():
    from selfpaced import CurriculumCallback, Gaussian, SelfPacedThreshold

    env = DummyVecEnv([lambda: made(success=None)])
    teacher = SelfPacedThreshold().start(SPACE, Gaussian([0.5, 5.0], np.diag([0.1, 0.1])))
    with pytest.raises(ValueError, match=r"or judge by the return: SelfPacedThreshold\(judged_by"):
        CurriculumCallback(teacher).attach(env)


class Stronger(gymnasium.Wrapper):
    """A wrapper of one's own, which changes the physics."""

    def set_physics(self, context):
        self.unwrapped.length, self.unwrapped.force_mag = context


def test_a_method_of_a_wrapper_takes_the_context():
    env = ContextualEnv(
        Stronger(gymnasium.make("CartPole-v1")), Box([0.2, 5.0], [1.0, 20.0]), apply="set_physics"
    )
    env.reset(options={"context": [0.7, 11.0]})
    assert (env.unwrapped.length, env.unwrapped.force_mag) == (0.7, 11.0)
    with pytest.raises(ValueError, match=r"method of CartPoleEnv or of a wrapper around it; got"):
        ContextualEnv(gymnasium.make("CartPole-v1"), Box([0], [1]), apply="set_physics")
