"""Softmax actions in PPO, against finite differences and closed forms; running moments."""

import numpy as np
import pytest
import scipy

from selfpaced.maths.action_heads import CategoricalHead
from selfpaced.maths.running_moments import RunningMoments

HEAD, NONE = CategoricalHead(3), np.zeros(0)


def case(n=30):
    rng = np.random.default_rng(0)
    scores, old = rng.normal(size=(2, n, 3))
    actions = rng.integers(3, size=(n, 1)).astype(float)
    known = HEAD.log_probabilities(actions, scores + 0.3 * old, NONE)
    return actions, scores, old, known, rng.normal(size=n)


def test_log_probabilities_are_those_of_the_softmax():
    actions, scores, *_ = case()
    expected = np.log(scipy.special.softmax(scores, axis=1))
    found = HEAD.log_probabilities(actions, scores, NONE)
    np.testing.assert_allclose(found, expected[np.arange(30), actions[:, 0].astype(int)])


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_the_gradient_in_the_scores_is_that_of_finite_differences(weight):
    actions, scores, _, known, advantages = case()

    def loss(at):
        found = HEAD.surrogate(actions, at, NONE, known, advantages, 0.2, 0.0)
        pi = scipy.special.softmax(at, axis=1)
        return found.loss + weight * float((pi * np.log(pi)).sum(axis=1).mean())

    found = HEAD.surrogate(actions, scores, NONE, known, advantages, 0.2, weight)
    assert 0.0 < found.clipped < 1.0
    for k in range(scores.size):
        up, down = scores.copy(), scores.copy()
        up.flat[k] += 1e-6
        down.flat[k] -= 1e-6
        expected = (loss(up) - loss(down)) / 2e-6
        assert found.by_means.flat[k] == pytest.approx(expected, abs=1e-7)


def test_the_kl_is_that_of_the_two_softmaxes():
    _, scores, old, *_ = case()
    p, q = scipy.special.softmax(old, axis=1), scipy.special.softmax(scores, axis=1)
    expected = scipy.stats.entropy(p.T, q.T).mean()
    assert HEAD.mean_kl(old, NONE, scores, NONE) == pytest.approx(expected)


def test_actions_have_the_probabilities_of_the_softmax():
    scores = np.tile([1.0, 0.0, -1.0], (20_000, 1))
    noise = HEAD.noise(np.random.default_rng(0), (20_000,))
    drawn = HEAD.actions(scores, NONE, noise)[:, 0].astype(int)
    shares = np.bincount(drawn) / 20_000
    np.testing.assert_allclose(shares, scipy.special.softmax(scores[0]), atol=0.01)


def test_running_moments_are_those_of_all_rows():
    rows = np.random.default_rng(0).normal(3.0, [1.0, 20.0], size=(100, 2))
    moments = RunningMoments(2)
    for part in np.split(rows, [7, 50]):
        moments.add(part)
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0))
    np.testing.assert_allclose(moments.variance, rows.var(axis=0))
    inside = moments.normalised(rows)
    np.testing.assert_allclose(inside.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(inside.std(axis=0), 1.0, atol=1e-5)
    assert moments.normalised(np.array([[1e9, -1e9]])).tolist() == [[10.0, -10.0]]
