"""SAGG-RIAC on problems with known answers."""

import numpy as np
import pytest

from selfpaced import Box, Gaussian, SaggRiac
from selfpaced.teachers.saggriac import interest

BOX = Box([0.0, 0.0], [1.0, 1.0])
TARGET = Gaussian([0.5, 0.5], 0.01 * np.eye(2))


def teacher(**config):
    return SaggRiac(**config).start(BOX, TARGET)


def test_interest_is_the_change_between_halves():
    assert interest(np.array([0.0, 0.0, 1.0, 1.0]), 10) == pytest.approx(0.5)
    assert interest(np.array([1.0, 1.0, 0.0, 0.0]), 10) == pytest.approx(0.5)  # either way
    assert interest(np.array([9.0, 9.0, 0.0, 0.0, 1.0, 1.0]), 4) == pytest.approx(0.5)
    assert interest(np.ones(50), 20) == 0.0
    assert interest(np.ones(1), 20) == interest(np.zeros(0), 20) == 0.0


def test_samples_go_where_competence_changes():
    """Learning progress is confined to one quadrant; elsewhere competence is flat."""
    sagg, rng = teacher(split_at=60, window=40), np.random.default_rng(0)
    shares = []
    for k in range(60):
        contexts = sagg.ask(100, rng)
        quadrant = (contexts < 0.5).all(axis=1)
        first = quadrant[:70]  # the first way to sample: 70 of 100
        rewards = np.where(quadrant, 0.05 * k, 1.0)
        sagg.tell(contexts, rewards, np.zeros(100))
        shares.append(first.mean())
    assert np.mean(shares[:3]) < 0.4
    assert np.mean(shares[-30:]) >= 0.5


def test_the_three_ways_to_sample_have_their_shares():
    sagg, rng = teacher(split_at=10, window=10), np.random.default_rng(0)
    left = np.column_stack([np.linspace(0.01, 0.2, 40), np.full(40, 0.5)])
    right = left + np.array([0.75, 0.0])
    for k in range(4):
        sagg.ask(10, rng)
        sagg.tell(left, np.full(40, float(k)), np.zeros(40))
        sagg.tell(right, np.ones(40), np.zeros(40))
    chances = sagg._chances()
    centres = (sagg._lows + sagg._highs)[:, 0] / 2
    assert chances[centres > 0.75].sum() < 0.05
    contexts = sagg.ask(1000, rng)
    assert len(contexts) == 1000
    in_left = contexts[:, 0] < 0.5
    assert in_left[:700].mean() > in_left[700:900].mean()
    assert in_left[700:900].mean() == pytest.approx(0.5, abs=0.12)  # uniform over the box


def test_a_split_never_loses_a_sample():
    sagg, rng = teacher(split_at=20, window=10), np.random.default_rng(0)
    told = []
    for _ in range(30):
        contexts = np.clip(sagg.ask(17, rng).round(1), 0, 1)  # many on the very borders
        rewards = rng.normal(size=17)
        sagg.tell(contexts, rewards, np.zeros(17))
        told.append(contexts)
    sagg.ask(1, rng)
    state = sagg.state()
    np.testing.assert_array_equal(state["contexts"], np.concatenate(told))
    lows, highs = state["lows"][state["regions"]], state["highs"][state["regions"]]
    assert (state["contexts"] >= lows).all()
    assert (state["contexts"] <= highs).all()
    counts = np.bincount(state["regions"], minlength=len(state["lows"]))
    assert counts.sum() == 30 * 17
    assert len(counts) > 10


def test_regions_tile_the_box():
    sagg, rng = teacher(split_at=20, window=10), np.random.default_rng(0)
    for _ in range(20):
        contexts = sagg.ask(50, rng)
        sagg.tell(contexts, contexts[:, 0] * rng.random(50), np.zeros(50))
    volumes = np.prod(sagg._highs - sagg._lows, axis=1)
    assert volumes.sum() == pytest.approx(1.0)
    assert (volumes > 0).all()


def test_equal_competences_and_a_single_place_survive():
    sagg, rng = teacher(split_at=5, window=4), np.random.default_rng(0)
    same = np.tile([[0.25, 0.25]], (200, 1))
    for _ in range(10):
        sagg.ask(3, rng)
        sagg.tell(same, np.ones(200), np.ones(200))
    assert len(sagg._lows) == 1  # nothing to cut
    assert BOX.contains(sagg.ask(40, rng)).all()


def test_bad_numbers_are_named():
    with pytest.raises(ValueError, match="split_at must be a whole number of at least 2; got 1"):
        SaggRiac(split_at=1)
    with pytest.raises(ValueError, match="window must be a whole number of at least 2; got 0"):
        SaggRiac(window=0)
