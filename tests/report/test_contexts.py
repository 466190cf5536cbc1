"""Where contexts were: as Gaussians, or one by one."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from selfpaced.maths.gaussian import Gaussian
from selfpaced.report.contexts import density, evolution, frames, target_shown
from selfpaced.report.data import Group
from selfpaced.report.figures import landscape
from selfpaced.report.page import look, slider, svg
from selfpaced.store.experiment_info import ExperimentInfo
from selfpaced.tasks.gate import Gate

SAMPLE = 10


def info(dimension):
    low, high = np.full(dimension, -1.0), np.full(dimension, 3.0)
    target = Gaussian(np.ones(dimension), 0.04 * np.eye(dimension))
    names = tuple(f"context {k}" for k in range(dimension))
    return ExperimentInfo(
        name="e",
        title="E",
        reference="",
        iterations=80,
        evolution=(16, 32, 48, 64, 80),
        context_names=names,
        low=low,
        high=high,
        target=target,
    )


def moving(dimension, sampled):
    """A run whose contexts move and shrink; `sampled` ones are known one by one, too."""
    rng = np.random.default_rng(0)
    records = []
    for i in range(1, 81):
        mean, deviation = np.full(dimension, i / 80), 1 / i
        record = {
            "iteration": i,
            "context_mean": mean.tolist(),
            "context_covariance": (deviation**2 * np.eye(dimension)).tolist(),
        }
        if sampled:
            size = SAMPLE if i % 2 else SAMPLE - 1
            record["context_sample"] = rng.uniform(-1, 3, size=(size, dimension)).tolist()
        records.append(record)
    return SimpleNamespace(records=records, seed=0, algorithm="a", trajectories=None)


@pytest.mark.parametrize("dimension", [1, 2])
def test_crosses_show_what_is_excluded_and_what_was_refused(dimension):
    run = moving(dimension, sampled=True)
    for record in run.records[40:]:
        record["context_refused"] = np.full((7, dimension), 2.5).tolist()
    excluded = np.full((4, dimension), -0.5)
    known = replace(info(dimension), infeasible=excluded)
    (axes,) = evolution(run, known, "contexts").axes
    crosses = {line.get_label(): line for line in axes.lines if line.get_marker() == "x"}
    assert crosses["refused"].get_xdata().tolist() == [2.5] * 7
    assert crosses["cannot be played"].get_xdata().tolist() == [-0.5] * 4
    (plain,) = evolution(moving(dimension, sampled=True), info(dimension), "contexts").axes
    assert not [line for line in plain.lines if line.get_marker() == "x"]


def test_contexts_of_two_dimensions_are_points_where_they_are_no_gaussian():
    (axes,) = evolution(moving(2, sampled=True), info(2), "contexts").axes
    assert not axes.patches
    points = [line for line in axes.lines if line.get_label().startswith("iteration")]
    assert [len(line.get_xdata()) for line in points] == [SAMPLE - 1] * 5
    (axes,) = evolution(moving(2, sampled=False), info(2), "contexts").axes
    assert len(axes.patches) == 5


@pytest.mark.parametrize("dimension", [1, 3])
def test_other_contexts_have_a_rug_below_their_densities(dimension):
    figure = evolution(moving(dimension, sampled=True), info(dimension), "contexts")
    for axes in figure.axes:
        assert len(axes.collections) == 5
        heights = [line.get_segments()[0][:, 1] for line in axes.collections]
        assert np.max(heights) <= 0
        assert axes.get_ylim()[0] <= np.min(heights)


def test_a_narrow_density_does_not_fall_between_two_points():
    x, y = density(0.123456, 1e-9, -1.0, 3.0)
    assert y.max() == pytest.approx(1.0, abs=1e-3)
    assert np.ptp(x) < 0.1
    x, _ = density(2.9, 1.0, -1.0, 3.0)
    assert x.min() == -1.0
    assert x.max() == 3.0


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_slider_shows_every_context_of_a_sample(dimension):
    found = frames(moving(dimension, sampled=True), info(dimension))
    for iteration, pictures in found:
        assert len(pictures) == (1 if dimension == 2 else dimension)
        size = SAMPLE if iteration % 2 else SAMPLE - 1
        assert all(len(re.findall("M", shown.d)) == size for shown in pictures)
    for _, pictures in frames(moving(dimension, sampled=False), info(dimension)):
        assert all(shown.d == "" for shown in pictures)


def test_the_outline_lands_where_the_gaussian_is():
    (shown,) = target_shown(replace(info(2), target=Gaussian([2.0, 0.0], np.diag([0.16, 0.04]))))
    a, b, c, d, x, y = map(float, re.findall(r"-?[\d.]+", shown.transform))
    assert (x, y) == (75.0, 75.0)  # of a square of side 100; y points down
    widths = np.hypot([a, b], [c, d])  # along x and y
    np.testing.assert_allclose(widths, [20.0, 10.0], rtol=1e-3)  # two deviations of 0.4 and 0.2
    shown = target_shown(replace(info(1), target=Gaussian([2.0], [[0.16]])))[0]
    assert shown.transform == "matrix(10.00 0.00 0.00 -95.00 75.00 100.00)"


@pytest.mark.parametrize("sampled", [False, True])
def test_four_dimensions_make_a_small_page(sampled):
    run = moving(4, sampled)
    with look():
        assert len(svg(evolution(run, info(4), "contexts"), "salt")) < 70_000
    assert len(slider(Group("e", "a", (run,)), info(4))) < 70_000


def test_a_landscape_marks_what_the_task_says_and_nothing_else():
    land = Gate().landscape()
    figure = landscape(land)
    for axes in figure.axes[:3]:
        assert axes.get_xlim() == (-8.0, 8.0)
        assert sum(line.get_marker() == "x" for line in axes.lines) == 1
    plain = {name: land[name] for name in ("paths", "rewards", "varied", "heads", "label")}
    for axes in landscape(plain).axes[:3]:  # as older scenes are
        assert len(axes.lines) == land["paths"].shape[1]
    with look():
        assert len(svg(figure, "salt")) < 70_000


def test_a_path_through_every_gate_is_among_those_shown():
    land = Gate().landscape()
    for paths, walls in zip(land["paths"], land["lines"], strict=True):
        arrived = np.hypot(*paths[:, -1].T) < 0.1
        assert arrived.any()
        assert not arrived.all() or np.ptp(walls[:, :, 0]) > 30
    assert land["paths"].shape[1] < 30
