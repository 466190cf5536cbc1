"""CMA-ES: a strong optimiser, our generator, a state without pickle."""

import numpy as np
import pytest

from selfpaced import CMAES, Box, FunctionTask, Gaussian, Problem, Samples, train

pytest.importorskip("cma", reason="needs the extra cma")

OPTIMUM = np.linspace(-9.0, 9.0, 14)
SCALES = np.logspace(0, 2, 14)


def quadratic(contexts, thetas):
    return -((thetas - OPTIMUM) ** 2 @ SCALES)


def problem(function=quadratic):
    task = FunctionTask(function, Box([0.0], [1.0]), Box([-10.0] * 14, [10.0] * 14))
    return Problem(task, Gaussian([0.7], [[0.01]]))


def test_a_bounded_quadratic_in_14_dimensions_is_solved_to_1e_6():
    run = train(problem(), CMAES(n_samples=100), iterations=60)
    assert run.reward > -1e-6
    np.testing.assert_allclose(run.policy.mean([0.7]), OPTIMUM, atol=1e-3)


def test_an_optimum_outside_the_bounds_is_found_on_the_border():
    def outside(contexts, thetas):
        assert (np.abs(thetas) <= 10).all()
        return -np.sum((thetas - 12.0) ** 2, axis=1)

    run = train(problem(outside), CMAES(n_samples=100), iterations=60)
    np.testing.assert_allclose(run.policy.mean([0.7]), 10.0, atol=1e-3)


def test_it_trains_on_the_mean_of_the_target_only():
    learner = CMAES().learner(problem())
    contexts, _ = learner.ask(np.random.default_rng(0))
    np.testing.assert_array_equal(contexts, np.full((len(contexts), 1), 0.7))


def test_its_curve_shares_the_axis_of_rollouts():
    run = train(problem(), CMAES(n_samples=100, buffer_size=10), iterations=5)
    population = 11  # 4 + 3 log 14
    for k, record in enumerate(run.records, start=1):
        assert 0 <= record["rollouts"] - 100 * (9 + k) < population


def test_it_draws_from_our_generator_only():
    state = np.random.get_state()[1].copy()
    one = train(problem(), CMAES(), seed=3, iterations=2)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    np.random.standard_normal(5)  # a program around us may use it as it likes
    other = train(problem(), CMAES(), seed=3, iterations=2)
    np.testing.assert_array_equal(one.policy.A, other.policy.A)


def test_the_policy_is_a_point_that_ignores_the_context():
    run = train(problem(), CMAES(), iterations=2)
    np.testing.assert_array_equal(run.policy.mean([0.1]), run.policy.mean([0.9]))
    samples = run.policy.sample(np.full((50, 1), 0.5), np.random.default_rng(0))
    assert np.ptp(samples, axis=0).max() < 1e-6


def test_the_population_can_be_chosen():
    learner = CMAES(population=30).learner(problem())
    assert len(learner.ask(np.random.default_rng(0))[1]) == 30
    with pytest.raises(ValueError, match="population must be a whole number of at least 2; got 1"):
        CMAES(population=1)


def advanced(learner, generations):
    """`learner` after so many generations of `quadratic` rewards."""
    rng = np.random.default_rng(0)
    for _ in range(generations):
        contexts, thetas = learner.ask(rng)
        assert np.isfinite(thetas).all()
        rewards = quadratic(contexts, thetas)
        learner.tell(Samples(contexts, thetas, rewards, np.full(len(thetas), np.nan)))
    return learner


def test_a_strategy_that_has_converged_goes_on_without_underflow():
    learner = advanced(CMAES().learner(problem()), 20)
    learner._strategy.sigma = 1e-305
    first = learner._strategy
    advanced(learner, 20)
    assert learner._strategy is first
    assert first.sigma >= 1e-101


@pytest.mark.parametrize("sigma", [1e17, np.inf, np.nan])
def test_a_strategy_that_has_drifted_away_begins_anew(sigma):
    learner = advanced(CMAES().learner(problem()), 3)
    first, learner._strategy.sigma = learner._strategy, sigma
    advanced(learner, 3)
    assert learner._strategy is not first
    assert learner._restarts == 1
