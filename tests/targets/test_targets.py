"""Targets: samples and densities that agree, plain data, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from selfpaced import (
    SPRL,
    Alpha,
    Box,
    Categorical,
    Categories,
    Constrained,
    Empirical,
    FractionOfReward,
    FunctionTask,
    Gaussian,
    Independent,
    Integers,
    Mixture,
    Problem,
    StudentT,
    TaskSet,
    Uniform,
)
from selfpaced.maths.randomness import streams_of
from selfpaced.store.files import plain
from selfpaced.targets.stored import storable, target_from
from selfpaced.targets.target import central_context, checked_target, samples_in

UNIT = Box([0.0], [1.0])
TARGETS = [
    Gaussian([0.3], [[0.01]]),
    Uniform(UNIT),
    Uniform(Integers(0, 3)),
    Uniform(low=[0.2], high=[0.4]),
    Mixture([Gaussian([0.3], [[0.01]]), Uniform(UNIT)], [0.7, 0.3]),
    StudentT([0.5], [[0.01]], degrees=3),
    Empirical([[0.1], [0.9], [0.4]]),
    Categorical([0.2, 0.8]),
    Independent([Categorical([0.2, 0.8]), Gaussian([0.4], [[0.01]])]),
]


@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_targets_are_stored_as_plain_data_and_compare_by_value(target):
    again = target_from(plain(target))
    assert again == target
    assert hash(again) == hash(target)
    assert again != Gaussian([0.77], [[0.5]])
    assert storable(target, UNIT) is target


@pytest.mark.parametrize("target", [t for t in TARGETS if hasattr(t, "log_prob")], ids=repr)
def test_densities_are_those_of_the_samples(target):
    drawn = target.sample(4000, np.random.default_rng(0))
    assert drawn.shape == (4000, target.dimension)
    if isinstance(target, Categorical | Independent | Uniform):
        return  # their values are tested below
    edges = np.linspace(0.0, 1.0, 11)
    counts = np.histogram(drawn[:, 0], edges)[0] / len(drawn)
    fine = np.linspace(0.0, 1.0, 10_001)[:, None]
    masses = np.exp(target.log_prob(fine)).reshape(-1)[:-1].reshape(10, -1).mean(axis=1) / 10
    np.testing.assert_allclose(counts, masses, atol=0.03)


def test_densities_in_closed_form():
    points = np.array([[0.25], [0.75], [1.5]])
    np.testing.assert_allclose(Uniform(UNIT).log_prob(points), [0.0, 0.0, -np.inf])
    np.testing.assert_allclose(Uniform(Integers(0, 3)).log_prob(np.array([[2.0]])), [-np.log(4)])
    t = StudentT([0.5], [[0.04]], degrees=3)
    np.testing.assert_allclose(
        t.log_prob(points), stats.t.logpdf((points[:, 0] - 0.5) / 0.2, 3) - np.log(0.2)
    )
    one = Categorical([0.2, 0.8])
    np.testing.assert_allclose(one.log_prob(np.array([[1.0], [0.0]])), np.log([0.8, 0.2]))
    both = Independent([one, Uniform(UNIT)])
    np.testing.assert_allclose(both.log_prob(np.array([[1.0, 0.3]])), np.log([0.8]))
    half = Constrained(UNIT, lambda contexts: contexts[:, 0] > 0.5)
    np.testing.assert_allclose(Uniform(half).log_prob(points[1:2]), np.log([2.0]), atol=0.05)


def test_samples_in_a_space_are_truncated_to_what_is_feasible():
    half = Constrained(UNIT, lambda contexts: contexts[:, 0] > 0.5)
    drawn = samples_in(Empirical([[0.1], [0.9], [3.0]]), 50, np.random.default_rng(0), half)
    assert (drawn == 0.9).all()
    assert central_context(Empirical([[0.1], [0.2], [0.9]]), UNIT) == 0.2


class MyTarget:
    def sample(self, n, rng):
        return 10 ** rng.uniform(-2, 0, size=(n, 1))


def test_a_target_of_ones_own_needs_only_samples():
    assert checked_target(MyTarget(), UNIT) is not None
    assert isinstance(storable(MyTarget(), UNIT), Empirical)


def reach(contexts, thetas):
    return -np.abs(thetas[:, 0])


def problem(target, space=UNIT):
    return Problem(FunctionTask(reach, space, Box([-1], [1])), target)


ALPHA = SPRL(pacing=Alpha(schedule=FractionOfReward(zeta=0.1, k_alpha=1)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: problem(Empirical([[3.0], [4.0]])), "target must lie in Box"),
        (lambda: problem(Gaussian([3.0], [[0.1]])), "target must have its mean in"),
        (lambda: Mixture([Uniform(UNIT)], [0.9]), "weights must be at least 0 and sum to 1"),
        (lambda: Categorical([0.5, 0.6]), "probabilities must be at least 0 and sum to 1"),
        (lambda: Empirical(np.zeros((0, 2))), "points must be .* not empty"),
        (lambda: Mixture([]), "components must hold at least one"),
        (lambda: Categorical.over(Categories("a", "b"), {"c": 1.0}), "unknown category 'c'"),
        (lambda: problem(Gaussian([0.1, 0.1], np.eye(2))), "target must have 1 dimensions; got 2"),
        (lambda: problem(Categorical([0.5, 0.5], [[0, 0], [1, 1]])), "must have 1 dimensions"),
        (lambda: problem(0.5), r"target must be a distribution.*sample\(n, rng\)"),
        (lambda: problem(Gaussian([1.0], [[1.0]]), TaskSet("abc")), "which have no order"),
        (lambda: Uniform(low=[1.0], high=[0.0]), "low must not be above high"),
        (lambda: Uniform(), "must get a space, or low and high"),
        (
            lambda: ALPHA.start(problem(Empirical([[0.4]])), streams_of(0)),
            r"target must have a density .* use SPRL\(\)",
        ),
        (
            lambda: ALPHA.start(problem(Categorical([0.5, 0.5]), TaskSet("ab")), streams_of(0)),
            r"the space must have an order; use SPRL\(\)",
        ),
    ],
)
def test_bad_targets_are_refused_in_one_sentence_before_anything_runs(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
