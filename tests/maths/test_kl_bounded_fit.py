"""KL-bounded fits: the formulas of appendix B, the bound, and what must survive."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from selfpaced.maths import kl_bounded_fit as fit
from selfpaced.maths.arrays import factor_of
from selfpaced.maths.features import PolynomialFeatures, linear_features
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.kl_bounded_fit import (
    _largest_share,
    fit_joint,
    fit_policy,
    moved_back_until_entropy,
    with_entropy_floor,
)
from selfpaced.maths.policy import LinearGaussianPolicy


def problem(n=200, d_c=2, d=3, seed=0, degree=1):
    """An old policy and context distribution, samples near them, and two sets of weights."""
    rng = np.random.default_rng(seed)
    features = PolynomialFeatures(d_c, degree)
    spread = rng.normal(size=(d, d))
    policy = LinearGaussianPolicy(
        features, rng.normal(size=(d, features.outputs)), spread @ spread.T + 0.1 * np.eye(d)
    )
    distribution = Gaussian(rng.normal(size=d_c), np.diag(rng.uniform(0.5, 2, d_c)))
    contexts = distribution.sample(n, rng)
    thetas = policy.sample(contexts, rng) + 0.3
    w_policy, w_contexts = rng.dirichlet(np.full(n, 0.3), size=2)
    return policy, distribution, contexts, thetas, w_policy, w_contexts


def appendix_b(policy, distribution, contexts, thetas, w_policy, w_contexts, eta):
    """A, Sigma_y, mu_x and Sigma_x as printed, sample by sample."""
    phi = policy.features(contexts)
    n = len(contexts)
    left = sum(
        np.outer(w * y + eta / n * policy.A @ f, f)
        for w, y, f in zip(w_policy, thetas, phi, strict=True)
    )
    right = sum((w + eta / n) * np.outer(f, f) for w, f in zip(w_policy, phi, strict=True))
    A = left @ np.linalg.inv(right)
    residuals = thetas - phi @ A.T
    delta = A - policy.A
    covariance = (
        sum(w * np.outer(r, r) for w, r in zip(w_policy, residuals, strict=True))
        + eta * policy.covariance
        + eta / n * delta @ (phi.T @ phi) @ delta.T
    ) / (w_policy.sum() + eta)
    mean = (w_contexts @ contexts + eta * distribution.mean) / (w_contexts.sum() + eta)
    shift = mean - distribution.mean
    spread = (
        sum(w * np.outer(c - mean, c - mean) for w, c in zip(w_contexts, contexts, strict=True))
        + eta * (distribution.covariance + np.outer(shift, shift))
    ) / (w_contexts.sum() + eta)
    return A, covariance, mean, spread


def mean_kl(old, new, contexts):
    """Mean over contexts of KL(old || new), from the Gaussians' own formula."""
    pairs = zip(old.mean(contexts), new.mean(contexts), strict=True)
    return np.mean([Gaussian(a, old.covariance).kl(Gaussian(b, new.covariance)) for a, b in pairs])


@pytest.mark.parametrize("eta", [0.01, 0.5, 20.0])
def test_the_fit_at_a_given_eta_is_appendix_b(monkeypatch, eta):
    def at_eta(parts, epsilon):
        return [part.solution(eta) for part in parts]

    monkeypatch.setattr(fit, "_within_bound", at_eta)
    arguments = problem()
    found = fit_joint(*arguments, 0.1)
    A, covariance, mean, spread = appendix_b(*arguments, eta)
    np.testing.assert_allclose(found.policy.A, A, rtol=1e-8)
    np.testing.assert_allclose(found.policy.covariance, covariance, rtol=1e-8)
    np.testing.assert_allclose(found.contexts.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(found.contexts.covariance, spread, rtol=1e-8)


def test_a_loose_bound_gives_weighted_regression_and_weighted_moments():
    policy, distribution, contexts, thetas, w_policy, w_contexts = problem()
    found = fit_joint(policy, distribution, contexts, thetas, w_policy, w_contexts, 1e3)
    phi = policy.features(contexts)
    root = np.sqrt(w_policy)[:, None]
    A = np.linalg.lstsq(root * phi, root * thetas, rcond=None)[0].T
    np.testing.assert_allclose(found.policy.A, A, rtol=1e-7)
    mean = w_contexts @ contexts
    np.testing.assert_allclose(found.contexts.mean, mean, rtol=1e-10)
    deviations = contexts - mean
    np.testing.assert_allclose(
        found.contexts.covariance, (deviations.T * w_contexts) @ deviations, rtol=1e-9
    )


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.3])
def test_an_active_bound_is_met_by_the_sum_of_both_kls(epsilon):
    """Fails with the printed f(eta), which adds KL_x instead of subtracting it."""
    policy, distribution, contexts, thetas, w_policy, w_contexts = problem()
    found = fit_joint(policy, distribution, contexts, thetas, w_policy, w_contexts, epsilon)
    assert found.kl_policy == pytest.approx(mean_kl(policy, found.policy, contexts), rel=1e-8)
    assert found.kl_contexts == pytest.approx(distribution.kl(found.contexts), rel=1e-8)
    assert found.kl_contexts > 0.01 * epsilon  # both move, so that the sign of KL_x matters
    total = found.kl_policy + found.kl_contexts
    assert total <= epsilon
    assert total == pytest.approx(epsilon, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(1, 6),
    st.floats(-4, 0.5),
    st.integers(0, 10**6),
)
def test_every_fit_respects_its_kl_bound(n, d_c, d, log_epsilon, seed):
    epsilon = 10**log_epsilon
    policy, distribution, contexts, thetas, w_policy, w_contexts = problem(n, d_c, d, seed)
    found = fit_joint(policy, distribution, contexts, thetas, w_policy, w_contexts, epsilon)
    assert not found.kept_old
    realised = mean_kl(policy, found.policy, contexts) + distribution.kl(found.contexts)
    assert realised <= epsilon * 1.01 + 1e-9
    alone = fit_policy(policy, contexts, thetas, w_policy, epsilon)
    assert mean_kl(policy, alone.policy, contexts) <= epsilon * 1.01 + 1e-9


