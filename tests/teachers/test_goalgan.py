"""GoalGAN on problems with known answers."""

import numpy as np
import pytest

from selfpaced import Box, Gaussian, GoalGAN
from selfpaced.teachers import TEACHERS
from selfpaced.teachers.difficulty_labels import grouped, labelled

torch = pytest.importorskip("torch", reason="needs the extra torch")

BOX = Box([-5.0, 0.1], [5.0, 0.5])
TARGET = Gaussian([0.0, 0.3], np.diag([1.0, 0.01]))


def teacher(**config):
    return GoalGAN(**config).start(BOX, TARGET)


def test_samples_concentrate_in_a_moving_band_of_intermediate_difficulty():
    """Left of the band everything is solved, right of it nothing; inside every other time."""
    gan, rng = teacher(), np.random.default_rng(0)
    inside_share = []
    for k in range(40):
        contexts = gan.ask(100, rng)
        low = -4.0 + 0.05 * k  # the band is 2 of 10 wide and moves
        inside = (contexts[:, 0] > low) & (contexts[:, 0] < low + 2)
        solved = np.where(inside, np.arange(100) % 2 == 0, contexts[:, 0] < low)
        gan.tell(contexts, solved, solved.astype(float))
        inside_share.append(inside[20:].mean())  # without those on remembered contexts
    assert np.mean(inside_share[:3]) < 0.4
    assert np.mean(inside_share[-20:]) >= 0.6


def test_before_anything_is_told_contexts_cover_the_box():
    contexts = teacher().ask(400, np.random.default_rng(0))
    unit = (contexts - BOX.low) / BOX.width
    for axis in (0, 1):
        counts = np.histogram(unit[:, axis], bins=4, range=(0, 1))[0]
        assert counts.min() > 0.1 * 400


def test_a_batch_is_a_fifth_old_and_the_rest_is_executed_two_or_four_times():
    contexts = teacher(noise=1e-3).ask(100, np.random.default_rng(0))
    _, counts = np.unique(contexts[20:], axis=0, return_counts=True)
    assert sorted(set(counts)) == [2, 4]
    assert (counts == 4).sum() == 8  # 32 fresh ones twice, 8 of them two more times
    assert len(counts) == 32
    assert len(np.unique(contexts[:20], axis=0)) == 20


def test_solved_contexts_are_remembered_apart_and_practised_again():
    gan, rng = teacher(first_steps=5, noise=1e-6), np.random.default_rng(0)
    gan.ask(10, rng)
    solved = np.repeat([[2.0, 0.4], [2.0 + 1e-5, 0.4], [-3.0, 0.2]], 2, axis=0)
    failed = np.array([[4.0, 0.3], [4.0, 0.3], [1.0, 0.3]])
    wins = np.r_[np.ones(6), 1.0, 0.0, 1.0]  # once of twice; and once of once, which says little
    gan.tell(np.concatenate([solved, failed]), wins, wins)
    old = gan.ask(10, rng)[:2]
    places = sorted(round(float(x), 2) for x in old[:, 0])
    assert places == [-3.0, 2.0]
    assert len(gan.state()["solved"]) == 2


def test_labels_need_two_executions_and_mixed_success():
    gan = teacher(first_steps=5)
    gan.ask(4, np.random.default_rng(0))
    rows = np.array([[0.0, 0.3]] * 2 + [[1.0, 0.3]] * 2 + [[2.0, 0.3]] * 3 + [[3.0, 0.3]])
    wins = np.array([1, 0, 1, 1, 0, 0, 0, 1.0])
    gan.tell(rows, wins, wins)
    contexts, labels = labelled(grouped(gan._told))
    np.testing.assert_allclose(gan._box_of(contexts)[:, 0], [0.0, 1.0, 2.0], atol=1e-9)
    assert labels.tolist() == [1.0, 0.0, 0.0]


def test_executions_told_apart_count_together():
    gan, rng = teacher(first_steps=5), np.random.default_rng(0)
    gan.ask(4, rng)
    gan.tell(np.array([[0.0, 0.3]]), np.ones(1), np.ones(1))
    gan.tell(np.array([[0.0, 0.3]]), np.zeros(1), np.zeros(1))
    assert labelled(grouped(gan._told))[1].tolist() == [1.0]


def test_old_labels_are_forgotten():
    gan, rng = teacher(first_steps=5, train_every=100), np.random.default_rng(0)
    gan.ask(12, rng)
    gan.tell(np.array([[0.0, 0.3]] * 2), np.ones(2), np.array([0.0, 1.0]))
    for _ in range(12):
        gan.tell(gan.ask(12, rng), np.zeros(12), np.zeros(12))
    assert not labelled(grouped(gan._told))[1].any()


def test_contexts_asked_for_one_by_one_are_those_of_a_batch():
    """Whoever asks for one at a time, as deep RL does, gets repeats to label as well."""
    gan, rng = teacher(first_steps=5), np.random.default_rng(0)
    asked = np.concatenate([gan.ask(1, rng) for _ in range(30)])
    assert len(np.unique(asked, axis=0)) <= 21  # of 10, 2 are old and 8 are 3 contexts repeated
    gan.restore({name: np.array(value) for name, value in gan.state().items()})
    assert gan.ask(2, rng).shape == (2, 2)


def test_asked_one_by_one_few_steps_with_every_batch_find_the_band():
    """What `TEACHERS` has for deep RL."""
    gan, rng = TEACHERS["goalgan"].start(BOX, TARGET), np.random.default_rng(0)
    inside_share = []
    for k in range(120):
        contexts = np.concatenate([gan.ask(1, rng) for _ in range(10)])
        low = -4.0 + 0.005 * k
        inside = (contexts[:, 0] > low) & (contexts[:, 0] < low + 2)
        solved = np.where(inside, rng.random(10) < 0.5, contexts[:, 0] < low)
        gan.tell(contexts, solved, solved.astype(float))
        inside_share.append(inside.mean())
    assert np.mean(inside_share[-60:]) >= 0.7  # the band is a fifth of the box


def test_torchs_thread_count_and_generator_are_left_alone():
    before, state = torch.get_num_threads(), torch.random.get_rng_state()
    gan = teacher(first_steps=5)
    gan.ask(10, np.random.default_rng(0))
    assert torch.get_num_threads() == before
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_task_without_successes_is_refused():
    gan = teacher(first_steps=5)
    contexts = gan.ask(3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="successes must be numbers for GoalGAN"):
        gan.tell(contexts, np.ones(3), np.full(3, np.nan))
    with pytest.raises(ValueError, match="noise must be above 0"):
        GoalGAN(noise=0.0)


def test_episodes_are_grouped_in_the_order_of_a_full_sort():
    rng = np.random.default_rng(0)
    contexts = rng.integers(-1, 2, size=(400, 3)) * np.where(rng.random((400, 1)) < 0.5, 1.0, 0.5)
    rows = np.column_stack([contexts, rng.integers(2, size=400), np.zeros(400)])
    wanted, counts = np.unique(contexts, axis=0, return_counts=True)
    found = grouped(rows)
    np.testing.assert_array_equal(found.contexts, wanted)
    np.testing.assert_array_equal(found.counts, counts)
    for context, rate, newest in zip(found.contexts, found.rates, found.newest, strict=True):
        same = np.flatnonzero((contexts == context).all(axis=1))
        assert rate == pytest.approx(rows[same, 3].mean())
        assert newest == same[-1]
