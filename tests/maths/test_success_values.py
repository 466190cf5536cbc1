"""What updates maximise where rewards and successes are both known."""

import numpy as np
import pytest

from selfpaced.maths.success_values import agreement, ranks, values_of

RNG = np.random.default_rng(0)
CONTEXTS = RNG.uniform(size=(400, 2)) * [1.0, 1000.0]
SUCCESSES = (RNG.random(400) < 0.4).astype(float)


def test_rewards_that_agree_with_successes_are_maximised_as_they_are():
    rewards = SUCCESSES + 0.1 * RNG.random(400)
    assert agreement(CONTEXTS, rewards, SUCCESSES > 0.5) == 1.0
    assert values_of(CONTEXTS, rewards, SUCCESSES) is rewards


def test_rewards_that_agree_in_every_context_agree_whatever_their_scale_there():
    scale = np.exp(8 * CONTEXTS[:, 0])  # a failure in one context earns more than a success in most
    rewards = -scale * (2.0 - SUCCESSES)
    everywhere = agreement(np.zeros_like(CONTEXTS), rewards, SUCCESSES > 0.5)
    assert everywhere < 0.7 < agreement(CONTEXTS, rewards, SUCCESSES > 0.5)


def test_successes_come_first_where_rewards_are_noise():
    rewards = RNG.normal(size=400)
    assert agreement(CONTEXTS, rewards, SUCCESSES > 0.5) == pytest.approx(0.5, abs=0.1)
    values = values_of(CONTEXTS, rewards, SUCCESSES)
    assert values[SUCCESSES == 1].min() > values[SUCCESSES == 0].max()
    won = SUCCESSES == 1
    np.testing.assert_array_equal(np.argsort(values[won]), np.argsort(rewards[won]))


def test_values_ignore_the_units_of_rewards_and_contexts():
    rewards = RNG.normal(size=400)
    plain = values_of(CONTEXTS, rewards, SUCCESSES)
    other = values_of(CONTEXTS * [1e-3, 7.0] + 5.0, 1e-6 * rewards - 3.0, SUCCESSES)
    np.testing.assert_allclose(other, plain, atol=1e-12)


@pytest.mark.parametrize("successes", [np.zeros(400), np.full(400, np.nan), np.eye(400)[0]])
def test_without_enough_successes_rewards_are_all_there_is(successes):
    rewards = RNG.normal(size=400)
    assert values_of(CONTEXTS, rewards, successes) is rewards


def test_equal_contexts_and_far_ones_are_compared_without_a_warning():
    rewards, succeeded = np.array([1.0, 2.0, 2.0, 0.0]), np.array([True, True, False, False])
    assert agreement(np.ones((4, 1)), rewards, succeeded) == (0.0 + 1.0 + 0.5 + 1.0) / 4
    far = np.array([[0.0], [0.0], [1e9], [1e9]])
    assert agreement(far, rewards, succeeded) == pytest.approx(2.5 / 4)


def test_equal_values_share_their_rank():
    np.testing.assert_allclose(ranks(np.array([3.0, 1.0, 1.0, 7.0])), [2 / 3, 1 / 6, 1 / 6, 1.0])
    assert ranks(np.array([4.0])).tolist() == [0.0]
