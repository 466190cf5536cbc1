"""The vector wrapper: the same curriculum in every autoreset mode, and that of the callback."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs the extra gym")
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

from selfpaced import Box, ContextualEnv, CurriculumVectorEnv, Gaussian, measure_on_target
from selfpaced.teachers import TEACHERS, SelfPacedThreshold

SPACE = Box([-1.0, 0.0], [1.0, 10.0])
TARGET = Gaussian([0.8, 9.0], np.diag([0.01, 0.1]))
MODES = list(AutoresetMode)


class Short(gymnasium.Env):
    """Shows its context; episodes of 1 to 4 steps pay it and succeed on the left."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self):
        self.context = np.zeros(2)
        self.left = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 1 + int(self.np_random.integers(4))
        return self.context.copy(), {}

    def step(self, action):
        self.left -= 1
        info = {"is_success": bool(self.context[0] < 0)}
        return self.context.copy(), self.context[1], self.left == 0, False, info


class Rows(VectorEnv):
    """The same as one batch: it has no sub-environments, and one place for a next context each."""

    def __init__(self, n, mode):
        self.num_envs, self.metadata = n, {"autoreset_mode": mode}
        self.single_observation_space, self.single_action_space = (
            Short.observation_space,
            Short.action_space,
        )
        self.observation_space = batch_space(self.single_observation_space, n)
        self.action_space = batch_space(self.single_action_space, n)
        self.context_space = SPACE
        self.rows = [Short() for _ in range(n)]
        self.next = np.full((n, 2), np.nan)
        self.over = np.zeros(n, dtype=bool)

    def set_contexts(self, ids, contexts):
        self.next[ids] = contexts

    def begin(self, i, seed=None):
        assert not np.isnan(self.next[i]).any(), "a context was played twice"
        self.rows[i].context, self.next[i] = self.next[i].copy(), np.nan
        return self.rows[i].reset(seed=seed)[0]

    def reset(self, *, seed=None, options=None):
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool))
        self.seen = getattr(self, "seen", np.zeros((self.num_envs, 2)))
        for i in np.flatnonzero(mask):
            self.seen[i] = self.begin(i, None if seed is None else seed + int(i))
        self.over &= ~mask
        return self.seen.copy(), {}

    def step(self, actions):
        mode, n = self.metadata["autoreset_mode"], self.num_envs
        rewards, over, solved = np.zeros(n), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        for i, env in enumerate(self.rows):
            if mode == AutoresetMode.NEXT_STEP and self.over[i]:
                self.seen[i] = self.begin(i)
                continue
            self.seen[i], rewards[i], over[i], _, info = env.step(None)
            solved[i] = info["is_success"]
            if over[i] and mode == AutoresetMode.SAME_STEP:
                self.seen[i] = self.begin(i)
        self.over = over
        return self.seen.copy(), rewards, over, np.zeros(n, dtype=bool), {"is_success": solved}


def contextual():
    return ContextualEnv(Short(), SPACE, apply="context")


def sync(mode, n=4):
    return SyncVectorEnv([contextual] * n, autoreset_mode=mode)


class Told:
    """A teacher, and all that it was told, in order."""

    def __init__(self, config):
        self.teacher, self.told = config.start(SPACE, TARGET), []

    def ask(self, n, rng):
        return self.teacher.ask(n, rng)

    def tell(self, contexts, rewards, successes):
        self.told += np.column_stack([contexts, rewards, successes]).tolist()
        self.teacher.tell(contexts, rewards, successes)

    def state(self):
        return self.teacher.state()

    def restore(self, state):
        self.teacher.restore(state)


def play(envs, steps, seed=0):
    """Step with nothing; return what was observed and the episodes in `infos`."""
    seen, _ = envs.reset(seed=seed)
    observations, episodes = [seen.copy()], []
    disabled = envs.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    for _ in range(steps):
        seen, _, ended, truncated, infos = envs.step(np.zeros((envs.num_envs, 1), np.float32))
        for i in np.flatnonzero(infos.get("_episode", [])):
            assert ended[i] or truncated[i]
            found = {name: infos["episode"][name][i] for name in ("r", "l", "success", "context")}
            episodes.append((int(i), found))
        observations.append(seen.copy())
        if disabled and (ended | truncated).any():
            seen, _ = envs.reset(options={"reset_mask": ended | truncated})
            observations.append(seen.copy())
    return np.array(observations), episodes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["sync", "async", "rows"])
