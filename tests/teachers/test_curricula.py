"""Teachers beyond the paper, each on a problem with a known answer."""

import numpy as np
import pytest

from selfpaced import Box, Gaussian
from selfpaced.teachers import (
    ADR,
    ALPGMM,
    PLR,
    CurrOT,
    SaggRiac,
    SelfPacedAlpha,
    SelfPacedMastery,
    SelfPacedThreshold,
    TargetTeacher,
    UniformTeacher,
)

BOX = Box([0.0, 0.0], [1.0, 1.0])
TARGET = Gaussian([0.9, 0.9], 4e-4 * np.eye(2))


class Pupil:
    """Succeeds within `reach` of what it has mastered, which practice extends."""

    def __init__(self, start=(0.2, 0.2), reach=0.15):
        self.mastered, self.reach = np.array([start]), reach

    def practise(self, contexts):
        gaps = np.linalg.norm(contexts[:, None] - self.mastered, axis=2).min(axis=1)
        wins = (gaps < self.reach).astype(float)
        self.mastered = np.concatenate([self.mastered, contexts[wins > 0]])[-3000:]
        return wins


def school(teacher, pupil, batches=150, n=25, seed=0):
    """Every context that was practised, batch by batch."""
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(batches):
        contexts = teacher.ask(n, rng)
        wins = pupil.practise(contexts)
        teacher.tell(contexts, wins, wins)
        drawn.append(contexts)
    return drawn


def near_target(contexts, radius=0.1):
    return (np.linalg.norm(contexts - TARGET.mean, axis=1) < radius).mean()


@pytest.mark.parametrize("config", [SelfPacedThreshold(), CurrOT()], ids=["threshold", "currot"])
def test_a_pupil_is_led_to_the_target_and_left_there(config):
    pupil = Pupil()
    drawn = school(config.start(BOX, TARGET), pupil)
    assert near_target(drawn[0]) < 0.2
    assert near_target(np.concatenate(drawn[-10:])) > 0.9
    assert pupil.practise(TARGET.sample(50, np.random.default_rng(1), BOX)).mean() > 0.9


@pytest.mark.parametrize("config", [SelfPacedThreshold(), CurrOT()], ids=["threshold", "currot"])
def test_nobody_is_led_where_nothing_can_be_learned(config):
    """Beyond a wall nothing ever succeeds: the curriculum stays at the wall."""
    teacher, rng = config.start(BOX, TARGET), np.random.default_rng(0)
    for _ in range(120):
        contexts = teacher.ask(25, rng)
        wins = (contexts[:, 0] < 0.5).astype(float)
        teacher.tell(contexts, wins, wins)
    drawn = teacher.ask(400, rng)
    assert np.median(drawn[:, 0]) < 0.65
    assert near_target(drawn) < 0.1
    assert drawn[:, 1].mean() > 0.6  # as near to the target as it gets


def test_the_threshold_is_kept_on_the_way():
    teacher = SelfPacedThreshold(threshold=0.6).start(BOX, TARGET)
    pupil, rng, rates = Pupil(), np.random.default_rng(0), []
    for _ in range(150):
        contexts = teacher.ask(25, rng)
        wins = pupil.practise(contexts)
        teacher.tell(contexts, wins, wins)
        rates.append(wins.mean())
    reached = next(i for i in range(150) if np.mean(rates[i : i + 4]) >= 0.6)
    assert np.mean(np.array(rates[reached:]) >= 0.4) > 0.9


@pytest.mark.parametrize(
    "config", [SelfPacedThreshold(), SelfPacedMastery()], ids=["threshold", "mastery"]
)
@pytest.mark.parametrize("under_way", [16, 200])
def test_many_environments_do_not_lead_it_astray(config, under_way):
    """Contexts are told long after they were asked for; beyond a wall nothing ever succeeds."""
    target = Gaussian([0.9], [[1e-4]])
    teacher = config.start(Box([0.0], [1.0]), target)
    rng = np.random.default_rng(0)
    queue, rates = list(teacher.ask(under_way, rng)), []
    for _ in range(5000):
        context = queue.pop(0)[None]
        win = (context[:, 0] < 0.5).astype(float)
        teacher.tell(context, win, win)
        queue.append(teacher.ask(1, rng)[0])
        rates.append(win[0])
    assert np.mean(rates[-500:]) > 0.2


