"""Environments that refuse contexts in `reset`: the curriculum learns from it and goes on."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from selfpaced import (
    Box,
    ContextualEnv,
    Curriculum,
    CurriculumVectorEnv,
    Gaussian,
    Infeasible,
    TargetTeacher,
    Uniform,
    UniformTeacher,
)
from selfpaced.deep.evaluation import measure_on_target
from selfpaced.spaces.refusals import NEAR

SPACE = Box([-1.0, 0.0], [1.0, 10.0])
TARGET = Uniform(SPACE)
WIDTHS = np.array([2.0, 10.0])


class Walled(gymnasium.Env):
    """Two steps an episode. Contexts left of the wall cannot be played."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, wall=0.0, by_flag=False):
        self.wall, self.by_flag, self.context, self.tried = wall, by_flag, None, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.context, self.steps = np.array(options["context"]), 0
        self.tried.append(self.context)
        infeasible = bool(self.context[0] < self.wall)
        if infeasible and not self.by_flag:
            raise Infeasible(f"the goal {self.context.tolist()} is inside the wall")
        return np.zeros(2, dtype=np.float32), {"infeasible": infeasible} if self.by_flag else {}

    def step(self, action):
        assert self.context[0] >= self.wall
        self.steps += 1
        done = self.steps == 2
        return np.zeros(2, dtype=np.float32), 1.0, done, False, {"is_success": 1.0}


def make(wall=0.0, by_flag=False, **arguments):
    return ContextualEnv(Walled(wall, by_flag), SPACE, **arguments)


def near_any(contexts, refused):
    """(n,): which contexts are within 5% of each width of a refused one."""
    apart = np.abs(np.atleast_2d(contexts)[:, None] - refused.reshape(-1, 2)) / WIDTHS
    return (apart <= NEAR).all(axis=2).any(axis=1)


def watch_proposals(curriculum):
    """Replace `next_contexts`, so that proposals near contexts refused before are counted."""
    found, original = {"proposed": 0, "near": 0}, curriculum.next_contexts

    def next_contexts(ids):
        contexts = original(ids)
        found["proposed"] += len(contexts)
        found["near"] += int(near_any(contexts, curriculum.refusals.contexts).sum())
        return contexts

    curriculum.next_contexts = next_contexts
    return found


@pytest.mark.parametrize("by_flag", [False, True])
def test_a_reset_is_repeated_where_the_environment_accepts_it(by_flag):
    env = make(by_flag=by_flag)
    env.queue_contexts([[0.5, 3.0], [-0.5, 3.0], [0.7, 1.0]])
    assert "context_refused" not in env.reset(seed=0)[1]
    info = env.reset()[1]
    assert info["context_refused"]
    assert info["context"].tolist() == [0.5, 3.0]  # the one accepted last
    assert env.refused_contexts.tolist() == [[-0.5, 3.0]]
    assert env.step(np.zeros(1))[4]["context"].tolist() == [0.5, 3.0]
    assert env.reset()[1]["context"].tolist() == [0.7, 1.0]
    assert len(env.refused_contexts) == 0


def test_before_anything_is_accepted_random_contexts_are_tried_away_from_refused_ones():
    env = make(wall=0.9)
    env.queue_contexts([[-0.5, 3.0]])
    info = env.reset(seed=0)[1]
    assert info["context"][0] >= 0.9
    for k, context in enumerate(env.refused_contexts):
        assert k == 0 or not near_any(context, env.refused_contexts[:k]).any()


def test_what_waits_near_a_refused_context_is_not_tried():
    env = make()
    env.queue_contexts([[0.5, 3.0], [-0.5, 3.0], [-0.49, 3.1]])
    for _ in range(3):
        env.reset()
    assert [-0.49, 3.1] not in [context.tolist() for context in env.unwrapped.tried]
    assert env.refused_contexts.tolist() == [[-0.49, 3.1]]


def test_a_context_that_the_caller_chose_is_not_replaced():
    env = make()
    with pytest.raises(Infeasible, match=r"accept the context of a reset.*\[-0.5, 3.0\]"):
        env.reset(options={"context": [-0.5, 3.0]})


def test_an_environment_that_refuses_everything_is_an_error_after_a_bounded_number_of_tries():
    env = make(wall=5.0)
    env.queue_contexts([[0.5, 3.0]])
    with pytest.raises(Infeasible, match="it has refused 101, the last at"):
        env.reset(seed=0)
    assert len(env.unwrapped.tried) == 101