@pytest.mark.parametrize("effective", [1, 2, 8])
def test_few_effective_samples_survive(effective):
    policy, distribution, contexts, thetas, _, _ = problem()
    weights = np.zeros(len(contexts))
    weights[:effective] = 1 / effective
    found = fit_joint(policy, distribution, contexts, thetas, weights, weights, 0.4)
    assert not found.kept_old
    assert np.linalg.eigvalsh(found.policy.covariance)[0] > 0
    assert found.kl_policy + found.kl_contexts == pytest.approx(0.4, rel=1e-3)


@pytest.mark.parametrize("ratio", [1e-10, 1e-13, 1e-16])
def test_nearly_singular_covariances_stay_positive_definite_and_within_the_bound(ratio):
    policy, distribution, contexts, _, w_policy, w_contexts = problem(d=2)
    thin = LinearGaussianPolicy(policy.features, policy.A, np.diag([1.0, ratio]))
    thetas = thin.sample(contexts, np.random.default_rng(0))
    found = fit_joint(thin, distribution, contexts, thetas, w_policy, w_contexts, 0.4)
    assert not found.kept_old
    assert np.linalg.eigvalsh(found.policy.covariance)[0] > 0
    realised = mean_kl(thin, found.policy, contexts) + distribution.kl(found.contexts)
    assert realised <= 0.4 * 1.01


def test_contexts_that_do_not_vary_leave_their_gains_alone():
    policy, _distribution, contexts, thetas, w_policy, _ = problem(d_c=2)
    contexts = contexts.copy()
    contexts[:, 1] = 0.7
    found = fit_policy(policy, contexts, thetas, w_policy, 0.3)
    assert not found.kept_old
    assert np.isfinite(found.policy.A).all()
    shown = found.policy.mean(contexts) - policy.mean(contexts)
    assert np.abs(shown).max() < 10  # the fit moved within what the samples show


def test_an_impossible_fit_keeps_the_old_distribution_and_says_so():
    policy, distribution, contexts, thetas, w_policy, w_contexts = problem()
    thetas = thetas.copy()
    thetas[0] = 1e200  # the bound cannot be met in floating point
    with np.errstate(all="ignore"):
        found = fit_joint(policy, distribution, contexts, thetas, w_policy, w_contexts, 0.1)
    assert found.kept_old
    assert found.policy is policy
    assert found.contexts is distribution
    assert found.kl_policy == found.kl_contexts == 0.0


def test_the_mean_kl_of_two_policies_is_that_of_their_gaussians():
    policy, _, contexts, thetas, w_policy, _ = problem()
    found = fit_policy(policy, contexts, thetas, w_policy, 0.5)
    assert policy.mean_kl(found.policy, contexts) == pytest.approx(found.kl)
    assert found.kl == pytest.approx(mean_kl(policy, found.policy, contexts))
    assert policy.mean_kl(policy, contexts) == pytest.approx(0.0, abs=1e-12)