def test_every_context_is_played_and_told_once(kind, mode):
    teacher = Told(TEACHERS["uniform"])
    if kind == "rows":
        arguments = {"apply": "set_contexts", "success": "is_success"}
        envs = CurriculumVectorEnv(Rows(3, mode), teacher, TARGET, **arguments)
    else:
        made = (AsyncVectorEnv if kind == "async" else SyncVectorEnv)(
            [contextual] * 3, autoreset_mode=mode
        )
        envs = CurriculumVectorEnv(made, teacher, TARGET)
    observations, episodes = play(envs, 60)
    envs.close()
    assert len(teacher.told) == len(episodes) > 40
    played = {tuple(row) for row in observations.reshape(-1, 2)}
    for (x, y, value, success), (_, found) in zip(teacher.told, episodes, strict=True):
        assert (x, y) in played
        assert value == pytest.approx(found["l"] * y)
        assert (value, success) == (found["r"], found["success"])
        assert success == (x < 0)
        assert tuple(found["context"]) == (x, y)
    assert len({(x, y) for x, y, _, _ in teacher.told}) == len(teacher.told)


@pytest.mark.parametrize("mode", MODES)
def test_vector_environments_of_every_kind_teach_alike(mode):
    told = []
    for kind in ("sync", "async", "rows"):
        teacher = Told(TEACHERS["threshold"])
        arguments = {"apply": "set_contexts", "success": "is_success"} if kind == "rows" else {}
        made = {"sync": SyncVectorEnv, "async": AsyncVectorEnv}.get(kind)
        env = Rows(3, mode) if made is None else made([contextual] * 3, autoreset_mode=mode)
        envs = CurriculumVectorEnv(env, teacher, TARGET, ahead=None, **arguments)
        if mode == AutoresetMode.SAME_STEP and kind != "rows":
            # Such a batch is given the second contexts after its first reset, not before it.
            envs._channel.holds_many = False
        play(envs, 150)
        envs.close()
        told.append(teacher.told)
    assert len(told[0]) > 120
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("ahead", [1, 3])
@pytest.mark.parametrize("name", ["threshold", "currot", "plr"])
def test_wrapper_and_callback_teach_the_same_episodes_in_the_same_order(name, ahead):
    for package in ("torch", "stable_baselines3"):
        pytest.importorskip(package, reason="needs the extra sb3")
    import stable_baselines3
    from stable_baselines3.common.vec_env import DummyVecEnv

    from selfpaced import CurriculumCallback

    by_callback = Told(TEACHERS[name])
    env = DummyVecEnv([contextual] * 4)
    model = stable_baselines3.PPO("MlpPolicy", env, n_steps=60, batch_size=60, n_epochs=1, seed=0)
    callback = CurriculumCallback(by_callback, seed=7, ahead=ahead)
    env.seed(0)
    callback.attach(env)  # so that the first, seeded reset is at the teacher's contexts
    model.learn(480, callback=callback)
    by_wrapper = Told(TEACHERS[name])
    envs = CurriculumVectorEnv(
        sync(AutoresetMode.SAME_STEP), by_wrapper, TARGET, seed=7, ahead=ahead
    )
    play(envs, 120)
    assert len(by_wrapper.told) > 150
    assert by_wrapper.told == by_callback.told


def test_the_newest_choice_is_played_at_once_unless_resets_are_within_a_step():
    for mode, waits in (
        (AutoresetMode.NEXT_STEP, 0),
        (AutoresetMode.DISABLED, 0),
        (AutoresetMode.SAME_STEP, 1),
    ):
        inner = sync(mode)
        envs = CurriculumVectorEnv(inner, TEACHERS["uniform"], TARGET)
        envs.reset(seed=0)
        assert [len(env.waiting_contexts) for env in inner.envs] == [waits] * 4
    with pytest.raises(ValueError, match="ahead must be a whole number of at least 1; got 0"):
        CurriculumVectorEnv(sync(AutoresetMode.SAME_STEP), TEACHERS["uniform"], TARGET, ahead=0)
    rows = Rows(2, AutoresetMode.NEXT_STEP)
    with pytest.raises(ValueError, match="ahead must be 0 for an environment that holds one"):
        CurriculumVectorEnv(rows, TEACHERS["uniform"], TARGET, apply="set_contexts", ahead=2)


