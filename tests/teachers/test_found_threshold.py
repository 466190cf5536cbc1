"""Judging by returns of any scale: the threshold is found, and it says so."""

import numpy as np
import pytest

from selfpaced import Box, Curriculum, Gaussian, TaskSet, Uniform
from selfpaced.teachers import ADR, ALPGMM, PLR, CurrOT, SelfPacedMastery, SelfPacedThreshold
from selfpaced.teachers.found_threshold import FoundThreshold
from selfpaced.testing import check_teacher

SPACE, TARGET = Box([0.0], [1.0]), Gaussian([0.9], [[1e-4]])


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-4, 0.0), (250.0, -3000.0)])
def test_it_follows_the_scale_and_the_offset_of_returns(scale, offset):
    plain, other, rng = FoundThreshold(), FoundThreshold(), np.random.default_rng(0)
    for k in range(10):
        returns = rng.normal(size=50) + k
        plain.add(returns)
        other.add(scale * returns + offset)
        assert other.value == pytest.approx(scale * plain.value + offset)


def test_it_lies_between_the_first_returns_and_the_best_and_ignores_an_outlier():
    found = FoundThreshold()
    found.add(np.linspace(-1.0, 1.0, 51))
    for best in (5.0, 10.0, 2.0):
        found.add(np.full(50, best))
    assert found.value == pytest.approx(5.0)  # half-way from 0 to 10
    found.add(np.append(np.full(49, 2.0), 1e6))
    assert found.value == pytest.approx(5.0)


def test_nothing_is_mastered_while_all_returns_are_the_same():
    found = FoundThreshold()
    found.add(np.zeros(50))
    found.add(np.zeros(50))
    assert found.value == np.inf
    teacher, rng = SelfPacedThreshold(judged_by="reward").start(SPACE, TARGET), None
    before = teacher.context_distribution
    rng = np.random.default_rng(0)
    for _ in range(6):
        contexts = teacher.ask(50, rng)
        teacher.tell(contexts, np.zeros(50), np.full(50, np.nan))
    assert teacher.context_distribution is before


JUDGED_BY_RETURNS = [
    SelfPacedThreshold(judged_by="reward"),
    CurrOT(judged_by="reward"),
    SelfPacedMastery(reward_threshold="found"),
]


@pytest.mark.parametrize("config", JUDGED_BY_RETURNS, ids=lambda config: type(config).__name__)
def test_returns_of_any_scale_lead_to_the_target_without_a_threshold(config):
    """A learner whose reach grows; returns of about 1000, where 0.5 means nothing."""
    kl_to_target, thresholds = [], []
    for scale, offset in ((1.0, 0.0), (400.0, -1000.0)):
        records = []
        curriculum = Curriculum(config, SPACE, TARGET, seed=0, record=records.append)
        rng, reach = np.random.default_rng(1), 0.3
        everyone = np.arange(50)
        contexts = curriculum.next_contexts(everyone)
        for _ in range(60):
            quality = np.clip(1.0 - np.maximum(contexts[:, 0] - reach, 0.0) / 0.1, 0.0, 1.0)
            reach += 0.02 * (np.abs(contexts[:, 0] - reach) < 0.1).mean()
            curriculum.finished(everyone, scale * (quality + 0.1 * rng.random(50)) + offset)
            contexts = curriculum.next_contexts(everyone)
        kl_to_target.append(abs(float(np.mean(contexts)) - 0.9))
        thresholds.append(records[-1]["threshold"])
    assert kl_to_target[0] < 0.15
    assert kl_to_target[1] < 0.15
    assert thresholds[1] == pytest.approx(400.0 * thresholds[0] - 1000.0, rel=0.05)


def test_a_threshold_of_successes_is_one_half_as_ever_and_a_given_one_is_kept():
    for config in (SelfPacedThreshold, CurrOT):
        assert config() == config(threshold=0.5)
        assert config(judged_by="reward", threshold=20.0).threshold == 20.0
        assert config(judged_by="reward").threshold is None
        assert config().start(SPACE, TARGET).found_threshold is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (SelfPacedThreshold(), r"SelfPacedThreshold\(judged_by='reward'\)"),
        (SelfPacedMastery(), r"SelfPacedMastery\(reward_threshold=...\)"),
        (CurrOT(), r"CurrOT\(judged_by='reward'\)"),
        (ALPGMM(judged_by="success"), r"ALPGMM\(judged_by='reward'\)"),
        (PLR(), "success=.terminated., a bound on the return"),
        (ADR(), "success=.terminated., a bound on the return"),
    ],
)
def test_teachers_that_need_successes_name_the_option(config, words):
    curriculum = Curriculum(config, SPACE, TARGET)
    curriculum.next_contexts([0])
    with pytest.raises(ValueError, match=words):
        curriculum.expect_no_successes()
    with pytest.raises(ValueError, match=words):
        curriculum.finished([0], [1.0])
    assert len(curriculum.in_flight()[0]) == 1


def test_teachers_that_judge_by_returns_need_no_successes():
    for config in (SelfPacedMastery(reward_threshold=3.0), CurrOT(judged_by="reward"), ALPGMM()):
        Curriculum(config, SPACE, TARGET).expect_no_successes()


def test_a_mastery_teacher_that_finds_its_threshold_keeps_the_contract():
    check_teacher(SelfPacedMastery(reward_threshold="found"), SPACE, TARGET)


def test_returns_of_different_tasks_are_not_compared():
    tasks = TaskSet(["a", "b", "c"])
    with pytest.raises(ValueError, match="reward_threshold must be a number or None on a finite"):
        SelfPacedMastery(reward_threshold="found").start(tasks, Uniform(tasks))
    with pytest.raises(ValueError, match="reward_threshold"):
        SelfPacedMastery(reward_threshold="lost")