@given(st.floats(0.01, 3.0), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_raising_entropy_to_a_floor_the_old_policy_met_never_adds_kl(share, seed):
    policy, _, contexts, thetas, w_policy, _ = problem(seed=seed)
    fitted = fit_policy(policy, contexts, thetas, w_policy, 0.5).policy
    floor = policy.entropy - share * abs(policy.entropy - fitted.entropy)
    raised = with_entropy_floor(fitted, floor)
    assert raised.entropy >= floor - 1e-9
    assert mean_kl(policy, raised, contexts) <= mean_kl(policy, fitted, contexts) + 1e-9
    np.testing.assert_array_equal(raised.A, fitted.A)


@given(st.floats(0.0, 0.99), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_covariance_goes_to_the_fitted_one_just_as_far_as_its_entropy_may_fall(share, seed):
    policy, _, contexts, thetas, w_policy, _ = problem(seed=seed)
    fitted = fit_policy(policy, contexts, thetas, w_policy, 0.5).policy
    assume(fitted.entropy < policy.entropy)
    floor = policy.entropy - share * (policy.entropy - fitted.entropy)
    found = moved_back_until_entropy(policy, fitted, floor)
    assert found.entropy == pytest.approx(floor, abs=1e-6)
    assert found.entropy >= floor - 1e-12
    np.testing.assert_array_equal(found.A, fitted.A)
    # Between the two, direction by direction.
    way, gone = fitted.covariance - policy.covariance, found.covariance - policy.covariance
    t = np.vdot(gone, way) / np.vdot(way, way)
    assert -1e-12 <= t < 1.0
    np.testing.assert_allclose(gone, t * way, atol=1e-9)
    # The covariance's part of the KL only falls.
    near, far = (Gaussian(np.zeros(3), p.covariance) for p in (found, fitted))
    old = Gaussian(np.zeros(3), policy.covariance)
    assert old.kl(near) <= old.kl(far) + 1e-9
    assert moved_back_until_entropy(policy, fitted, fitted.entropy - 1.0) is fitted


def test_linear_features_fit_a_line_through_noiseless_samples():
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(50, 1))
    truth = np.array([[1.0, 2.0], [0.5, -1.0]])
    thetas = linear_features(1)(contexts) @ truth.T + 1e-3 * rng.normal(size=(50, 2))
    policy = LinearGaussianPolicy(linear_features(1), np.zeros((2, 2)), 1e-4 * np.eye(2))
    found = fit_policy(policy, contexts, thetas, np.full(50, 1 / 50), 1e9)
    np.testing.assert_allclose(found.policy.A, truth, atol=1e-3)


@pytest.mark.parametrize(
    ("offset", "unit"), [(0.0, 1.0), (1000.0, 1.0), (5000.0, 10.0), (0.0, 1e-7)]
)
def test_the_unit_and_the_zero_of_contexts_do_not_matter(offset, unit):
    rng = np.random.default_rng(0)
    place = rng.random((200, 1))
    thetas = 2.0 * place + 0.01 * rng.normal(size=(200, 1))
    features = linear_features(1)
    contexts = offset + unit * place
    policy = LinearGaussianPolicy(features, np.zeros((1, 2)), np.eye(1))
    fitted = fit_policy(policy, contexts, thetas, np.full(200, 1 / 200), 1e6).policy
    at = offset + unit * np.array([[0.2], [0.9]])
    np.testing.assert_allclose(fitted.mean(at)[:, 0], [0.4, 1.8], atol=0.01)


def nearly_singular(rng):
    """A policy of three parameters whose covariance has digits for only two of them."""
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    covariance = rotation @ np.diag([1.0, 1e-8, 1e-17]) @ rotation.T
    return (covariance + covariance.T) / 2


def test_between_nearly_singular_covariances_there_is_always_a_policy():
    """For rounding leaves many of their mixtures without a Cholesky factor."""
    features, singular = linear_features(1), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        wide, noise = nearly_singular(rng), 1e-17 * rng.normal(size=(3, 3))
        narrow = 0.5 * wide + noise + noise.T
        if factor_of(wide) is None or factor_of(narrow) is None:
            continue
        old, new = (LinearGaussianPolicy(features, np.zeros((3, 2)), c) for c in (wide, narrow))
        for share in (0.05, 0.3, 0.7):
            floor = old.entropy - share * (old.entropy - new.entropy)
            found = moved_back_until_entropy(old, new, floor)
            singular += np.array_equal(found.covariance, old.covariance)
    assert singular > 0  # it has been tried


@pytest.mark.parametrize("seed", range(30))
def test_a_covariance_moves_back_no_farther_than_the_entropy_asks(seed):
    """With directions that are lost, and entropies that are equal, but for rounding."""
    rng = np.random.default_rng(seed)
    gains = np.concatenate([rng.uniform(-1.0, 2.0, 5), [[], [1e-16 - 1.0]][seed % 2]])
    least = [0.0, -1e-12, -rng.exponential(), -30.0][seed % 4]

    def entropy(t):
        return float(np.log(np.maximum(1.0 + t * gains, 1e-17)).sum())

    t = _largest_share(gains, least)
    assert 0.0 <= t <= 1.0
    assert entropy(t) >= least - 1e-7
    assert t > 1.0 - 1e-6 or entropy(min(1.0, t * (1 + 1e-6) + 1e-9)) <= least + 1e-12


def test_equal_entropies_move_nothing_back():
    gains = np.array([1.0, -0.5])
    assert _largest_share(gains, float(np.log(1.0 + gains).sum())) == 1.0
    assert _largest_share(np.zeros(3), 0.0) == 1.0
