"""Beta distributions over a box, and DORAEMON's step, against SciPy and closed forms."""

import numpy as np
import pytest
import scipy

from selfpaced import Box
from selfpaced.maths.beta import IndependentBeta, beta_around
from selfpaced.maths.context_step import TriedContexts
from selfpaced.maths.entropy_step import EntropyProblem, step_to_entropy

BOX = Box([-1.0, 0.0, 5.0], [1.0, 1e-3, 1005.0])
OLD = IndependentBeta(BOX, [3.0, 1.0, 40.0], [2.0, 7.5, 40.0])


def tried(old, n, seed=0, success=0.4):
    rng = np.random.default_rng(seed)
    contexts = old.sample(n, rng)
    shares = rng.random(n)
    return TriedContexts(contexts, (rng.random(n) < success) * 1.0, shares / shares.sum())


def test_densities_moments_and_entropy_are_those_of_scipy():
    points = OLD.sample(40, np.random.default_rng(1))
    assert BOX.contains(points).all()
    known = [
        scipy.stats.beta(a, b, low, width)
        for a, b, low, width in zip(OLD.a, OLD.b, BOX.low, BOX.width, strict=True)
    ]
    log_width = np.log(BOX.width).sum()  # densities and entropies are those in the unit cube
    by_scipy = sum(one.logpdf(column) for one, column in zip(known, points.T, strict=True))
    np.testing.assert_allclose(OLD.log_prob(points), by_scipy + log_width, rtol=1e-9)
    assert OLD.entropy == pytest.approx(sum(one.entropy() for one in known) - log_width)
    np.testing.assert_allclose(OLD.mean, [one.mean() for one in known])
    np.testing.assert_allclose(OLD.deviation, [one.std() for one in known])


def test_the_uniform_distribution_has_entropy_zero_and_all_others_less():
    uniform = IndependentBeta(BOX, np.ones(3), np.ones(3))
    assert uniform.entropy == 0.0
    assert (uniform.log_prob(BOX.uniform(5, np.random.default_rng(0))) == 0.0).all()
    assert OLD.entropy < 0.0


def test_the_kl_is_the_mean_difference_of_log_densities():
    other = IndependentBeta(BOX, [2.0, 2.0, 30.0], [2.0, 6.0, 35.0])
    points = OLD.sample(200_000, np.random.default_rng(0))
    sampled = (OLD.log_prob(points) - other.log_prob(points)).mean()
    assert OLD.kl(other) == pytest.approx(sampled, abs=0.01)
    assert OLD.kl(OLD) == pytest.approx(0.0, abs=1e-12)


def test_the_first_contexts_have_their_mode_at_the_nominal_context():
    mode = BOX.low + np.array([0.0, 0.3, 1.0]) * BOX.width
    first = beta_around(BOX, mode, 50.0)
    np.testing.assert_allclose(first.a + first.b, 100.0)
    np.testing.assert_allclose((first.a - 1) / 98.0, [0.0, 0.3, 1.0])


@pytest.mark.parametrize("name", ["value", "loss", "narrowness", "kl_from_old"])
def test_gradients_are_exact(name):
    problem = EntropyProblem(OLD, tried(OLD, 60))
    function, rng = getattr(problem, name), np.random.default_rng(2)
    for _ in range(5):
        x = problem.start + 0.3 * rng.standard_normal(len(problem.start))
        gradient = function(x)[1]
        for k, unit in enumerate(np.eye(len(x))):
            difference = (function(x + 1e-6 * unit)[0] - function(x - 1e-6 * unit)[0]) / 2e-6
            assert gradient[k] == pytest.approx(difference, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("success", [0.0, 0.2, 0.7, 1.0])
def test_a_step_keeps_its_bounds_and_never_loses_entropy_without_need(seed, success):
    sample = tried(OLD, 80, seed, success)
    step = step_to_entropy(OLD, sample, 0.5, 0.1)
    assert step.contexts.kl(OLD) <= 0.1 + 1e-5
    before = EntropyProblem(OLD, sample).value(EntropyProblem(OLD, sample).start)[0]
    if before >= 0.5:
        assert step.value >= 0.5 - 1e-5
        assert step.contexts.entropy >= OLD.entropy - 1e-6
    else:
        assert step.value >= before
    assert step.failed == (success == 0.0)


def test_success_everywhere_leads_to_the_uniform_distribution():
    contexts = beta_around(Box([0.0] * 2, [1.0] * 2), np.full(2, 0.3), 100.0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        points = contexts.sample(200, rng)
        sample = TriedContexts(points, np.ones(200), np.full(200, 1 / 200))
        contexts = step_to_entropy(contexts, sample, 0.5, 0.5).contexts
    assert contexts.entropy > -1e-3


@pytest.mark.parametrize("exponents", [[0.5], [np.nan], [1.0, 2.0]])
def test_exponents_below_one_are_refused(exponents):
    with pytest.raises(ValueError, match="a must be"):
        IndependentBeta(Box([0.0], [1.0]), exponents, [1.0])