def test_a_point_like_target_is_reached():
    target = Gaussian([0.9, 0.9], 1e-6 * np.eye(2))  # a thousandth of the box
    teacher, rng = SelfPacedThreshold().start(BOX, target), np.random.default_rng(0)
    for _ in range(400):
        teacher.tell(teacher.ask(50, rng), np.ones(50), np.ones(50))
    assert teacher.contexts.kl(target) < 0.1


def test_draws_under_way_are_remembered_over_a_restart():
    def after(restart):
        teacher, rng = (
            SelfPacedThreshold(update_every=10).start(BOX, TARGET),
            np.random.default_rng(0),
        )
        waiting = teacher.ask(60, rng)
        wins = (waiting[:, 0] < 0.4).astype(float)
        teacher.tell(waiting[:30], wins[:30], wins[:30])
        if restart:
            state = {name: np.array(value) for name, value in teacher.state().items()}
            teacher = SelfPacedThreshold(update_every=10).start(BOX, TARGET)
            teacher.restore(state)
        teacher.tell(waiting[30:], wins[30:], wins[30:])
        return teacher.contexts

    np.testing.assert_array_equal(after(True).mean, after(False).mean)


def test_learning_progress_is_sought_where_it_is():
    """Returns change over time in one quadrant only."""
    teacher, rng = ALPGMM().start(BOX, TARGET), np.random.default_rng(0)
    for t in range(60):
        contexts = teacher.ask(50, rng)
        quadrant = (contexts < 0.5).all(axis=1)
        returns = np.where(quadrant, np.sin(0.9 * t + 7 * contexts[:, 0]), 0.3)
        teacher.tell(contexts, returns, np.full(50, np.nan))
    drawn = teacher.ask(1000, rng)
    assert (drawn < 0.5).all(axis=1).mean() > 0.5  # a quarter if it were even


def test_replay_prefers_what_is_solved_half_the_time():
    teacher, rng = PLR(remembered=200).start(BOX, TARGET), np.random.default_rng(0)
    for _ in range(150):
        contexts = teacher.ask(40, rng)
        chances = np.clip(2 * contexts[:, 0] - 0.5, 0, 1)  # half at x = 0.5
        wins = (rng.random(40) < chances).astype(float)
        teacher.tell(contexts, wins, wins)
    replayed = teacher.ask(4000, rng)
    seen = {context.tobytes() for context in teacher.state()["contexts"]}
    again = np.array([context.tobytes() in seen for context in replayed])
    assert 0.4 < again.mean() < 0.6
    middle = np.abs(replayed[again][:, 0] - 0.5) < 0.25
    assert middle.mean() > 0.75  # half if it were even


def test_a_box_grows_as_far_as_its_faces_are_mastered():
    teacher, rng = ADR().start(BOX, TARGET), np.random.default_rng(0)
    first = teacher.faces
    for _ in range(400):
        contexts = teacher.ask(50, rng)
        wins = (contexts[:, 0] < 0.8).astype(float)  # beyond it nothing works
        teacher.tell(contexts, wins, wins)
    low, high = teacher.faces
    assert (first[1] - first[0] < 0.2).all()
    assert low == pytest.approx([0.0, 0.0], abs=0.03)
    assert high == pytest.approx([0.8, 1.0], abs=0.06)


def test_uniform_is_uniform():
    drawn = UniformTeacher().start(BOX, TARGET).ask(4000, np.random.default_rng(0))
    counts, _, _ = np.histogram2d(*drawn.T, bins=4, range=[[0, 1], [0, 1]])
    assert counts.min() > 180


