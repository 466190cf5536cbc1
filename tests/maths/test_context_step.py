"""The self-paced step: exact gradients, bounds that hold, closed forms."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from selfpaced import Gaussian
from selfpaced.maths.context_step import (
    TriedContexts,
    _WhitenedProblem,
    step_by_alpha,
    step_to_target,
    step_to_value,
)
from selfpaced.maths.mixture import fit_mixtures


def problem(seed=0, d=2, n=200):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    old = Gaussian(rng.normal(size=d), A @ A.T + 0.5 * np.eye(d))
    target = Gaussian(rng.normal(size=d) + 2, 0.1 * np.eye(d))
    contexts = old.sample(n, rng)
    values = (contexts[:, 0] < old.mean[0] + 0.5).astype(float)
    return old, target, contexts, values


def tried(contexts, values):
    """Drawn from the distribution that is now."""
    return TriedContexts(contexts, values, np.full(len(values), 1 / len(values)))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_gradients_are_exact(d):
    old, target, contexts, values = problem(d=d)
    view = _WhitenedProblem(old, target, tried(contexts, values))
    x = 0.2 * np.random.default_rng(1).normal(size=d + d * (d + 1) // 2)
    for function in (view.value, view.kl_to_target, view.kl_from_old, view.loss):
        numeric = approx_fprime(x, lambda x, function=function: function(x)[0], 1e-7)
        np.testing.assert_allclose(function(x)[1], numeric, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_divergences_are_those_of_the_gaussians(d):
    old, target, contexts, values = problem(d=d)
    view = _WhitenedProblem(old, target, tried(contexts, values))
    x = 0.3 * np.random.default_rng(2).normal(size=d + d * (d + 1) // 2)
    m, L, *_ = view._parts(x)
    chol = old.chol @ L
    new = Gaussian(old.mean + old.chol @ m, chol @ chol.T)
    assert view.kl_to_target(x)[0] == pytest.approx(new.kl(target))
    assert view.kl_from_old(x)[0] == pytest.approx(old.kl(new))
    weights = np.exp(new.log_prob(contexts) - old.log_prob(contexts))
    assert view.value(x)[0] == pytest.approx((weights * values).mean())


@pytest.mark.parametrize("epsilon", [0.02, 0.15, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_a_step_respects_its_bounds_and_comes_nearer(seed, epsilon):
    old, target, contexts, values = problem(seed)
    bound = 0.9 * values.mean()
    step = step_to_target(old, target, tried(contexts, values), bound, epsilon)
    assert not step.failed
    assert old.kl(step.contexts) <= epsilon * 1.001
    assert step.contexts.kl(target) < old.kl(target)
    weights = np.exp(step.contexts.log_prob(contexts) - old.log_prob(contexts))
    assert (weights * values).mean() >= bound - 1e-5
    assert step.value == pytest.approx((weights * values).mean(), abs=1e-6)


def test_without_a_bound_that_matters_it_arrives_at_the_target():
    old, target, _, _ = problem(n=2000)
    here = old
    for _ in range(200):
        drawn = here.sample(200, np.random.default_rng(0))
        here = step_to_target(here, target, tried(drawn, np.ones(200)), 0.0, 0.3).contexts
        if here.kl(target) < 1e-6:
            break
    np.testing.assert_allclose(here.mean, target.mean, atol=1e-3)
    np.testing.assert_allclose(here.covariance, target.covariance, atol=1e-3)


def test_a_step_to_value_goes_where_the_value_is():
    old, _, contexts, values = problem()
    step = step_to_value(old, tried(contexts, values), 0.2)
    assert not step.failed
    assert old.kl(step.contexts) <= 0.2001
    assert step.value > values.mean() + 0.05
    assert step.contexts.mean[0] < old.mean[0]


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_values_does_not_matter(factor):
    old, target, contexts, values = problem()
    plain = step_to_target(old, target, tried(contexts, values), 0.5, 0.15).contexts
    scaled = step_to_target(
        old, target, tried(contexts, factor * values), factor * 0.5, 0.15
    ).contexts
    np.testing.assert_allclose(scaled.mean, plain.mean, atol=1e-4)


@pytest.mark.parametrize("shift", [-1000.0, -1.0, 100.0])
def test_the_zero_of_the_values_does_not_matter(shift):
    old, target, contexts, values = problem()
    plain = step_to_target(old, target, tried(contexts, values), 0.5, 0.15)
    moved = step_to_target(old, target, tried(contexts, values + shift), 0.5 + shift, 0.15)
    np.testing.assert_allclose(moved.contexts.mean, plain.contexts.mean, atol=1e-4)
    assert moved.value == pytest.approx(plain.value + shift, abs=1e-3)
    up = step_to_value(old, tried(contexts, values + shift), 0.15).contexts
    np.testing.assert_allclose(
        up.mean, step_to_value(old, tried(contexts, values), 0.15).contexts.mean, atol=1e-4
    )


def test_contexts_drawn_before_count_as_likely_as_they_are_now():
    """Draws from an older distribution, with shares, lead where draws from now do."""
    old, target, _, _ = problem()
    rng = np.random.default_rng(1)
    before = Gaussian(old.mean - 0.4, 1.2 * old.covariance)

    def successes(contexts):
        return (contexts[:, 0] < old.mean[0] + 0.5).astype(float)

    now, earlier = old.sample(20_000, rng), before.sample(20_000, rng)
    shares = np.exp(old.log_prob(earlier) - before.log_prob(earlier))
    weighed = TriedContexts(earlier, successes(earlier), shares / shares.sum())
    assert weighed.value == pytest.approx(successes(now).mean(), abs=0.03)
    threshold = 0.9 * successes(now).mean()
    there = step_to_target(old, target, tried(now, successes(now)), threshold, 0.15)
    also = step_to_target(old, target, weighed, threshold, 0.15)
    assert not there.failed
    assert not also.failed
    np.testing.assert_allclose(also.contexts.mean, there.contexts.mean, atol=0.08)


def test_an_impossible_threshold_keeps_the_old_distribution_and_says_so():
    old, target, contexts, values = problem()
    step = step_to_target(old, target, tried(contexts, 0 * values), 0.5, 0.15)
    assert step.failed
    assert step.contexts is old


def test_a_mixture_finds_its_components_and_their_number():
    rng = np.random.default_rng(0)
    centres = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.9]])
    data = np.concatenate([c + 0.03 * rng.normal(size=(120, 2)) for c in centres])
    fits = fit_mixtures(data, range(1, 6), 1e-6, np.random.default_rng(1))
    best = min(fits, key=lambda fit: fit.aic)
    assert len(best.weights) == 3
    for centre in centres:
        assert np.linalg.norm(best.means - centre, axis=1).min() < 0.02
    np.testing.assert_allclose(best.weights, 1 / 3, atol=0.03)


def test_data_in_one_place_is_survived():
    (fit,) = fit_mixtures(np.ones((20, 2)), [3], 1e-4, np.random.default_rng(0))
    assert np.isfinite(fit.means).all()
    assert np.isfinite(fit.log_likelihood)


def test_one_component_has_a_closed_form_whatever_is_fitted_beside_it():
    data = np.random.default_rng(3).normal(size=(200, 3))
    for sizes in ([1], [3, 1, 2]):
        fit = fit_mixtures(data, sizes, 1e-4, np.random.default_rng(0))[sizes.index(1)]
        np.testing.assert_allclose(fit.means, data.mean(axis=0)[None], atol=1e-8)
        covariance = np.cov(data.T, bias=True) + 1e-4 * np.eye(3)
        np.testing.assert_allclose(fit.covariances[0], covariance, atol=1e-8)
        densities = multivariate_normal(data.mean(axis=0), covariance).logpdf(data)
        assert fit.log_likelihood == pytest.approx(densities.sum(), rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.01, 0.15, 0.5])
@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0, 100.0])
def test_a_weighed_step_respects_its_bound(alpha, epsilon):
    old, target, contexts, values = problem(3)
    step = step_by_alpha(old, target.log_prob(contexts), tried(contexts, values), alpha, epsilon)
    assert not step.failed
    assert old.kl(step.contexts) <= epsilon * 1.001


def test_a_weighed_step_goes_to_the_target_or_to_the_value():
    old, target, contexts, values = problem(n=1000)
    to_value = step_by_alpha(
        old, target.log_prob(contexts), tried(contexts, values), 0.0, 0.2
    ).contexts
    to_target = step_by_alpha(
        old, target.log_prob(contexts), tried(contexts, values), 10.0, 0.2
    ).contexts
    assert to_target.kl(target) < 0.9 * old.kl(target)
    assert to_target.kl(target) < to_value.kl(target)
    assert to_value.mean[0] < old.mean[0] < to_target.mean[0]


def test_without_an_active_bound_a_weighed_step_has_a_closed_form():
    """q exp((V + alpha log(mu / q)) / alpha) = mu exp(V / alpha): mu moved, where V is linear."""
    rng = np.random.default_rng(0)
    old, target = Gaussian([0.0], [[1.0]]), Gaussian([0.4], [[0.8]])
    contexts = old.sample(200_000, rng)
    step = step_by_alpha(
        old, target.log_prob(contexts), tried(contexts, 0.5 * contexts[:, 0]), 2.0, 3.0
    )
    np.testing.assert_allclose(step.contexts.mean, 0.4 + 0.8 * 0.5 / 2.0, atol=0.01)
    np.testing.assert_allclose(step.contexts.covariance, [[0.8]], atol=0.01)


@pytest.mark.parametrize("same_object", [True, False])
def test_contexts_that_have_arrived_stay(same_object):
    target = Gaussian([0.5, -1.0], np.diag([1e-4, 4e-4]))
    old = target if same_object else Gaussian(target.mean, target.covariance)
    contexts = target.sample(50, np.random.default_rng(0))
    values = np.linspace(0.0, 1.0, 50)
    step = step_to_target(old, target, tried(contexts, values), 0.4, 0.15)
    assert step.contexts is target
    assert not step.failed
    assert step.value == pytest.approx(0.5)
