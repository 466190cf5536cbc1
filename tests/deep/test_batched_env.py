"""Environments in one batch equal environments that are stepped one by one."""

import gymnasium
import numpy as np
import pytest

for _package in ("torch", "stable_baselines3"):
    pytest.importorskip(_package, reason="needs the extra sb3")
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from selfpaced.deep import environments
from selfpaced.deep.batched_env import BatchedVecEnv
from selfpaced.deep.contextual_env import ContextualEnv

STEPS = 400
NAMES = [*environments.ENVIRONMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_they_equal_environments_one_by_one(name):
    if "Kinematic" not in name and "Reacher" in name:
        pytest.importorskip("mujoco", reason="needs the extra mujoco")
    env = gymnasium.make(name)
    inner, limit = env.unwrapped, env.spec.max_episode_steps
    # A batch draws its noise from one generator, as one environment does.
    N = 1 if getattr(getattr(inner, "task", None), "noisy", False) else 3
    single = DummyVecEnv([lambda: Monitor(ContextualEnv(gymnasium.make(name)))] * N)
    spaces = inner.observation_space, inner.action_space
    batched = BatchedVecEnv(inner.batched_episodes(N), N, limit, spaces, None)
    for both in (single, batched):
        both.seed(3)
    rng = np.random.default_rng(0)
    for i in range(N):
        queued = batched.get_attr("bounds")[0].uniform(100, rng)
        for both in (single, batched):
            both.env_method("queue_contexts", queued, indices=i)
    np.testing.assert_array_equal(single.reset(), batched.reset())
    finished = 0
    largest = inner.action_space.high[0]
    steady = rng.uniform(-1, 1, size=(N, inner.action_space.shape[0]))  # goes somewhere
    for _ in range(STEPS):
        actions = largest * np.clip(steady + rng.normal(0, 0.5, size=steady.shape), -1, 1)
        one, other = (
            single.step(actions.astype(np.float32)),
            batched.step(actions.astype(np.float32)),
        )
        for a, b in zip(one[:3], other[:3], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
        for a, b in zip(one[3], other[3], strict=True):
            assert {*b} <= {*a}
            for key in ("context", "is_success", "TimeLimit.truncated", "terminal_observation"):
                assert (key in a) == (key in b)
                if key in a:
                    np.testing.assert_array_equal(a[key], b[key])
            if "episode" in a:
                finished += 1
                assert a["episode"]["r"] == b["episode"]["r"]
                assert a["episode"]["l"] == b["episode"]["l"]
                assert a["episode_return"] == pytest.approx(b["episode_return"], rel=1e-12)
                assert a["episode_success"] == b["episode_success"]
                steady = rng.uniform(-1, 1, size=steady.shape)
    assert finished >= 2 * N
    np.testing.assert_array_equal(*(e.get_attr("waiting_contexts")[0] for e in (single, batched)))
