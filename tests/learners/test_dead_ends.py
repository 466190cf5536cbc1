"""Learning that comes no nearer to the target begins anew, elsewhere, and exactly restorable."""

from contextlib import nullcontext

import numpy as np
import pytest

from selfpaced import SPRL, Box, FunctionTask, Gaussian, Mastery, Problem, Samples, train
from selfpaced.learners.dead_ends import FRUITLESS, STUCK, DeadEnds
from selfpaced.learners.mastery_judge import PAIRS, MasteryJudge
from selfpaced.learners.mastery_pacing import needed_rollouts
from selfpaced.maths.mastery_rule import ContextMover, MasteryRule
from selfpaced.maths.particle_rule import ParticleMover

WAYS = np.array([[-1.0, -0.5], [1.0, 1.0]])  # thetas of the two ways of `fork`


def fork(contexts, thetas):
    """The way that is wide at first closes at 0.6, where the other one is open."""
    c = contexts[:, 0]
    radii = np.maximum(0.9 - 1.5 * c, 0.0), np.interp(c, [0.2, 0.4, 1.0], [0.0, 0.5, 0.15])
    away = [np.linalg.norm(thetas - way, axis=1) for way in WAYS]
    paid = [np.where(r > 0.0, np.exp(-d / 0.4), 0.0) for d, r in zip(away, radii, strict=True)]
    return np.maximum(*paid), (away[0] < radii[0]) | (away[1] < radii[1])


def forked(task=fork):
    boxes = Box([0.0], [1.0]), Box([-2.0, -2.0], [2.0, 2.0])
    easy = Gaussian([0.05], [[0.02**2]])
    return Problem(FunctionTask(task, *boxes), Gaussian([0.95], [[1e-4]]), initial_contexts=easy)


def test_a_policy_that_took_the_way_that_closes_finds_the_other_one():
    many, one = (
        train(forked(), SPRL(pacing=Mastery(attempts=attempts)), seed=3, iterations=240)
        for attempts in (4, 1)
    )
    assert one.success < 0.1
    assert one.records[-1]["attempt"] == 1.0
    assert many.success > 0.9
    assert many.records[-1]["attempt"] > 1.0


def test_the_best_attempt_goes_on_after_the_last():
    def closed(contexts, thetas):
        rewards, solved = fork(contexts, thetas)
        open_ = contexts[:, 0] < 0.5
        return rewards * open_, solved & open_

    learner, rng = SPRL(pacing=Mastery(attempts=2)).learner(forked(closed)), None
    rng = np.random.default_rng(0)
    places, attempts = [], []
    for _ in range(260):
        contexts, thetas = learner.ask(rng)
        rewards, solved = closed(contexts, thetas)
        metrics = learner.tell(Samples(contexts, thetas, rewards, solved.astype(float)))
        places.append(metrics.get("kl_to_target", np.nan))
        attempts.append(metrics.get("attempt", np.nan))
    assert np.nanmax(attempts) == 3.0  # the second one ended, too
    ends = [int(np.nanargmax(np.array(attempts) == k)) - 1 for k in (2.0, 3.0)]
    nearest = min(places[end] for end in ends if np.isfinite(places[end]))
    assert places[-1] < 1.1 * nearest


def test_a_restored_learner_goes_on_to_the_same_bits_in_every_attempt():
    made, rng = forked(), np.random.default_rng(3)

    def advance(learner, rng):
        contexts, thetas = learner.ask(rng)
        rewards, solved = fork(contexts, thetas)
        return learner.tell(Samples(contexts, thetas, rewards, solved.astype(float)))

    learner, seen = SPRL().learner(made), set()
    for batch in range(120):
        metrics = advance(learner, rng)
        seen.add(metrics.get("attempt"))
        if batch % 15 == 14:
            twin = SPRL().learner(made)
            twin.restore(learner.state())
            state = rng.bit_generator.state
            here = [advance(learner, rng) for _ in range(2)]
            rng.bit_generator.state = state
            assert [advance(twin, rng) for _ in range(2)] == here
            assert twin.policy.A.tobytes() == learner.policy.A.tobytes()
    assert 2.0 in seen


def test_only_time_without_progress_counts():
    stuck = DeadEnds(100)
    arguments = {"mastered": 0.5, "far": True}
    for distance in (100.0, 79.0, 63.0):  # every step is a fifth
        for _ in range(STUCK * 2 - 1):
            assert stuck.after("stay", 50, distance=distance, **arguments) is None
    found = [stuck.after("stay", 50, distance=60.0, **arguments) for _ in range(STUCK * 2)]
    assert found[-1] == "stuck"
    assert stuck.after("on", 50, mastered=0.9, distance=0.5, far=False) is None


@pytest.mark.parametrize("batch", [10, 50, 200])
def test_large_batches_get_as_many_updates_to_make_progress(batch):
    """Contexts move by a KL of 0.1 per update, whatever its batch has cost."""
    stuck, updates = DeadEnds(100), 0
    stuck.after("on", batch, mastered=0.8, distance=10.0, far=True)
    while not stuck.after("on", batch, mastered=0.8, distance=9.9, far=True):
        updates += 1
    assert updates + 1 == STUCK * 100 / min(batch, 50)


