"""SVG in which nothing that can be seen is missing."""

import re

import numpy as np
import pytest

from selfpaced.report.figures import new_figure
from selfpaced.report.page import look, svg
from selfpaced.report.svg import SEEN, corners, minified_svg


def distance(points, line):
    """The largest distance of `points` (n, 2) from the line through `line` (m, 2)."""
    starts, chords = line[:-1], np.diff(line, axis=0)
    offsets = points[:, None] - starts  # (n, m - 1, 2)
    shares = (offsets * chords).sum(axis=2) / (chords**2).sum(axis=1)
    nearest = np.clip(shares, 0, 1)[:, :, None] * chords
    return np.linalg.norm(offsets - nearest, axis=2).min(axis=1).max()


CURVES = {
    "bend": lambda t: 50 * t**2,
    "wave": lambda t: 30 * np.sin(20 * t),
    "step": lambda t: 40.0 * (t > 0.37),
    "spike": lambda t: 80.0 * (np.arange(len(t)) == 200),
    "noise": lambda t: np.random.default_rng(0).normal(size=len(t)),
}


@pytest.mark.parametrize("name", CURVES)
def test_no_point_of_a_line_moves_farther_than_can_be_seen(name):
    t = np.linspace(0, 1, 401)
    points = np.stack([300 * t, CURVES[name](t)], axis=1)
    kept = corners(points, SEEN)
    assert distance(points, kept) <= SEEN + 1e-9
    assert np.array_equal(kept[[0, -1]], points[[0, -1]])
    assert name == "noise" or len(kept) < 200


def test_closed_lines_and_single_points_stay():
    angles = np.linspace(0, 2 * np.pi, 300)
    circle = 50 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    kept = corners(circle, SEEN)
    assert 20 < len(kept) < 150
    assert distance(circle, kept) <= SEEN + 1e-9
    assert np.array_equal(corners(circle[:1], SEEN), circle[:1])


def test_what_a_figure_says_is_kept_word_by_word():
    figure = new_figure(3, 3)
    axes = figure.subplots()
    t = np.linspace(0, 1, 120)
    axes.plot(t, t, label='0.123456 -- <path d="M 1.23456 2">')
    axes.plot(0.5, 0.5, "o")
    axes.fill_between(t, 1e-4 * t)
    axes.set_title("0.12345")
    axes.legend()
    with look():
        text = svg(figure, "salt")
    assert ">0.12345<" in text
    assert "0.123456 -- &lt;path" in text
    assert "M 1.23456 2" in text
    paths = re.findall(r'<path[^<>]*? d="([^"]*)"', text)
    assert not re.search(r"\d\.\d{3}", "".join(paths))
    assert max(map(len, paths)) < 300  # straight lines of 120 points, and a marker of curves


def test_slimming_twice_changes_nothing_more():
    figure = new_figure(3, 3)
    figure.subplots().plot(np.sin(np.linspace(0, 9, 300)))
    once = svg(figure, "salt")
    assert len(minified_svg(once)) == pytest.approx(len(once), rel=0.01)
