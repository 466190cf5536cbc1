"""SAC as a training: it goes on exactly, replay buffer and episodes included, and is stored."""

import dataclasses
import time

import numpy as np
import pytest

for _package in ("torch", "gymnasium", "stable_baselines3"):
    pytest.importorskip(_package, reason="needs the extra sb3")
import torch

from selfpaced import Gaussian, Problem, UniformTeacher, load_policy
from selfpaced.deep.stepwise_sac import REPLAYED, StepwiseSAC
from selfpaced.experiments import Experiment
from selfpaced.maths.randomness import streams_of
from selfpaced.store.files import npz_bytes, read_npz
from selfpaced.sweep import run
from selfpaced.tasks.goal_reaching import GoalReaching

SMALL = StepwiseSAC(
    environments=3,
    steps=150,
    hidden=(16, 16),
    buffer_size=600,
    random_steps=90,
    batch_size=16,
    teacher=UniformTeacher(),
)


def problem():
    return Problem(GoalReaching(), Gaussian([-6.0, 0.0, 3.0], np.diag([0.1, 0.1, 0.1])))


EXPERIMENT = Experiment(
    name="sac",
    problem=problem,
    algorithms={"sac": SMALL},
    iterations=4,
    measure_rollouts=3,
    final_rollouts=4,
)


@pytest.mark.parametrize("before", [0, 1, 5])  # before learning, early, with a full buffer
def test_a_training_that_is_restored_equals_one_without_interruption(before):
    whole = SMALL.start(problem(), streams_of(0))
    for _ in range(before):
        whole.advance()
    resumed = SMALL.start(problem(), streams_of(8))
    resumed.restore(read_npz(npz_bytes(whole.state())))
    for _ in range(3):
        assert repr(whole.advance()) == repr(resumed.advance())
    one, other = whole.state(), resumed.state()
    assert {*one} == {*other}
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_a_stored_run_that_was_interrupted_has_the_same_files(tmp_path):
    run(EXPERIMENT, seeds=1, iterations=2, out=tmp_path / "a", workers=1)
    run(EXPERIMENT, seeds=1, out=tmp_path / "a", workers=1)
    run(EXPERIMENT, seeds=1, out=tmp_path / "b", workers=1)
    for name in ("metrics.jsonl", "result.json", "policy.npz", "final.npz"):
        at = f"sac/sac/seed-000/{name}"
        assert (tmp_path / "a" / at).read_bytes() == (tmp_path / "b" / at).read_bytes(), name
    policy = load_policy(tmp_path / "a" / "sac/sac/seed-000/policy.npz")
    assert repr(policy) == "SquashedNetworkPolicy(layers 5-16-16-4)"


def test_the_replay_buffer_holds_what_happened():
    training = SMALL.start(problem(), streams_of(0))
    training.advance()
    buffer = training._model.replay_buffer
    assert buffer.pos == 50
    seen, following = buffer.observations[:50], buffer.next_observations[:50]
    going_on = buffer.dones[:49] == 0
    np.testing.assert_array_equal(seen[1:][going_on], following[:49][going_on])
    assert np.abs(buffer.actions[:50]).max() <= 1.0
    moved = np.hypot(*np.moveaxis(following[..., :2] - seen[..., :2], -1, 0))
    assert moved.max() <= 0.3 + 1e-6
    np.testing.assert_array_equal(buffer.rewards[:50] == 0, buffer.dones[:50] == 1)


def test_there_is_one_gradient_step_per_step_of_all_environments():
    training = SMALL.start(problem(), streams_of(0))
    training.advance()
    assert training.spent.steps == 150
    assert training._model._n_updates == (150 - 90) // 3


def test_the_stored_policy_answers_as_the_trained_network():
    training = SMALL.start(problem(), streams_of(0))
    training.advance()
    seen = np.random.default_rng(0).normal(0, 5, size=(20, 5))
    with torch.no_grad():
        tensor = torch.as_tensor(seen, dtype=torch.float32)
        mean, log_std, _ = training._model.actor.get_action_dist_params(tensor)
    found = training.policy.parameters(seen)
    np.testing.assert_allclose(found[0], mean.numpy(), atol=1e-5)
    np.testing.assert_allclose(found[1], log_std.exp().numpy(), atol=1e-5)
    np.testing.assert_allclose(training.policy.mean(seen), np.tanh(mean.numpy()), atol=1e-5)


def test_a_checkpoint_with_200_000_transitions_is_small_and_quick():
    config = dataclasses.replace(SMALL, environments=5, buffer_size=200_000)
    training = config.start(problem(), streams_of(0))
    buffer = training._model.replay_buffer
    for name in REPLAYED:
        getattr(buffer, name)[:] = np.random.default_rng(0).random(getattr(buffer, name).shape)
    buffer.full = True
    began = time.process_time()
    content = npz_bytes(training.state())
    assert time.process_time() - began < 2.0  # 0.1 s where it was measured
    assert len(content) < 15e6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"environments": 7}, "environments must divide steps, 150; got 7"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1; got 0"),
    ],
)
def test_bad_numbers_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(SMALL, **change)