@pytest.mark.parametrize(
    "config", [SelfPacedThreshold(), CurrOT(), PLR(), ADR(), ALPGMM(judged_by="success")]
)
def test_a_missing_success_is_named(config):
    teacher = config.start(BOX, TARGET)
    teacher.ask(2, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"successes must be numbers .* got nan in 1 of 2 rows"):
        teacher.tell(np.full((2, 2), 0.5), np.zeros(2), np.array([1.0, np.nan]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SelfPacedThreshold(epsilon=0), "epsilon"),
        (
            lambda: SelfPacedThreshold(least_deviation=5),
            "least_deviation must be at most 1, the width of the box; got 5",
        ),
        (
            lambda: SelfPacedAlpha(least_deviation=1.5),
            "least_deviation must be at most 1, .*got 1.5",
        ),
        (lambda: SelfPacedAlpha(least_deviation=0), "least_deviation must be above 0"),
        (lambda: CurrOT(particles=0), "particles"),
        (lambda: PLR(replay_share=1.5), r"replay_share must be in \[0, 1\]; got 1.5"),
        (lambda: ADR(shrink_below=0.9), "shrink_below must be below"),
        (lambda: ALPGMM(components=(3, 2)), "components must be"),
        (lambda: SelfPacedThreshold(judged_by="sucess"), "judged_by must be 'success' or 'reward'"),
        (lambda: CurrOT(judged_by="returns"), "judged_by must be 'success' or 'reward'"),
    ],
)
def test_bad_numbers_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf])
def test_a_schedule_that_gives_nonsense_is_named(alpha):
    class Broken:
        def alpha(self, progress):
            return alpha

    teacher = SelfPacedAlpha(schedule=Broken(), update_every=10).start(BOX, TARGET)
    words = f"schedule must give a finite alpha of at least 0; got {alpha}"
    with pytest.raises(ValueError, match=words):
        school(teacher, Pupil(), batches=2)


@pytest.mark.parametrize("config", [SelfPacedThreshold(), CurrOT(), TargetTeacher()])
def test_a_target_that_is_none_of_the_box_is_named(config):
    with pytest.raises(ValueError, match="target must have 2 dimensions; got 1"):
        config.start(BOX, Gaussian([0.5], [[0.1]]))
    with pytest.raises(ValueError, match="target must have its mean in"):
        config.start(BOX, Gaussian([0.5, 1.5], np.eye(2)))


def test_rewards_that_are_no_numbers_are_named():
    for config in (SelfPacedThreshold(judged_by="reward"), SaggRiac()):
        teacher = config.start(BOX, TARGET)
        with pytest.raises(ValueError, match=r"rewards must be numbers .* got -inf in 1 of 2 rows"):
            teacher.tell(np.full((2, 2), 0.5), np.array([1.0, -np.inf]), np.ones(2))


def test_the_first_box_of_adr_lies_inside_whatever_rounding_does():
    rng = np.random.default_rng(0)
    for _ in range(200):
        low = rng.normal(size=2) * 10
        box = Box(low, low + rng.random(2))
        assert box.contains(ADR(first_width=1.0).start(box, TARGET).ask(20, rng)).all()


@pytest.mark.parametrize("bandwidth", [0.2, 0.06, 0.02, 1e-3])
def test_currot_estimates_kernel_means_and_the_nearest_value_far_from_all_episodes(bandwidth):
    rng = np.random.default_rng(0)
    teacher = CurrOT(bandwidth=bandwidth).start(
        Box([0, 0], [1, 1]), Gaussian([0.9, 0.9], np.eye(2))
    )
    contexts, places = 0.4 * rng.random((60, 2)), rng.random((40, 2))
    values = rng.random(60)
    teacher.tell(contexts, rewards=np.zeros(60), successes=values)
    squares = ((places[:, None] - contexts) ** 2).sum(axis=2)
    logs = -(squares - squares.min(axis=1, keepdims=True)) / (4 * bandwidth**2)
    expected = np.exp(logs) @ values / np.exp(logs).sum(axis=1)
    np.testing.assert_allclose(teacher.estimate(places), expected, rtol=1e-6)