def test_a_reset_in_the_middle_tells_nothing_and_loses_no_context():
    teacher = Told(TEACHERS["uniform"])
    envs = CurriculumVectorEnv(sync(AutoresetMode.NEXT_STEP), teacher, TARGET)
    for _ in range(5):
        play(envs, 7)
    told = len(teacher.told)
    envs.reset(seed=1)
    assert len(teacher.told) == told
    assert len(envs.curriculum.in_flight()[0]) == 4
    np.testing.assert_array_equal(
        envs.curriculum.in_flight()[1], [env.unwrapped.context for env in envs.env.envs]
    )


@pytest.mark.parametrize("mode", MODES)
def test_stopped_and_restored_it_plays_what_was_in_flight_and_goes_on(mode):
    def fresh():
        return CurriculumVectorEnv(sync(mode), SelfPacedThreshold(), TARGET, seed=2)

    one = fresh()
    play(one, 200)
    saved = one.state_dict()
    in_flight = one.curriculum.in_flight()
    results = []
    for _ in range(2):
        other = fresh()
        other.load_state_dict(saved)
        other.reset(seed=5)
        np.testing.assert_array_equal(other.curriculum.in_flight()[1], in_flight[1])
        _, episodes = play(other, 100, seed=5)
        results.append([(i, found["context"].tolist()) for i, found in episodes])
    assert results[0] == results[1]
    assert other.curriculum.episodes > one.curriculum.episodes


@pytest.mark.parametrize("mode", MODES)
def test_evaluation_draws_from_the_target_and_counts_every_environment_alike(mode):
    outcomes = measure_on_target(
        sync(mode), lambda seen: np.zeros((4, 1), np.float32), TARGET, 202, seed=3
    )
    assert outcomes.rewards.shape == outcomes.successes.shape == (204,)  # 51 of each environment
    assert outcomes.rewards.mean() == pytest.approx(2.5 * 9.0, rel=0.15)  # 1 to 4 steps
    assert outcomes.successes.mean() == 0.0  # the target is on the right


def test_success_comes_from_the_end_the_return_or_a_function():
    rules = {
        "terminated": "terminated",
        "return": 10.0,
        "function": lambda infos: infos["episode_return"] < 10.0,
        "none": None,
    }
    found = {}
    for name, rule in rules.items():
        teacher = Told(TEACHERS["uniform"])
        envs = CurriculumVectorEnv(
            sync(AutoresetMode.NEXT_STEP), teacher, TARGET, success=rule, seed=1
        )
        play(envs, 60)
        found[name] = np.array(teacher.told)
    assert (found["terminated"][:, 3] == 1).all()
    np.testing.assert_array_equal(found["return"][:, 3], found["return"][:, 2] >= 10.0)
    np.testing.assert_array_equal(found["function"][:, 3], found["function"][:, 2] < 10.0)
    assert np.isnan(found["none"][:, 3]).all()


def test_other_environments_are_refused_with_what_to_write():
    bare = SyncVectorEnv([Short] * 2)
    with pytest.raises(ValueError, match="env must be a vector of ContextualEnvs, or apply must"):
        CurriculumVectorEnv(bare, TEACHERS["uniform"], TARGET)
    with pytest.raises(ValueError, match="apply must name a method of SyncVectorEnv"):
        CurriculumVectorEnv(bare, TEACHERS["uniform"], TARGET, apply="nothing")
    wrapped = CurriculumVectorEnv(sync(MODES[0]), TEACHERS["uniform"], TARGET)
    with pytest.raises(ValueError, match="env must be a vector environment of its own"):
        measure_on_target(wrapped, None, TARGET)
    with pytest.raises(ValueError, match="context_space must be a Box"):
        CurriculumVectorEnv(
            bare, TEACHERS["uniform"], TARGET, apply=print, context_space=[[0, 1], [0, 1]]
        )