def test_default_contexts_are_drawn_again_from_their_target():
    env = make(context=TARGET)
    played = np.array([env.reset(seed=0 if k == 0 else None)[1]["context"] for k in range(60)])
    assert (played[:, 0] >= 0.0).all()
    assert len(np.unique(played[:, 0])) == 60
    with pytest.raises(Infeasible, match="accept the context of a reset"):
        make(context=[-0.5, 3.0]).reset()


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_vector_environment_goes_on_and_never_proposes_refused_contexts_again(vector, mode):
    envs = CurriculumVectorEnv(
        vector([make, lambda: make(by_flag=True)], autoreset_mode=mode), UniformTeacher(), TARGET
    )
    found = watch_proposals(envs.curriculum)
    envs.reset(seed=0)
    played, replaced = [], 0
    for _ in range(300):
        infos = envs.step(np.zeros((2, 1), dtype=np.float32))[4]
        if "_episode" in infos:
            played.extend(infos["episode"]["context"][infos["_episode"]])
            replaced += int(infos["episode"]["replaced"].sum())
    envs.close()
    refused = envs.curriculum.refusals.contexts
    assert len(refused) > 20
    assert (refused[:, 0] < 0.0).all()
    assert (np.array(played)[:, 0] >= 0.0).all()
    assert 0 < replaced <= len(refused)
    assert found["proposed"] > 150
    assert found["near"] == 0


def test_a_restored_vector_environment_remembers_what_was_refused():
    envs = CurriculumVectorEnv(SyncVectorEnv([make] * 2), UniformTeacher(), TARGET)
    envs.reset(seed=0)
    for _ in range(60):
        envs.step(np.zeros((2, 1), dtype=np.float32))
    other = CurriculumVectorEnv(SyncVectorEnv([make] * 2), UniformTeacher(), TARGET)
    other.load_state_dict(envs.state_dict())
    refused = envs.curriculum.refusals.contexts
    assert len(refused) > 3
    np.testing.assert_array_equal(other.curriculum.refusals.contexts, refused)


def test_the_score_on_the_target_is_over_what_can_be_played():
    outcomes = measure_on_target(
        SyncVectorEnv([make] * 3), lambda _: np.zeros((3, 1), dtype=np.float32), TARGET, 30
    )
    assert len(outcomes.rewards) == 30
    assert (outcomes.successes == 1.0).all()


def test_a_loop_of_ones_own_gets_other_contexts():
    curriculum = Curriculum(TargetTeacher(), SPACE, Gaussian([0.0, 5.0], np.diag([0.1, 4.0])))
    for _ in range(60):
        contexts = curriculum.next_contexts(np.arange(10))
        assert not near_any(contexts, curriculum.refusals.contexts).any()
        bad = np.flatnonzero(contexts[:, 0] < 0.0)
        curriculum.refused(bad)
        good = np.setdiff1d(np.arange(10), bad)
        curriculum.finished(good, np.ones(len(good)), np.ones(len(good)))
    assert len(curriculum.refusals.contexts) > 20


def refuse_everything(curriculum):
    for _ in range(1000):
        curriculum.next_contexts(np.arange(10))
        curriculum.refused(np.arange(10))


def test_a_loop_of_ones_own_ends_with_a_sentence_if_everything_is_refused():
    curriculum = Curriculum(UniformTeacher(), SPACE, TARGET)
    with pytest.raises(ValueError, match=r"contexts must be feasible somewhere; \d+ were refused"):
        refuse_everything(curriculum)


def test_stable_baselines_learns_around_what_is_refused():
    pytest.importorskip("stable_baselines3", reason="needs the extra sb3")
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    from selfpaced import CurriculumCallback

    envs = DummyVecEnv([make, lambda: make(by_flag=True)])
    callback = CurriculumCallback(UniformTeacher().start(SPACE, TARGET))
    found = watch_proposals(callback.curriculum)
    PPO("MlpPolicy", envs, n_steps=100, batch_size=100, n_epochs=1, seed=0).learn(
        400, callback=callback
    )
    refused = callback.curriculum.refusals.contexts
    assert callback.episodes >= 190
    assert len(refused) > 20
    assert (refused[:, 0] < 0.0).all()
    assert found["proposed"] > 150
    assert found["near"] == 0
