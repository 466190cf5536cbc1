"""Networks, Adam, PPO's objective and advantages, against finite differences and closed forms."""

import numpy as np
import pytest

from selfpaced.maths.perceptron import Adam, Perceptron
from selfpaced.maths.policy_gradient import (
    generalised_advantages,
    log_probabilities,
    mean_kl,
    surrogate,
)

NETWORK = Perceptron((3, 5, 4, 2))


def slope(function, point, k, size=1e-6):
    """The derivative of `function` by entry k of the flat array `point`."""
    up, down = point.copy(), point.copy()
    up.flat[k] += size
    down.flat[k] -= size
    return (function(up) - function(down)) / (2 * size)


def test_the_gradient_of_a_network_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    parameters = NETWORK.initial(rng, gain=1.0).astype(float)  # finite differences need digits
    parameters += 0.1 * rng.standard_normal(len(parameters))
    x, weights = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))

    def loss(p):
        return float((weights * NETWORK.outputs(p, x)[-1]).sum())

    gradient = np.zeros_like(parameters)
    layers = NETWORK.layers(parameters)
    NETWORK.add_gradient(layers, NETWORK.layers(gradient), NETWORK.outputs(parameters, x), weights)
    expected = [slope(loss, parameters, k) for k in range(len(parameters))]
    np.testing.assert_allclose(gradient, expected, atol=1e-7)


def test_initial_weights_are_orthogonal_and_biases_zero():
    wide = Perceptron((6, 64, 64, 2))
    layers = wide.layers(wide.initial(np.random.default_rng(0), gain=0.01))
    for (weights, biases), gain in zip(layers, (2**0.5, 2**0.5, 0.01), strict=True):
        gram = weights @ weights.T if weights.shape[0] < weights.shape[1] else weights.T @ weights
        np.testing.assert_allclose(gram, gain**2 * np.eye(len(gram)), atol=1e-5)
        assert not biases.any()


def test_the_first_step_of_adam_has_the_length_of_the_learning_rate():
    parameters = np.zeros(3, dtype=np.float32)
    Adam(3).step(parameters, np.array([5.0, -0.1, 20.0], dtype=np.float32), 0.01)
    np.testing.assert_allclose(parameters, [-0.01, 0.01, -0.01], rtol=2e-4)


def case(seed=1, n=40):
    rng = np.random.default_rng(seed)
    actions, means = rng.normal(size=(2, n, 2))
    log_std = rng.normal(size=2) * 0.3
    old = log_probabilities(actions, means + 0.2 * rng.normal(size=(n, 2)), log_std)
    return actions, means, log_std, old, rng.normal(size=n)


def test_log_probabilities_are_those_of_the_normal_distribution():
    from scipy.stats import norm

    actions, means, log_std, _, _ = case()
    expected = norm.logpdf(actions, means, np.exp(log_std)).sum(axis=1)
    np.testing.assert_allclose(log_probabilities(actions, means, log_std), expected, rtol=1e-6)


def test_gradients_of_the_clipped_objective_are_those_of_finite_differences():
    actions, means, log_std, old, advantages = case()
    found = surrogate(actions, means, log_std, old, advantages, 0.2)
    assert 0.1 < found.clipped < 0.9  # both branches count

    def by_means(m):
        return surrogate(actions, m, log_std, old, advantages, 0.2).loss

    def by_std(s):
        return surrogate(actions, means, s, old, advantages, 0.2).loss

    expected = [slope(by_means, means, k) for k in range(means.size)]
    np.testing.assert_allclose(found.by_means.ravel(), expected, atol=1e-7)
    expected = [slope(by_std, log_std, k) for k in range(2)]
    np.testing.assert_allclose(found.by_log_std, expected, atol=1e-6)


def test_without_a_change_of_the_policy_the_objective_is_the_mean_advantage():
    actions, means, log_std, _, advantages = case()
    old = log_probabilities(actions, means, log_std)
    found = surrogate(actions, means, log_std, old, advantages, 0.2)
    assert found.loss == pytest.approx(-advantages.mean())
    assert mean_kl(means, log_std, means, log_std) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_advantages_are_sums_of_temporal_differences_within_an_episode(lam):
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, 6, 3))
    last, gamma = rng.normal(size=3), 0.9
    over = np.zeros((6, 3), dtype=bool)
    over[2, 0] = over[5, 1] = True
    found = generalised_advantages(rewards, values, last, over, gamma, lam)
    following = np.vstack([values[1:], last])
    delta = rewards + gamma * np.where(over, 0.0, following) - values
    for row in range(3):
        for t in range(6):
            total, weight = 0.0, 1.0
            for k in range(t, 6):
                total += weight * delta[k, row]
                weight *= gamma * lam
                if over[k, row]:
                    break
            assert found[t, row] == pytest.approx(total, rel=1e-9, abs=1e-12)


def test_the_kl_of_two_policies_is_that_of_gaussians():
    from selfpaced import Gaussian

    _, means, log_std, _, _ = case(n=5)
    old_means, old_log_std = means + 0.3, log_std - 0.2
    old, new = (np.diag(np.exp(2 * s)) for s in (old_log_std, log_std))
    pairs = zip(old_means, means, strict=True)
    expected = np.mean([Gaussian(a, old).kl(Gaussian(b, new)) for a, b in pairs])
    assert mean_kl(old_means, old_log_std, means, log_std) == pytest.approx(expected)
