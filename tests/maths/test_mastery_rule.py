"""The rule by which contexts move: closed forms, bounds, and what it does on the way."""

import itertools

import numpy as np
import pytest

from selfpaced import Box, Gaussian, MasteryRule
from selfpaced.maths.mastery_rule import (
    NARROWEST,
    ContextMover,
    blend,
    step_towards,
)

BOX = Box([0.0, 0.0], [1.0, 10.0])
START = Gaussian([0.3, 3.0], np.diag([0.04, 4.0]))
TARGET = Gaussian([0.9, 9.0], np.diag([1e-5, 1e-3]))


def test_a_blend_is_the_normalised_product_of_powers():
    one, other = START, Gaussian([0.6, 5.0], [[0.02, 0.1], [0.1, 1.0]])
    points = np.random.default_rng(0).uniform([0, 0], [1, 10], size=(50, 2))
    for share in (0.0, 0.3, 1.0):
        mixed = (1 - share) * one.log_prob(points) + share * other.log_prob(points)
        difference = blend(one, other, share).log_prob(points) - mixed
        np.testing.assert_allclose(difference, difference[0], atol=1e-8)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 2.0])
def test_a_step_takes_what_its_bound_allows(epsilon):
    new = step_towards(START, TARGET, epsilon)
    assert new.kl(START) == pytest.approx(epsilon, rel=1e-6)
    assert new.kl(TARGET) < START.kl(TARGET)
    assert step_towards(START, new, epsilon * 1.01) is new


def mover(**changes):
    return ContextMover(MasteryRule(**changes), BOX, TARGET, START)


def test_it_searches_until_something_is_mastered_and_never_again():
    rule = mover()
    assert rule.decide(0.1) == rule.decide(0.69) == "search"
    assert rule.decide(0.7) == "on"
    rule.move("on")
    assert rule.decide(0.5) == "stay"
    assert rule.decide(0.1) == "back"


def test_without_the_search_it_waits_where_it_starts():
    rule = mover(search=False)
    assert rule.decide(0.0) == rule.decide(0.69) == "stay"
    assert rule.decide(0.7) == "on"


def test_mastering_everything_leads_to_the_target_itself():
    rule, kls = mover(), []
    for _ in range(300):
        before = rule.contexts
        rule.move(rule.decide(1.0))
        assert rule.contexts.kl(before) <= 0.1 * (1 + 1e-6)
        kls.append(rule.contexts.kl(TARGET))
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(kls))
    assert rule.contexts is TARGET


def test_contexts_on_their_way_are_no_narrower_than_asked():
    rule = mover(least_deviation=0.1)
    for _ in range(20):
        rule.move("on")
        if rule.contexts.kl(TARGET) > 1000:
            deviations = np.sqrt(np.diagonal(rule.contexts.covariance)) / BOX.width
            assert (deviations >= 0.1 - 1e-9).all()
    rule = mover(least_deviation=0.1)
    rule.follow_search(Gaussian([0.3, 3.0], np.diag([1e-8, 1e-6])))
    assert (np.sqrt(np.diagonal(rule.contexts.covariance)) / BOX.width >= 0.1 - 1e-9).all()


def test_stepping_back_ends_at_the_last_mastered_contexts():
    rule = mover()
    for _ in range(5):
        rule.move("on")
    mastered = rule.contexts
    rule.move("on")
    for _ in range(50):
        rule.move(rule.decide(0.0))
    assert rule.contexts is mastered


def test_it_goes_on_from_its_state():
    one, other = mover(), mover()
    for mastered in (0.2, 0.8, 0.9, 0.5, 0.1):
        one.move(one.decide(mastered))
    other.restore({name: np.array(value) for name, value in one.state().items()})
    for mastered in (0.1, 0.9, 0.9):
        for rule in (one, other):
            rule.move(rule.decide(mastered))
        np.testing.assert_array_equal(one.contexts.mean, other.contexts.mean)
        np.testing.assert_array_equal(one.contexts.covariance, other.contexts.covariance)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"step": 0.0}, "step"),
        ({"lost_below": 0.8}, "0 <= lost_below <= mastered_from <= 1; got 0.8 and 0.7"),
        ({"mastered_from": 1.2}, "got 0.35 and 1.2"),
        ({"least_deviation": -1.0}, "least_deviation"),
        ({"least_deviation": 5}, "least_deviation must be at most 1, the width of the box; got 5"),
    ],
)
def test_bad_values_are_named(config, words):
    with pytest.raises(ValueError, match=words):
        MasteryRule(**config)


def test_contexts_that_stay_become_narrower_until_they_are_mastered_again():
    narrowing, again = (
        ContextMover(MasteryRule(), BOX, TARGET, START, width_factor=1.03) for _ in range(2)
    )
    narrowing.move("on")
    before, mean = np.sqrt(np.diag(narrowing.contexts.covariance)), narrowing.contexts.mean
    narrowing.move("stay")
    after = np.sqrt(np.diag(narrowing.contexts.covariance))
    np.testing.assert_allclose(after, before / 1.03)
    np.testing.assert_array_equal(narrowing.contexts.mean, mean)
    for _ in range(200):
        narrowing.move("stay")
    deviations = np.sqrt(np.diag(narrowing.contexts.covariance))
    floor = np.maximum(NARROWEST * BOX.width, np.sqrt(np.diag(TARGET.covariance)))
    np.testing.assert_allclose(deviations, floor, rtol=1e-6)
    again.restore(narrowing.state())
    for copy in (narrowing, again):
        copy.move("on")
    np.testing.assert_array_equal(narrowing.contexts.covariance, again.contexts.covariance)
    plain = mover()
    for move in ("on", "stay"):
        plain.move(move)
    np.testing.assert_allclose(np.sqrt(np.diag(plain.contexts.covariance)), before)
