"""PPO in NumPy: it equals Stable-Baselines3's, goes on exactly, and learns."""

import dataclasses

import numpy as np
import pytest

from selfpaced import Gaussian, Problem, UniformTeacher, load_policy
from selfpaced.deep.stepwise_ppo import StepwisePPO
from selfpaced.maths.policy import policy_from
from selfpaced.maths.policy_gradient import log_probabilities
from selfpaced.maths.randomness import streams_of
from selfpaced.tasks.contextual_pointmass import ContextualPointMass
from selfpaced.tasks.gate import Gate

PROBLEM = Problem(ContextualPointMass(), Gaussian([0.0, 7.0], np.diag([0.1, 0.1])))
SMALL = StepwisePPO(environments=4, steps=30, minibatches=4, epochs=2, hidden=(8, 8))


class GivenOrders:
    """In place of a generator: permutations that are known beforehand."""

    def __init__(self, orders):
        self._orders = list(orders)

    def permutation(self, n):
        return self._orders.pop(0)


@pytest.mark.parametrize("max_gradient_norm", [None, 0.05])
def test_an_update_is_that_of_stable_baselines3(max_gradient_norm):
    pytest.importorskip("stable_baselines3", reason="needs the extra sb3")
    import gymnasium
    import stable_baselines3
    import torch
    from stable_baselines3.common.logger import Logger

    steps, n, size, epochs = 12, 4, 16, 3
    config = StepwisePPO(
        environments=n,
        steps=steps,
        minibatches=steps * n // size,
        epochs=epochs,
        hidden=(16, 16),
        entropy_weight=0.01,
        max_gradient_norm=max_gradient_norm,
        value_weight=0.7,
        learning_rate=1e-2,
    )
    training = config.start(PROBLEM, streams_of(0))
    environments = [
        lambda: gymnasium.make("selfpaced.deep.environments:selfpaced/ContextualPointMass2D-v0")
    ] * n
    model = stable_baselines3.PPO(
        "MlpPolicy",
        stable_baselines3.common.vec_env.DummyVecEnv(environments),
        n_steps=steps,
        batch_size=size,
        n_epochs=epochs,
        learning_rate=1e-2,
        ent_coef=0.01,
        vf_coef=0.7,
        max_grad_norm=max_gradient_norm or 1e9,
        policy_kwargs={"net_arch": [16, 16], "activation_fn": torch.nn.Tanh},
        device="cpu",
    )
    model.set_logger(Logger(folder=None, output_formats=[]))
    nets = model.policy.mlp_extractor
    theirs = [
        *[m for m in (*nets.policy_net, model.policy.action_net) if hasattr(m, "weight")],
        *[m for m in (*nets.value_net, model.policy.value_net) if hasattr(m, "weight")],
    ]
    ours = [*training._actor_layers, *training._critic_layers]
    with torch.no_grad():
        for layer, (weights, biases) in zip(theirs, ours, strict=True):
            layer.weight.copy_(torch.from_numpy(weights.T.copy()))
            layer.bias.copy_(torch.from_numpy(biases.copy()))
    rng = np.random.default_rng(0)
    buffer = model.rollout_buffer
    shapes = {"observations": (6,), "actions": (2,), "means": (2,), "advantages": (), "returns": ()}
    drawn = {
        name: rng.normal(size=(steps, n, *shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    known = log_probabilities(
        drawn["actions"].reshape(-1, 2), drawn["means"].reshape(-1, 2), np.zeros(2)
    )
    for name, values in drawn.items():
        setattr(buffer, name, values)
    buffer.log_probs = known.reshape(steps, n).astype(np.float32)
    buffer.values = np.zeros((steps, n), dtype=np.float32)
    buffer.full = True
    columns = [  # in the order in which Stable-Baselines3 flattens its buffer
        np.swapaxes(drawn[name], 0, 1).reshape(steps * n, *shape) for name, shape in shapes.items()
    ]
    np.random.seed(3)
    orders = [np.random.permutation(steps * n) for _ in range(epochs)]
    np.random.seed(3)
    model.train()
    training._rng = GivenOrders(orders)
    training._improve(*columns)
    for layer, (weights, biases) in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(weights, layer.weight.detach().numpy().T, atol=2e-5)
        np.testing.assert_allclose(biases, layer.bias.detach().numpy(), atol=2e-5)
    expected = model.policy.log_std.detach().numpy()
    np.testing.assert_allclose(training._log_std, expected, atol=2e-5)
    assert np.abs(expected).max() > 0.01  # something was learned


def test_a_state_in_the_middle_of_episodes_is_restored_exactly():
    whole = SMALL.start(PROBLEM, streams_of(0))
    for _ in range(2):  # 60 of the 100 steps of an episode
        whole.advance()
    resumed = SMALL.start(PROBLEM, streams_of(9))
    resumed.restore({name: value.copy() for name, value in whole.state().items()})
    for _ in range(3):
        assert repr(whole.advance()) == repr(resumed.advance())  # nan equals nan
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, resumed.state()[name], err_msg=name)


def test_a_bound_on_the_kl_ends_an_update_early():
    bounded = dataclasses.replace(SMALL, learning_rate=0.05, target_kl=0.02)
    free, held = (
        config.start(PROBLEM, streams_of(0))
        for config in (dataclasses.replace(bounded, target_kl=None), bounded)
    )
    for training in (free, held):
        training.advance()
    assert free._adam.steps == 8
    assert held._adam.steps < 8


def test_the_rate_falls_until_an_epoch_fits_into_the_bound_and_rises_again():
    config = dataclasses.replace(SMALL, learning_rate=0.05, target_kl=0.02, adapts_rate=True)
    training = config.start(PROBLEM, streams_of(0))
    found = [training.advance() for _ in range(25)]
    rates = [0.05, *(metrics["learning_rate"] for metrics in found[1:])]
    for metrics, rate, following in zip(found, rates, rates[1:], strict=False):
        change = {True: 1 / 1.5, False: 1.0}[metrics["gradient_steps"] < 4]
        if metrics["gradient_steps"] == 8:  # all epochs
            change = min(1.5, 0.05 / rate)
        assert following == pytest.approx(change * rate)
    assert min(rates) < 0.03
    assert min(metrics["gradient_steps"] for metrics in found[:3]) < 4
    assert np.mean([metrics["gradient_steps"] for metrics in found[-10:]]) >= 4
    resumed = config.start(PROBLEM, streams_of(9))
    resumed.restore(training.state())
    assert repr(resumed.advance()) == repr(training.advance())


def test_what_is_measured_averages_the_updates_and_learning_does_not_see_it():
    newest = SMALL.start(PROBLEM, streams_of(0))
    averaged = dataclasses.replace(SMALL, averaged_updates=3).start(PROBLEM, streams_of(0))
    after = []  # the last layer of the policy after each update
    for _ in range(5):
        assert repr(newest.advance()) == repr(averaged.advance())
        after.append(newest.policy.weights[-1])
        np.testing.assert_array_equal(after[-1], newest._actor_layers[-1][0].astype(float))
    mean = np.mean(after[:3], axis=0)  # all updates count the same until there are three
    for weights in after[3:]:
        mean = mean + (weights - mean) / 3
    np.testing.assert_allclose(averaged.policy.weights[-1], mean, rtol=0, atol=1e-6)
    assert np.abs(averaged.policy.weights[-1] - after[-1]).max() > 1e-4


def test_an_average_is_restored_exactly():
    config = dataclasses.replace(SMALL, averaged_updates=3)
    whole, resumed = (config.start(PROBLEM, streams_of(seed)) for seed in (0, 9))
    for _ in range(4):
        whole.advance()
    resumed.restore(whole.state())
    for training in (whole, resumed):
        training.advance()
    for found, expected in zip(resumed.policy.weights, whole.policy.weights, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_wide_gate_is_learned():
    config = StepwisePPO(environments=16, steps=64, minibatches=16, teacher=UniformTeacher())
    problem = Problem(ContextualPointMass(), Gaussian([0.0, 7.0], np.diag([0.01, 0.01])))
    training = config.start(problem, streams_of(0))
    contexts = np.tile([0.0, 7.5], (30, 1))
    first = training.measure(contexts, np.random.default_rng(0)).rewards.mean()
    for _ in range(15):
        training.advance()
    last = training.measure(contexts, np.random.default_rng(0)).rewards.mean()
    assert last > first + 0.5


def test_a_policy_keeps_the_bounds_of_its_task_in_its_file(tmp_path):
    policy = SMALL.start(PROBLEM, streams_of(0)).policy
    arrays = policy.arrays()
    np.savez(tmp_path / "policy.npz", **arrays)
    for found in (policy_from(arrays), load_policy(tmp_path / "policy.npz")):
        assert (found.action_limit, found.observation_clip) == (10.0, np.inf)
    seen = np.random.default_rng(0).normal(0, 50, size=(5, 6))
    np.testing.assert_array_equal(found.mean(seen), policy.mean(seen))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"minibatches": 7}, "minibatches must divide the 120 steps of an update; got 7"),
        ({"target_kl": -1.0}, "target_kl"),
        ({"adapts_rate": True}, "adapts_rate needs a target_kl"),
        ({"averaged_updates": 0}, "averaged_updates must be a whole number of at least 1; got 0"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1; got 0"),
    ],
)
def test_bad_numbers_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(SMALL, **change)


def test_other_tasks_are_refused():
    gate = Problem(Gate(), Gaussian([0, 0.25], np.diag([7, 0.003])))
    with pytest.raises(ValueError, match="task must be a StepwiseTask or a GymTask; Gate is not"):
        SMALL.start(gate, streams_of(0))
