"""The soft maximum, both duals and their minimiser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfpaced.maths.box import Box
from selfpaced.maths.features import rbf_grid
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.reps import (
    creps_dual,
    creps_weights,
    effective_samples,
    minimise,
    reps_weights,
    soft_max,
    sprl_dual,
    sprl_weights,
    temperature,
)

BOX = Box([-5, 0.1], [5, 0.5])
FEATURES = rbf_grid(BOX, (10, 5), (0.6, 150.0))
WIDE = Gaussian([0, 0.25], np.diag([7, 0.003]))
TARGET = Gaussian([-4, 0.2], np.diag([0.1, 0.001]))


def data(n=1000, seed=0):
    """Rewards, log-ratios and features of n samples, much as in the gate task."""
    rng = np.random.default_rng(seed)
    contexts = WIDE.sample(n, rng, BOX)
    log_ratio = TARGET.log_prob(contexts) - WIDE.log_prob(contexts)
    rewards = 100 + 5 * np.sin(contexts[:, 0]) + 3 * rng.normal(size=n)
    return rewards, log_ratio, FEATURES(contexts)


def duals():
    rewards, log_ratio, phi = data(60)
    phi = phi[:, ::10]
    rewards = (rewards - 100) / 3
    sprl = sprl_dual(rewards, log_ratio, phi, alpha=0.7, epsilon=0.4, ridge=1e-3)
    creps = creps_dual(rewards, phi, phi.mean(axis=0), epsilon=0.4, ridge=1e-3)
    rng = np.random.default_rng(1)
    v = rng.normal(size=phi.shape[1])
    return {"sprl": (sprl, np.r_[2.0, 3.0, v]), "creps": (creps, np.r_[2.0, v])}


def numerical_gradient(function, z, step=1e-6):
    def slope(i):
        e = np.zeros(len(z))
        e[i] = step * max(1.0, abs(z[i]))
        return (function(z + e) - function(z - e)) / (2 * e[i])

    return np.array([slope(i) for i in range(len(z))])


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=30),
    st.floats(0.01, 100),
    st.floats(-1e3, 1e3),
)
def test_the_soft_maximum_lies_between_mean_and_maximum_and_moves_with_a_shift(x, eta, shift):
    x = np.array(x)
    found = soft_max(x, eta)
    assert x.mean() - 1e-9 <= found.value <= x.max() + 1e-9
    assert found.weights.sum() == pytest.approx(1)
    moved = soft_max(x + shift, eta)
    assert moved.value == pytest.approx(found.value + shift, abs=1e-9)
    np.testing.assert_allclose(moved.weights, found.weights, atol=1e-9)


def test_the_soft_maximum_tends_to_mean_and_maximum():
    x = np.array([1.0, 2.0, 5.0])
    assert soft_max(x, 1e9).value == pytest.approx(x.mean(), rel=1e-6)
    assert soft_max(x, 1e-9).value == pytest.approx(x.max(), rel=1e-6)


def test_weights_and_kl_are_the_derivatives_of_the_soft_maximum():
    x = np.random.default_rng(0).normal(size=7)
    found = soft_max(x, 0.8)
    gradient = numerical_gradient(lambda y: soft_max(y, 0.8).value, x)
    np.testing.assert_allclose(found.weights, gradient, atol=1e-8)
    slope = numerical_gradient(lambda eta: soft_max(x, eta[0]).value, np.array([0.8]))[0]
    assert found.kl == pytest.approx(-slope, abs=1e-8)
    assert found.kl == pytest.approx(np.sum(found.weights * np.log(7 * found.weights)))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-2, 0.4, 3.0])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_at_the_temperature_the_weights_are_epsilon_from_uniform(epsilon, scale):
    x = scale * np.random.default_rng(0).normal(size=500)
    eta = temperature(x, epsilon)
    assert soft_max(x, eta).kl == pytest.approx(epsilon, rel=1e-6)


def test_two_rewards_have_the_temperature_of_the_closed_form():
    weight = 0.8  # of the better one of two samples, eta = gap / log(w / (1 - w))
    epsilon = weight * np.log(2 * weight) + (1 - weight) * np.log(2 * (1 - weight))
    assert temperature(np.array([0.0, 3.0]), epsilon) == pytest.approx(3 / np.log(weight / 0.2))


def test_when_the_bound_is_inactive_the_best_samples_share_the_weight():
    rewards = np.r_[np.ones(80), np.zeros(20)]  # log(100 / 80) = 0.22 < 0.4
    weights = reps_weights(rewards, 0.4)
    np.testing.assert_allclose(weights.policy, np.r_[np.full(80, 1 / 80), np.zeros(20)], atol=1e-12)
    assert weights.converged


@pytest.mark.parametrize("name", ["sprl", "creps"])
def test_gradient_and_hessian_agree_with_finite_differences(name):
    dual, z = duals()[name]
    found = dual(z)
    np.testing.assert_allclose(
        found.gradient, numerical_gradient(lambda y: dual(y).value, z), rtol=1e-5, atol=1e-7
    )
    hessian = np.array(
        [numerical_gradient(lambda y, i=i: dual(y).gradient[i], z) for i in range(len(z))]
    )
    np.testing.assert_allclose(found.hessian(), hessian, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["sprl", "creps"])
def test_duals_are_convex(name):
    dual, z = duals()[name]
    rng = np.random.default_rng(2)
    for _ in range(50):
        a = np.abs(z) * rng.uniform(0.2, 3, len(z))
        b = np.abs(z) * rng.uniform(0.2, 3, len(z))
        middle = dual((a + b) / 2).value
        assert middle <= (dual(a).value + dual(b).value) / 2 + 1e-9


@pytest.mark.parametrize("shift", [-7.0, 0.5, 100.0])
def test_duals_ignore_a_constant_shift_of_V(shift):
    """Fails on the printed C-REPS dual, which lacks E_mu[V]."""
    rewards, log_ratio, phi = data(50)
    phi = np.c_[phi, np.ones(50)]  # a feature that shifts V
    sprl = sprl_dual(rewards, log_ratio, phi, alpha=0.7, epsilon=0.4, ridge=0.0)
    creps = creps_dual(rewards, phi, phi.mean(axis=0), epsilon=0.4, ridge=0.0)
    v = np.random.default_rng(0).normal(size=phi.shape[1])
    shifted = v + np.r_[np.zeros(phi.shape[1] - 1), shift]
    assert sprl(np.r_[2, 3, shifted]).value == pytest.approx(sprl(np.r_[2, 3, v]).value)
    assert creps(np.r_[2, shifted]).value == pytest.approx(creps(np.r_[2, v]).value)


def test_the_dual_of_sprl_bounds_the_primal_from_above_and_is_minimised():
    """By weak duality G lies above the primal; the argmax of Algorithm 1 would be infinite."""
    rewards, log_ratio, phi = data(200)
    rewards = (rewards - rewards.max()) / 3
    dual = sprl_dual(rewards, log_ratio, phi, alpha=0.5, epsilon=0.4, ridge=1e-9)
    start = np.r_[1.0, 1.0, np.zeros(phi.shape[1])]
    minimum = minimise(dual, start)
    assert minimum.converged
    best = dual(minimum.z).value
    rng = np.random.default_rng(0)
    for _ in range(100):
        other = minimum.z + rng.normal(size=len(start)) * np.abs(minimum.z).max()
        other[:2] = np.abs(other[:2]) + 1e-3
        assert dual(other).value >= best - 1e-9
    feasible = np.full(200, 1 / 200)  # q itself: KL 0
    primal = feasible @ rewards + 0.5 * (feasible @ log_ratio)
    assert best >= primal - 1e-6
    far = start.copy()
    far[:2] = 1e6
    assert dual(far).value > best + 1e3  # unbounded above: there is nothing to maximise


def test_at_the_minimum_both_kl_constraints_hold_and_the_marginals_match():
    rewards, log_ratio, phi = data()
    found = sprl_weights(rewards, log_ratio, phi, alpha=1.0, epsilon=0.4, ridge=1e-9)
    n = len(rewards)
    for weights in (found.policy, found.contexts):
        assert np.sum(weights * np.log(np.maximum(n * weights, 1e-300))) <= 0.4 + 1e-6
    np.testing.assert_allclose(phi.T @ found.policy, phi.T @ found.contexts, atol=1e-5)


def test_creps_weights_reproduce_the_target_features():
    rewards, _, phi = data()
    mean = phi[:300].mean(axis=0)
    found = creps_weights(rewards, phi, mean, epsilon=0.4, ridge=1e-9)
    assert found.converged
    np.testing.assert_allclose(phi.T @ found.policy, mean, atol=1e-4)


def test_a_temperature_floor_counts_in_standard_deviations_and_makes_disasters_matter():
    rng = np.random.default_rng(0)
    rewards = 1e-3 * rng.normal(size=1000)
    rewards[:20] = -100.0
    phi = np.ones((1000, 1))
    config = {"epsilon": 0.4, "ridge": 1e-5}
    free = creps_weights(rewards, phi, phi[0], **config)
    floored = creps_weights(rewards, phi, phi[0], temperature_floor=0.01, **config)
    assert free.eta_p < 1e-2
    assert floored.eta_p == pytest.approx(0.01 * rewards.std())
    assert floored.converged
    assert effective_samples(free.policy) < 600 < 970 < effective_samples(floored.policy)
    assert floored.policy[:20].max() < 1e-9


def test_small_alpha_tends_to_reps():
    rewards, log_ratio, phi = data()
    at_zero = sprl_weights(rewards, log_ratio, phi, alpha=0.0, epsilon=0.4, ridge=1e-5)
    near = sprl_weights(rewards, log_ratio, phi, alpha=1e-9, epsilon=0.4, ridge=1e-5)
    np.testing.assert_allclose(near.policy, at_zero.policy, atol=1e-6)


def test_derived_weights_are_creps_weights_over_context_weights():
    rewards, log_ratio, phi = data()
    config = {"alpha": 1.0, "epsilon": 0.4, "ridge": 1e-5}
    creps = sprl_weights(rewards, log_ratio, phi, policy_weights="creps", **config)
    derived = sprl_weights(rewards, log_ratio, phi, policy_weights="derived", **config)
    expected = creps.policy / creps.contexts
    np.testing.assert_allclose(derived.policy, expected / expected.sum(), rtol=1e-6)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1e-8), (0.0, 1e8), (-1000.0, 1e-3)])
def test_shifted_and_scaled_rewards_weigh_samples_alike(shift, scale):
    rewards, log_ratio, phi = data()
    config = {"epsilon": 0.4, "ridge": 1e-5}
    one = sprl_weights(rewards, log_ratio, phi, alpha=1.0, **config)
    other = sprl_weights(shift + scale * rewards, log_ratio, phi, alpha=scale, **config)
    np.testing.assert_allclose(other.policy, one.policy, atol=1e-7)
    np.testing.assert_allclose(other.contexts, one.contexts, atol=1e-7)
    assert other.eta_p == pytest.approx(scale * one.eta_p, rel=1e-4)


def test_a_warm_start_gives_the_same_answer_in_fewer_steps():
    rewards, log_ratio, phi = data()
    config = {"alpha": 1.0, "epsilon": 0.4, "ridge": 1e-5}
    cold = sprl_weights(rewards, log_ratio, phi, **config)
    warm = sprl_weights(rewards, log_ratio, phi, start=cold.multipliers, **config)
    assert warm.steps < cold.steps
    np.testing.assert_allclose(warm.policy, cold.policy, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-250])
def test_a_warm_start_from_rewards_that_were_larger_by_many_decades_is_survived(scale):
    rewards, log_ratio, phi = data()[:3]
    mean, config = phi.mean(axis=0), {"epsilon": 0.4, "ridge": 1e-5}
    last = creps_weights(rewards, phi, mean, **config).multipliers
    warm = creps_weights(scale * rewards, phi, mean, start=last, **config)
    np.testing.assert_array_equal(
        warm.policy, creps_weights(scale * rewards, phi, mean, **config).policy
    )
    config |= {"alpha": 0.5 * scale}
    last = sprl_weights(rewards, log_ratio, phi, **config).multipliers
    warm = sprl_weights(scale * rewards, log_ratio, phi, start=last, **config)
    cold = sprl_weights(scale * rewards, log_ratio, phi, **config)
    np.testing.assert_array_equal(warm.policy, cold.policy)


def cases():
    """Inputs that must survive, by name: rewards, log-ratios, features, alpha, epsilon."""
    R, L, phi = data()
    contexts = WIDE.sample(1000, np.random.default_rng(0), BOX)
    yield "all rewards equal", R * 0 + 3, L, phi, 1.0, 0.4
    for outlier in (1e8, -1e8):
        spiked = R.copy()
        spiked[5] = outlier
        yield f"one outlier of {outlier:g}", spiked, L, phi, 1.0, 0.4
    for scale in (1e-8, 1e8):
        yield f"rewards times {scale:g}", scale * R, L, phi, 1.0, 0.4
    for alpha in (0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 1e3, 1e6):
        yield f"alpha {alpha:g}", R, L, phi, alpha, 0.4
    for epsilon in (1e-6, 1e-3, 0.1, 1.0, 3.0):
        yield f"epsilon {epsilon:g}", R, L, phi, 1.0, epsilon
    row = np.random.default_rng(0).normal(size=51)
    yield "rank-1 features", R, L, np.tile(row, (1000, 1)), 1.0, 0.4
    for n in (1, 3, 10):
        for epsilon in (1e-6, 0.4, 3.0):
            yield f"{n} samples, epsilon {epsilon:g}", R[:n], L[:n], phi[:n], 1.0, epsilon
    far = L - 230_000 * np.abs(contexts[:, 0])
    for alpha in (1e-3, 1.0, 1e6):
        yield f"target density 1e-100000, alpha {alpha:g}", R, far, phi, alpha, 0.4
    for share in (0.01, 0.5, 0.95):
        hits = (np.random.default_rng(1).random(1000) < share).astype(float)
        yield f"binary rewards, {share:.0%}", hits, L, phi, 0.01, 0.4


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case[0])
def test_the_solver_survives(case):
    _, rewards, log_ratio, phi, alpha, epsilon = case
    sprl = sprl_weights(rewards, log_ratio, phi, alpha=alpha, epsilon=epsilon, ridge=1e-5)
    creps = creps_weights(rewards, phi, phi.mean(axis=0), epsilon=epsilon, ridge=1e-5)
    for found in (sprl, creps):
        assert found.converged, f"gradient {found.gradient}"
        assert found.gradient <= 1e-6
        assert found.clamped == (epsilon > 0.9 * np.log(len(rewards)))
        assert np.isfinite([found.eta_p, found.eta_mu]).all()
        for weights in (found.policy, found.contexts):
            assert np.isfinite(weights).all()
            assert weights.sum() == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 200),
    st.floats(-6, 6),
    st.floats(-6, 6),
    st.floats(-5, 0.5),
    st.integers(0, 2**31),
)
def test_newton_converges_wherever_it_is_put(n, log_scale, log_alpha, log_epsilon, seed):
    rng = np.random.default_rng(seed)
    contexts = WIDE.sample(n, rng, BOX)
    rewards = 10**log_scale * rng.standard_t(2, size=n)
    log_ratio = TARGET.log_prob(contexts) - WIDE.log_prob(contexts)
    found = sprl_weights(
        rewards,
        log_ratio,
        FEATURES(contexts),
        alpha=10**log_alpha,
        epsilon=10**log_epsilon,
        ridge=1e-5,
    )
    assert found.gradient <= 1e-6


def test_effective_samples_count_equal_weights():
    assert effective_samples(np.full(8, 1 / 8)) == pytest.approx(8)
    assert effective_samples(np.r_[1.0, np.zeros(7)]) == pytest.approx(1)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_no_temperature_is_searched_for_values_that_are_not_finite(bad):
    with pytest.raises(ValueError, match="x must be finite"):
        temperature(np.array([0.0, 1.0, bad]), 0.4)
