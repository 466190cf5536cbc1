"""SAC in NumPy: it equals Stable-Baselines3's, goes on exactly, and is stored."""

import dataclasses
import time

import numpy as np
import pytest

from selfpaced import Gaussian, Problem, UniformTeacher, load_policy
from selfpaced.deep.replay_buffer import ReplayBuffer
from selfpaced.deep.sac_learner import SACLearner, Transitions
from selfpaced.deep.stepwise_sac import StepwiseSAC
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


def transitions(rng, n=64):
    return Transitions(
        observations=rng.normal(0, 3, (n, 5)).astype(np.float32),
        actions=rng.uniform(-1, 1, (n, 2)).astype(np.float32),
        rewards=-rng.random(n).astype(np.float32),
        following=rng.normal(0, 3, (n, 5)).astype(np.float32),
        ended=(rng.random(n) < 0.3).astype(np.float32),
    )


def test_gradient_steps_are_those_of_stable_baselines3(monkeypatch):
    for package in ("torch", "gymnasium", "stable_baselines3"):
        pytest.importorskip(package, reason="needs the extra sb3")
    import gymnasium
    import stable_baselines3
    import torch
    from stable_baselines3.common.buffers import ReplayBufferSamples
    from stable_baselines3.common.logger import Logger

    class Spaces(gymnasium.Env):
        """Nothing but spaces."""

        observation_space = gymnasium.spaces.Box(-9.0, 9.0, (5,), np.float32)
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    model = stable_baselines3.SAC(
        "MlpPolicy",
        Spaces(),
        learning_rate=1e-2,
        gamma=0.9,
        policy_kwargs={"net_arch": [16, 16], "activation_fn": torch.nn.ReLU},
        device="cpu",
    )
    model.set_logger(Logger(folder=None, output_formats=[]))
    learner = SACLearner(5, 2, (16, 16), 0.9, 1e-2, np.random.default_rng(0))
    actor, critics, slow = model.actor, model.critic.q_networks, model.critic_target.q_networks

    def parts(sequence):
        return [layer for layer in sequence if hasattr(layer, "weight")]

    heads = np.split(learner.policy_layers[-1][0][0], 2, axis=1)
    head_biases = np.split(learner.policy_layers[-1][1][0, 0], 2)
    pairs = [
        *(
            (layer, weights[0], biases[0, 0])
            for layer, (weights, biases) in zip(
                parts(actor.latent_pi), learner.policy_layers[:-1], strict=True
            )
        ),
        *zip((actor.mu, actor.log_std), heads, head_biases, strict=True),
    ]
    for theirs, ours in ((critics, learner._critic_layers), (slow, learner._slow_layers)):
        for k, network in enumerate(theirs):
            pairs += [(t, W[k], b[k, 0]) for t, (W, b) in zip(parts(network), ours, strict=True)]
    with torch.no_grad():
        for layer, weights, biases in pairs:
            layer.weight.copy_(torch.from_numpy(weights.T.copy()))
            layer.bias.copy_(torch.from_numpy(biases.copy()))
    before = [weights.copy() for _, weights, _ in pairs]
    rng = np.random.default_rng(1)
    noises, samples = [], []  # what Stable-Baselines3 draws next
    normal = torch.distributions.Normal
    monkeypatch.setattr(normal, "rsample", lambda self: self.loc + self.scale * noises.pop(0))
    monkeypatch.setattr(model.replay_buffer, "sample", lambda *_, **__: samples.pop())
    for _ in range(4):
        batch = transitions(rng)
        noise = rng.standard_normal((2, 64, 2)).astype(np.float32)
        noises += [torch.from_numpy(rows) for rows in noise]
        tensors = [torch.from_numpy(column.reshape(64, -1)) for column in batch]
        seen, actions, rewards, following, ended = tensors
        samples.append(ReplayBufferSamples(seen, actions, following, ended, rewards))
        model.train(1, 64)
        losses = learner.step(batch, *noise)
        logged = model.logger.name_to_value
        assert losses.temperature == pytest.approx(logged["train/ent_coef"], rel=1e-4)
        assert losses.critic == pytest.approx(logged["train/critic_loss"], rel=1e-3)
        assert losses.actor == pytest.approx(logged["train/actor_loss"], rel=1e-3, abs=1e-4)
        model.logger.name_to_value.clear()
        model.logger.name_to_count.clear()
    for (layer, weights, biases), first in zip(pairs, before, strict=True):
        np.testing.assert_allclose(weights, layer.weight.detach().numpy().T, atol=1e-4)
        np.testing.assert_allclose(biases, layer.bias.detach().numpy(), atol=1e-4)
        assert np.abs(weights - first).max() > 1e-4  # all of them have learned


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
    held = training._replay.state()
    assert len(training._replay) == 150
    seen, following, ended = held["observations"], held["following"], held["ended"]
    same_context = (seen[1:, :, 2:] == seen[:-1, :, 2:]).all(axis=2)
    going_on = same_context & (ended[:-1] == 0)
    assert going_on.sum() > 100
    np.testing.assert_array_equal(seen[1:][going_on], following[:-1][going_on])
    assert np.abs(held["actions"]).max() <= 1.0
    moved = np.hypot(*np.moveaxis(following[..., :2] - seen[..., :2], -1, 0))
    assert moved.max() <= 0.3 + 1e-6
    np.testing.assert_array_equal(held["rewards"] == 0, ended == 1)


def test_the_oldest_transitions_are_replaced_and_all_others_are_drawn():
    buffer = ReplayBuffer(places=4, n=2, observed=1, actions=1)
    for step in range(6):
        rows = np.array([[2.0 * step], [2.0 * step + 1]])
        buffer.add(rows, rows, rows[:, 0], rows, np.zeros(2, dtype=bool))
    drawn = buffer.sample(500, np.random.default_rng(0))
    assert {*drawn.rewards.tolist()} == {*range(4, 12)}
    np.testing.assert_array_equal(drawn.observations[:, 0], drawn.rewards)


def test_there_is_one_gradient_step_per_step_of_all_environments():
    training = SMALL.start(problem(), streams_of(0))
    training.advance()
    assert training.spent.steps == 150
    assert training._learner.steps == (150 - 90) // 3


def test_the_stored_policy_answers_as_the_trained_network():
    training = SMALL.start(problem(), streams_of(0))
    training.advance()
    seen = np.random.default_rng(0).normal(0, 5, size=(20, 5))
    noise = np.random.default_rng(1).normal(size=(20, 2))
    m, std = training.policy.parameters(seen)
    acted = training._learner.act(seen.astype(np.float32), noise.astype(np.float32))
    np.testing.assert_allclose(np.tanh(m + std * noise), acted, atol=1e-5)


def test_a_checkpoint_with_200_000_transitions_is_small_and_quick():
    config = dataclasses.replace(SMALL, environments=5, buffer_size=200_000)
    training = config.start(problem(), streams_of(0))
    held = training._replay.state()
    rng = np.random.default_rng(0)
    full = {name: rng.random((40_000, *column.shape[1:])) for name, column in held.items()}
    training._replay.restore(full | {"added": np.array(40_000)})
    began = time.process_time()
    content = npz_bytes(training.state())
    assert time.process_time() - began < 2.0  # 0.1 s where it was measured
    assert 5e6 < len(content) < 15e6


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
