"""The callback: what the teacher draws is played, and it is told of what was played."""

import gymnasium
import numpy as np
import pytest

for _package in ("torch", "stable_baselines3"):
    pytest.importorskip(_package, reason="needs the extra sb3")
import stable_baselines3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.vec_env import SubprocVecEnv, VecNormalize

from selfpaced import Box, Gaussian
from selfpaced.deep.contextual_env import ContextualEnv
from selfpaced.deep.curriculum_callback import CurriculumCallback
from selfpaced.teachers import TEACHERS, GoalGAN

SPACE = Box([-1.0, 0.0], [1.0, 10.0])
TARGET = Gaussian([0.8, 9.0], np.diag([0.01, 0.1]))


class Short(gymnasium.Env):
    """Episodes of 3 steps that pay their context and succeed on the left."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self):
        self.context = np.zeros(2)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.context.astype(np.float32), {}

    def step(self, action):
        self.steps += 1
        info = {"is_success": self.context[0] < 0}
        return self.context.astype(np.float32), self.context[1], self.steps == 3, False, info


def wrapped():
    return ContextualEnv(Short(), SPACE, apply="context")


def vector(n=4, **arguments):
    return make_vec_env(wrapped, n_envs=n, **arguments)


def ppo(env, steps=60):
    return stable_baselines3.PPO("MlpPolicy", env, n_steps=steps, batch_size=60, n_epochs=1, seed=0)


class Numbered:
    """Draws contexts with a number in them, and remembers all that it is told."""

    def __init__(self):
        self.asked = 0
        self.told = []

    def ask(self, n, rng):
        numbers = np.arange(self.asked, self.asked + n)
        self.asked += n
        return np.stack([np.where(numbers % 3, 0.5, -0.5), numbers / 1000], axis=1)

    def tell(self, contexts, rewards, successes):
        self.told += zip(contexts.tolist(), rewards.tolist(), successes.tolist(), strict=True)

    def state(self):
        return {"asked": np.array(self.asked)}

    def restore(self, state):
        self.asked = int(state["asked"])


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("kind", [None, SubprocVecEnv])
def test_every_context_is_played_once_in_the_order_it_was_drawn(kind, normalised):
    env = vector(vec_env_cls=kind)
    if normalised:
        env = VecNormalize(env)
    teacher = Numbered()
    ppo(env).learn(480, callback=CurriculumCallback(teacher))
    env.close()
    numbers = [round(1000 * context[1]) for context, _, _ in teacher.told]
    assert len(numbers) == 160  # 480 steps in episodes of 3: nothing is missed
    assert sorted(numbers) == list(range(160))
    for (x, y), reward, success in teacher.told:
        assert reward == pytest.approx(3 * y)
        assert success == (x < 0)


def test_learning_on_without_a_reset_goes_on_with_the_curriculum():
    env, teacher = vector(), Numbered()
    model, callback = ppo(env), CurriculumCallback(teacher)
    model.learn(240, callback=callback)
    model.learn(240, callback=callback, reset_num_timesteps=False)
    numbers = [round(1000 * context[1]) for context, _, _ in teacher.told]
    assert sorted(numbers) == list(range(160))


def test_off_policy_learners_are_taught_as_well():
    env, teacher = vector(2), Numbered()
    model = stable_baselines3.SAC("MlpPolicy", env, learning_starts=20, seed=0)
    model.learn(60, callback=CurriculumCallback(teacher))
    assert len(teacher.told) == 20
    assert model.replay_buffer.size() == 30
    seen = model.replay_buffer.observations[:30].reshape(-1, 2)
    asked = {round(0.001 * k, 6) for k in range(teacher.asked)}
    assert {round(float(y), 6) for y in seen[:, 1]} <= asked  # none from before the curriculum


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_saved_and_loaded_it_draws_the_same_contexts(name, tmp_path):
    config = GoalGAN(steps=5, first_steps=10) if name == "goalgan" else TEACHERS[name]

    def start():
        return CurriculumCallback(config.start(SPACE, TARGET), seed=3)

    whole, env = start(), vector()
    model = ppo(env)
    model.learn(960, callback=whole)
    whole.save(tmp_path / "curriculum.npz")
    waiting = whole.waiting_contexts
    loaded, other = start(), vector()
    loaded.load(tmp_path / "curriculum.npz")
    for one, another in zip(loaded.waiting_contexts, waiting, strict=True):
        np.testing.assert_array_equal(one, another)
    # A new process: both go on with new environments, and with equal policies.
    whole.load(tmp_path / "curriculum.npz")
    for callback, environments in ((whole, env), (loaded, other)):
        again = ppo(environments)
        again.learn(480, callback=callback)
    a, b = whole.state(), loaded.state()
    assert sorted(a) == sorted(b)
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)


class Kept(KVWriter):
    def __init__(self):
        self.names = set()

    def write(self, key_values, key_excluded, step=0):
        self.names |= set(key_values)

    def close(self):
        pass


def test_the_curriculum_is_logged_and_recorded():
    env, records = vector(), []
    teacher = TEACHERS["threshold"].start(SPACE, TARGET)
    callback = CurriculumCallback(teacher, record_every=40, record=records.append)
    model, logged = ppo(env), Kept()
    model.set_logger(Logger(None, [logged]))
    model.learn(960, callback=callback)
    assert [record["iteration"] for record in records] == list(range(1, 9))
    assert records[-1]["rollouts"] == callback.episodes == 320
    assert len(records[-1]["context_mean"]) == 2
    assert {"curriculum/success", "curriculum/context_1_mean"} <= logged.names


@pytest.mark.parametrize("kind", [None, SubprocVecEnv])
def test_environments_without_the_wrapper_are_refused(kind):
    env = make_vec_env(Short, n_envs=2, vec_env_cls=kind)
    with pytest.raises(ValueError, match="environments must be wrapped in ContextualEnv"):
        ppo(env).learn(60, callback=CurriculumCallback(Numbered()))


def test_a_state_of_other_environments_is_refused(tmp_path):
    callback = CurriculumCallback(Numbered())
    ppo(vector(4)).learn(240, callback=callback)
    callback.save(tmp_path / "c.npz")
    loaded = CurriculumCallback(Numbered())
    loaded.load(tmp_path / "c.npz")
    with pytest.raises(ValueError, match="environments must be as many as the state has: 4; got 2"):
        ppo(vector(2)).learn(60, callback=loaded)


@pytest.mark.parametrize("kind", [None, SubprocVecEnv])
def test_evaluations_after_training_play_their_own_contexts_and_use_up_none(kind, tmp_path):
    env = make_vec_env(
        lambda: ContextualEnv(Short(), SPACE, apply="context", context=[0.9, 9.5]),
        n_envs=2,
        vec_env_cls=kind,
    )
    curriculum = CurriculumCallback(Numbered())
    model = ppo(env).learn(120, callback=curriculum)
    waiting = [contexts.tolist() for contexts in curriculum.waiting_contexts]
    for _ in range(3):
        np.testing.assert_allclose(env.reset(), [[0.9, 9.5]] * 2)
    evaluate_policy(model, env, n_eval_episodes=6)
    assert [contexts.tolist() for contexts in env.get_attr("waiting_contexts")] == waiting
    told = len(curriculum.teacher.told)
    model.learn(120, callback=curriculum)
    played = [context for context, _, _ in curriculum.teacher.told[told:]]
    assert sorted(played[:2]) == sorted(queue[0] for queue in waiting)
    env.close()
    curriculum.save(tmp_path / "c.npz")  # what waited is known without the environments


def test_an_environment_of_its_own_evaluates_on_the_target():
    env = make_vec_env(
        lambda: ContextualEnv(Short(), SPACE, apply="context", context=TARGET), n_envs=2, seed=1
    )
    seen = np.concatenate([env.reset() for _ in range(100)])
    np.testing.assert_allclose(seen.mean(axis=0), TARGET.mean, atol=0.1)
    assert seen[:, 0].std() == pytest.approx(0.1, rel=0.3)
    assert not np.array_equal(seen[::2], seen[1::2])  # each environment draws for itself


@pytest.mark.parametrize("kind", [None, SubprocVecEnv])
def test_contexts_outside_of_the_box_are_named_here_whoever_plays(kind):
    class Outside(Numbered):
        def ask(self, n, rng):
            return super().ask(n, rng) + 50.0

    env = vector(2, vec_env_cls=kind)
    with pytest.raises(ValueError, match=r"contexts must lie in Box\(low=\[-1.0, 0.0\]"):
        ppo(env).learn(60, callback=CurriculumCallback(Outside()))
    env.close()


def test_another_teacher_begins_with_its_own_contexts():
    env = vector(2)
    ppo(env).learn(120, callback=CurriculumCallback(Numbered(), ahead=3))
    second = Numbered()
    ppo(env).learn(120, callback=CurriculumCallback(second))
    numbers = sorted(round(1000 * context[1]) for context, _, _ in second.told)
    assert numbers == list(range(len(numbers)))


def test_a_return_that_is_no_number_is_named():
    class Broken(Short):
        def step(self, action):
            seen, _, *rest = super().step(action)
            return seen, np.nan, *rest

    env = make_vec_env(lambda: ContextualEnv(Broken(), SPACE, apply="context"), n_envs=2)
    with pytest.raises(ValueError, match=r"returns must be finite; environment 0 returned nan at"):
        ppo(env).learn(60, callback=CurriculumCallback(Numbered()))


class Forgetful(Short):
    """Every episode succeeds until the 300th, and none after it."""

    played = 0

    def step(self, action):
        observation, reward, ended, truncated, _ = super().step(action)
        type(self).played += ended
        return observation, reward, ended, truncated, {"is_success": type(self).played < 300}


def test_training_ends_with_a_warning_if_what_was_learned_is_lost():
    env = make_vec_env(lambda: ContextualEnv(Forgetful(), SPACE, apply="context"), n_envs=2)
    callback = CurriculumCallback(TEACHERS["uniform"].start(SPACE, TARGET), record_every=20)
    with pytest.warns(UserWarning, match=r"health: forgotten: 100% succeeded on its contexts"):
        ppo(env).learn(1_800, callback=callback)