def test_a_small_buffer_does_not_make_learning_impatient():
    problem = forked()
    few, default = (SPRL(buffer_size=size).learner(problem) for size in (2, None))
    assert few._dead_ends._needed == default._dead_ends._needed == needed_rollouts(problem)
    many = SPRL(buffer_size=100).learner(problem)
    assert many._dead_ends._needed == 100 * SPRL().n_samples


def test_a_search_that_succeeds_now_and_then_is_not_fruitless():
    for best, found in ((0.0, "fruitless"), (0.04, "fruitless"), (0.06, None)):
        search = DeadEnds(100)
        search.after("search", 50, mastered=best, distance=9.0, far=True)
        for _ in range(FRUITLESS * 2):
            last = search.after("search", 50, mastered=0.0, distance=9.0, far=True)
        assert last == found


@pytest.mark.parametrize("where", ["initial", "here", "target"])
def test_movers_begin_anew_where_they_are_told(where):
    box = Box([0.0], [1.0])
    start, target = Gaussian([0.2], [[0.01]]), Gaussian([0.8], [[1e-4]])
    gaussian = ContextMover(MasteryRule(), box, target, start)
    aims = np.full((20, 1), 0.8)
    draw = lambda n, rng: np.full((n, 1), 0.8)  # noqa: E731
    particles = ParticleMover(MasteryRule(), box, aims, np.full((20, 1), 0.2), draw)
    for mover in (gaussian, particles):
        for _ in range(3):
            mover.move("on")
        here = mover.contexts.mean.copy()
        mover.begin_anew(where)
        expected = {"initial": 0.2, "here": here, "target": 0.8}[where]
        np.testing.assert_allclose(mover.contexts.mean, expected)
        assert mover.decide(0.5) == "search"
    assert np.sqrt(gaussian.contexts.covariance[0, 0]) >= 0.05 - 1e-12


def told(rewards, repeated=False):
    n = len(rewards)
    rows = np.arange(n, dtype=float)[:, None]
    if repeated:
        rows[n // 2 :] = rows[: n // 2]
    return Samples(rows, rows, rewards, np.full(n, np.nan))


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_noise_does_not_hide_mastery_and_does_not_feign_it(noise):
    rng = np.random.default_rng(0)
    judge = MasteryJudge(None)

    def batch(mean, n=2 * PAIRS, deviation=0.3):
        own = mean + deviation * rng.standard_normal(n)
        if judge.wants_repeats:
            own[n // 2 :] = own[: n // 2]
        return told(own + noise * rng.standard_normal(n), judge.wants_repeats)

    judge.look(batch(0.0))
    assert judge.wants_repeats
    judge.look(batch(0.0))
    assert not judge.wants_repeats
    first = batch(0.0, 500)
    expected = nullcontext() if noise < 0.3 else pytest.warns(UserWarning, match="[0-9]+% of the")
    with expected:
        judge.mastered(first, first.rewards)  # how the initial policy does
    idle = [judge.mastered(batch(0.0), batch(0.0, 500).rewards) for _ in range(50)]
    assert np.mean(np.array(idle) >= 0.7) <= 0.04
    done = batch(3.0, 500, deviation=0.0)  # all rollouts are as good as can be
    assert judge.mastered(done, done.rewards) > 0.8


def test_batches_of_a_task_with_successes_are_never_repeated():
    learner, rng = SPRL().learner(forked()), np.random.default_rng(0)
    for _ in range(3):
        contexts, thetas = learner.ask(rng)
        assert len(np.unique(thetas, axis=0)) == len(thetas)
        learner.tell(Samples(contexts, thetas, *fork(contexts, thetas)))


def contexts_after(made, config, solved_first, batches=12):
    """Mean context of a learner for whom only the very first rollout may succeed."""
    learner, rng = config.learner(made), np.random.default_rng(0)
    for batch in range(batches):
        contexts, thetas = learner.ask(rng)
        successes = np.zeros(len(contexts))
        successes[0] = solved_first and batch == 0
        learner.tell(Samples(contexts, thetas, -10.0 * contexts[:, 0] + thetas[:, 0], successes))
    return float(learner.context_distribution.mean[0])


def test_one_success_keeps_a_search_from_following_rewards_elsewhere():
    boxes = Box([0.0], [1.0]), Box([-2.0], [2.0])
    made = Problem(FunctionTask(lambda c, t: t[:, 0], *boxes), Gaussian([0.95], [[1e-4]]))
    follows = SPRL(pacing=Mastery(wait_for_successes=False))
    assert contexts_after(made, SPRL(), True) == 0.5  # where they were
    assert contexts_after(made, SPRL(), False) < 0.4
    assert contexts_after(made, follows, True) < 0.4
