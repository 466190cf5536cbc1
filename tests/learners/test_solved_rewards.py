"""Rewards that are solved exactly, constant or as small as floats can be: learning ends quietly."""

import numpy as np
import pytest

from selfpaced import (
    CREPS,
    SPRL,
    Alpha,
    Box,
    FractionOfGain,
    FunctionTask,
    Gaussian,
    Problem,
    train,
)
from selfpaced.maths.features import linear_features
from selfpaced.maths.narrowing_evidence import evidence_for_narrower_policy
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.reps import temperature

SMALLEST = 5e-324  # the smallest float above 0
BOXES = Box([-1.0], [1.0]), Box([-2.0], [2.0])
TARGET = Gaussian([0.7], [[0.01]])
ALGORITHMS = {
    "mastery": SPRL(n_samples=20, buffer_size=3),
    "alpha": SPRL(pacing=Alpha(schedule=FractionOfGain()), n_samples=20, buffer_size=3),
    "creps": CREPS(n_samples=20, buffer_size=3),
}


def quadratic(contexts, thetas):
    return -((thetas - contexts) ** 2).sum(axis=1)


def constant(contexts, thetas):
    return np.full(len(contexts), 3.0)


def denormal(contexts, thetas):
    return -SMALLEST * np.round(10 * (thetas - contexts)[:, 0] ** 2)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("reward", [quadratic, constant, denormal])
def test_learning_goes_on_quietly_when_there_is_nothing_left_to_learn(reward, name):
    """From a policy so narrow that its samples cannot be told from its mean."""
    solved = LinearGaussianPolicy(linear_features(1), [[0.0, 1.0]], [[1e-42]])
    problem = Problem(FunctionTask(reward, *BOXES), TARGET, initial_policy=solved)
    run = train(problem, ALGORITHMS[name], iterations=30)
    assert len(run.records) == 30
    assert np.isfinite(run.policy.entropy)
    wide = Problem(FunctionTask(reward, *BOXES), TARGET)
    assert np.isfinite(train(wide, ALGORITHMS[name], iterations=10).policy.entropy)


def test_samples_that_equal_their_mean_are_no_evidence():
    weights = np.full(4, 0.25)
    assert evidence_for_narrower_policy(np.zeros(4), weights) == 0.0
    assert evidence_for_narrower_policy(np.array([0.0, 1.0, 2.0, 3.0]), weights) == 0.0


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 10.0])
def test_a_temperature_is_one_that_can_be_divided_by(epsilon):
    values = SMALLEST * np.arange(6.0)
    assert temperature(values, epsilon) == 1.0
    assert np.isfinite(values / temperature(np.array([0.0, SMALLEST, 1.0]), epsilon)).all()
