"""Figures of whole domains, and when health says that a curriculum was not needed."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.report.data import Group
from selfpaced.report.need import solved_alone
from selfpaced.report.page import Chapter, figures_of, look, page
from selfpaced.report.volume import (
    context_ranges,
    is_whole_space,
    range_curves,
    volume_curves,
    width_practised,
)
from selfpaced.store.experiment_info import ExperimentInfo
from selfpaced.store.health import as_easy
from selfpaced.store.reading import StoredRun
from selfpaced.targets.uniform import Uniform

LOW, HIGH = np.array([0.0, -1.0, 10.0]), np.array([1.0, 1.0, 30.0])
INFO = ExperimentInfo(
    name="whole",
    title="Whole domain",
    reference="",
    iterations=10,
    evolution=(1, 5, 10),
    context_names=("mass", "friction", "gravity"),
    low=LOW,
    high=HIGH,
    target=Uniform(low=LOW, high=HIGH),
)


def stored(records, algorithm="adr", seed=0, success=0.5, teacher=None):
    config = {} if teacher is None else {"type": "PPO", "teacher": {"type": teacher}}
    return StoredRun(
        spec={"experiment": "whole", "algorithm": algorithm, "seed": seed, "config": config},
        records=records,
        result={"target_success": success, "target_reward": 1.0, "iterations": len(records)},
        cpu_seconds=1.0,
        policy=None,
        contexts=np.zeros((10, 3)),
        trajectories=None,
    )


def widening(share_of):
    """Ten iterations of contexts that are uniform over a share of each width, in the middle."""
    found = []
    for i in range(10):
        deviation = share_of(i) * (HIGH - LOW) / np.sqrt(12)
        found.append(
            {
                "iteration": i + 1,
                "context_mean": ((LOW + HIGH) / 2 + 1e-6 * i).tolist(),
                "context_covariance": np.diag(deviation**2).tolist(),
                "target_success": i / 10,
            }
        )
    return found


def test_only_a_target_over_the_whole_space_is_one_of_a_domain():
    assert is_whole_space(INFO)
    assert is_whole_space(replace(INFO, target=Uniform(Box(LOW, HIGH))))
    assert not is_whole_space(replace(INFO, target=Uniform(low=LOW, high=0.9 * HIGH)))
    assert not is_whole_space(replace(INFO, target=Gaussian(LOW, np.eye(3))))


def test_ranges_and_widths_of_uniform_contexts_are_exact():
    run = stored(widening(lambda i: (i + 1) / 10))
    iterations, low, high = context_ranges(run, INFO)
    np.testing.assert_array_equal(iterations, np.arange(1, 11))
    np.testing.assert_allclose(high - low, np.outer(np.arange(1, 11) / 10, HIGH - LOW), rtol=1e-4)
    np.testing.assert_allclose(width_practised(run, INFO)[1], np.arange(1, 11) / 10, rtol=1e-4)


def test_ranges_end_at_the_bounds_and_a_single_context_has_no_width():
    _, low, high = context_ranges(stored(widening(lambda i: 5.0)), INFO)
    assert (low == LOW).all()
    assert (high == HIGH).all()
    assert (width_practised(stored(widening(lambda i: 0.0)), INFO)[1] == 0.0).all()


def test_the_figures_are_on_the_page_of_a_whole_domain_only():
    members = [
        Group("whole", name, tuple(stored(widening(lambda i: 0.5), name, k) for k in range(2)))
        for name in ("adr", "doraemon")
    ]
    chapter = Chapter(INFO, members, None, None, None, [])
    names = [name for name, _ in figures_of(chapter)]
    assert {"volume", "ranges"} <= set(names)
    narrow = replace(chapter, info=replace(INFO, target=Gaussian((LOW + HIGH) / 2, np.eye(3))))
    assert not {"volume", "ranges"} & {name for name, _ in figures_of(narrow)}
    with look():
        practised, mastered = volume_curves(members, INFO).axes
        assert [line.get_ydata()[-1] for line in practised.lines] == pytest.approx([0.5] * 2)
        assert [line.get_ydata()[-1] for line in mastered.lines] == pytest.approx([0.9] * 2)
        panels = range_curves(members, INFO).axes
    assert [axes.get_title() for axes in panels] == list(INFO.context_names)
    assert all(len(axes.lines) == 4 for axes in panels)
    shown = page([chapter], [])
    assert "share of the volume mastered" in shown
    for name in ("volume", "ranges"):
        assert f"The figure {name} could not be drawn" not in shown


def learning(on_contexts, on_target, kl=50.0):
    return [
        {
            "iteration": i + 1,
            "success": on_contexts(i / 29),
            "target_success": on_target(i / 29),
            "target_reward": 0.0,
            "kl_to_target": kl,
        }
        for i in range(30)
    ]


def test_contexts_as_hard_as_the_target_need_no_curriculum():
    found = as_easy(learning(lambda t: t, lambda t: t))
    assert found is not None
    assert found.kind == "unneeded"
    assert "solved at iteration 25, while the contexts were still 50 nats away" in found.shown_by


@pytest.mark.parametrize(
    "records",
    [
        learning(lambda t: min(1.0, t + 0.4), lambda t: t),  # easier contexts came first
        learning(lambda t: t, lambda t: t, kl=0.1),  # the contexts were the target's
        learning(lambda t: 0.5 * t, lambda t: 0.5 * t),  # the target was not solved
        learning(lambda t: 1.0, lambda t: 1.0),  # solved from the beginning: nothing was learned
        [],
    ],
)
def test_nothing_is_said_where_a_curriculum_helped_or_nobody_knows(records):
    assert as_easy(records) is None


def compared(alone, taught, teacher="TargetTeacher"):
    return [
        Group("whole", name, tuple(stored([], name, k, s, kind) for k, s in enumerate(successes)))
        for name, kind, successes in (
            ("target", teacher, alone),
            ("mastery", "SelfPacedMastery", taught),
        )
    ]


def test_a_target_that_is_solved_alone_needs_no_curriculum():
    found = solved_alone(compared([0.9, 0.95, 1.0], [0.95, 0.97, 1.0]))
    assert found is not None
    assert "0.95 (95% interval 0.90 to 1.00), and the best curriculum, mastery" in found.shown_by
    assert solved_alone(compared([0.8, 0.85], [0.98, 0.99])) is None  # it helped
    assert solved_alone(compared([0.1, 0.2], [0.1, 0.1])) is None  # nothing was solved
    assert solved_alone(compared([0.9, 1.0], [1.0, 1.0], "UniformTeacher")) is None


def test_a_target_that_is_learned_better_alone_needs_no_curriculum():
    found = solved_alone(compared([0.3, 0.4, 0.5], [0.2, 0.1, 0.2]))
    assert found is not None
    assert "0.40 (95% interval 0.30 to 0.50), and the best curriculum, mastery" in found.shown_by
    assert "better spent on the target" in found.shown_by
    assert solved_alone(compared([0.1, 0.4, 0.7], [0.2, 0.2, 0.2])) is None  # it may be chance
    assert solved_alone(compared([0.3, 0.4], [0.1, 0.1])) is None  # too few seeds
