"""SPRL without a schedule: invariances, tasks without success, targets out of reach."""

import numpy as np
import pytest

from selfpaced import (
    SPRL,
    Box,
    FunctionTask,
    Gaussian,
    Mastery,
    MasteryRule,
    Problem,
    Samples,
    train,
)
from selfpaced.learners.mastery_judge import MasteryJudge
from selfpaced.learners.mastery_pacing import buffered_batches
from selfpaced.maths.features import linear_features, rbf_grid
from selfpaced.maths.narrowing_evidence import (
    evidence_for_narrower_policy,
    squared_distances,
    trust_in_evidence,
)
from selfpaced.maths.policy import LinearGaussianPolicy, constant_policy
from selfpaced.store.health import findings
from studies.random_rewards import gained_and_spread

BOXES = Box([0.0, 0.05], [1.0, 1.0]), Box([-3.0], [3.0])
TARGET = Gaussian([0.9, 0.1], np.diag([1e-3, 1e-4]))


def hit(contexts, thetas):
    """A bolt of width `size` at `place`: reward for coming near, success within."""
    place, size = contexts.T
    miss = np.abs(thetas[:, 0] - 3 * place + 1.5)
    return np.exp(-miss / size), miss < size


def problem(reward=lambda r: r, task=hit, successes=True, target=TARGET):
    def function(contexts, thetas):
        rewards, solved = task(contexts, thetas)
        return (reward(rewards), solved) if successes else reward(rewards)

    return Problem(FunctionTask(function, *BOXES), target)


def test_a_hard_target_is_reached_with_defaults_only():
    run = train(problem(), SPRL(), iterations=100)
    assert run.success >= 0.9
    assert run.records[-1]["kl_to_target"] < 1.0


def test_small_batches_that_stay_narrow_contexts_no_faster_per_rollout_than_large_ones():
    """Half of the rollouts succeed, whatever they do, so that the contexts stay."""

    def half(contexts, thetas):
        return thetas[:, 0], np.arange(len(thetas)) % 2 == 0

    def deviations(n_samples, rollouts):
        rule = Mastery(rule=MasteryRule(search=False))
        learner = SPRL(n_samples=n_samples, pacing=rule).learner(problem(task=half))
        rng = np.random.default_rng(0)
        while learner.contexts is learner._mover._start:  # the buffer is being filled
            told(learner, rng)
        for _ in range(rollouts // n_samples - 1):
            told(learner, rng)
        return np.sqrt(np.diag(learner.contexts.covariance))

    def told(learner, rng):
        contexts, thetas = learner.ask(rng)
        learner.tell(Samples(contexts, thetas, *half(contexts, thetas)))

    start = np.sqrt(np.diag(problem().initial_contexts.covariance))
    for n_samples in (10, 50):
        np.testing.assert_allclose(deviations(n_samples, 400), start / 1.03**8, rtol=1e-6)
    np.testing.assert_allclose(deviations(100, 800), start / 1.03**8, rtol=1e-6)


def thetas_and_contexts(made, config=None, batches=40):
    learner, rng = (config or SPRL()).learner(made), np.random.default_rng(0)
    rows = []
    for _ in range(batches):
        contexts, thetas = learner.ask(rng)
        outcomes = made.task.evaluate(contexts, thetas, rng)
        learner.tell(Samples(contexts, thetas, *outcomes))
        rows.append(np.hstack([contexts, thetas]))
    return np.concatenate(rows)


@pytest.mark.parametrize("successes", [True, False])
@pytest.mark.parametrize(
    "change", [lambda r: r - 1000.0, lambda r: 1e-3 * r, lambda r: 1e6 * r - 1e7]
)
def test_shifted_and_scaled_rewards_change_nothing_that_is_learned(change, successes):
    plain = thetas_and_contexts(problem(successes=successes))
    other = thetas_and_contexts(problem(change, successes=successes))
    np.testing.assert_allclose(other, plain, rtol=1e-4, atol=1e-4)


def test_a_task_that_knows_no_success_gets_there_by_its_rewards():
    run = train(problem(lambda r: r - 5.0, successes=False), SPRL(), iterations=120)
    assert run.records[-1]["kl_to_target"] < 5.0
    assert run.reward > -5.0 + 0.5


def test_a_bound_on_the_reward_can_stand_for_success():
    config = SPRL(pacing=Mastery(reward_threshold=np.exp(-1.0)))  # the same as miss < size
    by_bound = thetas_and_contexts(problem(successes=False), config)
    np.testing.assert_allclose(by_bound, thetas_and_contexts(problem()))


def test_a_target_out_of_reach_is_approached_and_said_to_be_unreachable():
    def too_small(contexts, thetas):
        rewards, solved = hit(contexts, thetas)
        return rewards * (contexts[:, 1] > 0.4), solved & (contexts[:, 1] > 0.4)

    run = train(problem(task=too_small), SPRL(pacing=Mastery(attempts=1)), iterations=150)
    last = run.records[-1]
    assert run.success == 0.0
    assert 0.35 < last["context_mean"][1] < 0.6  # at the hardest that can be done
    assert np.mean([record["success"] for record in run.records[-30:]]) > 0.3
    kinds = {finding.kind for finding in findings(run.records, 1)}
    assert kinds == {"unreachable"}


def test_mastery_without_success_goes_from_nothing_to_one():
    judge = MasteryJudge(None)

    def batch(rewards):
        rows = np.zeros((len(rewards), 1))
        return Samples(rows, rows, np.array(rewards), np.full(len(rewards), np.nan))

    first = np.array([0.0, 0.0, 0.0, 1.0])
    assert judge.mastered(batch(first), first) == 0.0
    better = np.array([0.0, 0.9, 1.0, 1.0])
    assert 0.3 < judge.mastered(batch(better), np.r_[first, better]) < 1.0
    good = np.ones(4)
    assert judge.mastered(batch(good), np.r_[better, good]) == 1.0
    lost = np.full(4, 0.25)  # what is left of the gain is measured by what it was
    assert judge.mastered(batch(lost), lost) < 0.1


def test_thetas_are_as_far_as_the_deviations_of_who_drew_them():
    covariance = np.array([[4.0, 1.0], [1.0, 2.0]])
    policy = LinearGaussianPolicy(linear_features(1), [[1.0, 0.5], [0.0, 2.0]], covariance)
    contexts, rng = np.linspace(0, 1, 5000)[:, None], np.random.default_rng(0)
    thetas = policy.sample(contexts, rng)
    distances = squared_distances(policy, contexts, thetas)
    residual = thetas[7] - policy.mean(contexts[7])
    assert distances[7] == pytest.approx(residual @ np.linalg.solve(covariance, residual))
    assert distances.mean() == pytest.approx(2.0, rel=0.05)  # one per dimension


def test_only_near_winners_are_evidence_for_narrowing():
    rng = np.random.default_rng(0)
    distances = rng.chisquare(10, 400)
    none, near = np.full(400, 1 / 400), np.exp(-distances / 10)
    assert evidence_for_narrower_policy(distances, none) == 0.0
    assert evidence_for_narrower_policy(distances, near[::-1] / near.sum()) > -0.02  # by chance
    assert (
        evidence_for_narrower_policy(distances, 1 / near / (1 / near).sum()) == 0.0
    )  # far ones win
    assert evidence_for_narrower_policy(distances, near / near.sum()) < -0.05
    found = evidence_for_narrower_policy(distances, near / near.sum())
    again = evidence_for_narrower_policy(7.0 * distances, near / near.sum())
    assert found == pytest.approx(again)  # whatever the unit of distance


def test_few_samples_for_many_dimensions_are_trusted_little():
    even = np.full(1000, 1e-3)  # ten batches of a hundred
    assert trust_in_evidence(even, 10, 100) == pytest.approx(0.5)
    assert trust_in_evidence(even, 10, 1) > 0.99
    assert trust_in_evidence(np.eye(1000)[0], 10, 100) == pytest.approx(0.1 / 100.1)  # one counts


def after_random_rewards(**switches):
    """Entropy gained and its spread by a policy of ten dimensions on rewards that mean nothing."""
    policy = constant_policy(linear_features(2), Gaussian(np.zeros(10), np.eye(10)))
    boxes = BOXES[0], Box(np.full(10, -100.0), np.full(10, 100.0))
    made = Problem(FunctionTask(hit, *boxes), TARGET, initial_policy=policy)
    waiting = MasteryRule(search=False, mastered_from=1.0, lost_below=0.0)
    config = SPRL(n_samples=16, buffer_size=10, pacing=Mastery(rule=waiting, **switches))
    return np.mean([gained_and_spread(made, config, seed, 50)[-1] for seed in range(4)], axis=0)


def test_random_rewards_neither_narrow_the_policy_nor_distort_it():
    plain, kept = after_random_rewards(narrow_by_evidence=False), after_random_rewards()
    assert plain[0] < -0.5  # a fit to few samples is too narrow
    assert kept[0] > 0.7 * plain[0]
    assert plain[1] > 0.5  # and far from round
    assert kept[1] < 0.7 * plain[1]


def test_more_parameters_than_samples_do_not_widen_the_policy_without_end():
    features = rbf_grid(BOXES[0], (6, 6), (20.0, 20.0))
    policy = constant_policy(features, Gaussian([0.0], [[2.0]]))
    made = Problem(FunctionTask(hit, *BOXES), TARGET, initial_policy=policy)
    run = train(made, SPRL(n_samples=10), iterations=40)
    assert max(record["entropy"] for record in run.records) < policy.entropy + 3.0


def test_equal_rewards_teach_nothing_but_contexts_that_succeed_move_on():
    def done(contexts, thetas):
        return np.ones(len(contexts)), np.ones(len(contexts))

    run = train(problem(task=done), SPRL(), iterations=100)
    assert run.records[-1]["kl_to_target"] < 1.0
    assert run.records[-1]["entropy"] == run.records[0]["entropy"]


def test_an_unknown_success_is_left_out():
    rows = np.zeros((4, 1))
    known = Samples(rows, rows, np.arange(4.0), np.array([1.0, 1.0, np.nan, 0.0]))
    assert MasteryJudge(None).mastered(known, known.rewards) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match=r"from 0 to 1, .* got 5\.0"):
        thetas_and_contexts(problem(task=lambda c, t: (t[:, 0], np.full(len(t), 5.0))), batches=1)


@pytest.mark.parametrize("cost", [1e2, 1e6])
def test_rare_crashes_that_cost_much_do_not_stop_it(cost):
    rng = np.random.default_rng(0)

    def crashing(contexts, thetas):
        rewards, solved = hit(contexts, thetas)
        crashed = rng.random(len(rewards)) < 0.01
        return rewards - cost * crashed, solved & ~crashed

    assert train(problem(task=crashing), SPRL(), iterations=100).success >= 0.9


def test_from_one_known_place_it_widens_step_by_step():
    narrow = Gaussian([0.5, 0.5], 1e-6 * np.eye(2))
    made = Problem(FunctionTask(hit, *BOXES), TARGET, initial_contexts=narrow)
    run = train(made, SPRL(), iterations=30)
    assert max(record["kl_contexts"] for record in run.records) <= 0.3  # KL(old || new)
    assert run.records[-1]["kl_to_target"] < narrow.kl(TARGET)


@pytest.mark.parametrize(
    "pacing",
    [
        Mastery(hold_entropy=False),
        Mastery(temperature_floor=5.0),
        Mastery(rule=MasteryRule(step=0.05)),
        Mastery(search_epsilon=None),
        Mastery(narrow_contexts=False, decide_by=1),
    ],
    ids=["entropy", "floor", "step", "search", "narrow"],
)
def test_each_part_can_be_switched_off_and_makes_a_difference(pacing):
    with_all = thetas_and_contexts(problem())
    without = thetas_and_contexts(problem(), SPRL(pacing=pacing))
    assert not np.array_equal(with_all, without)


def test_few_rollouts_cannot_decide():
    with pytest.raises(ValueError, match=r"n_samples must be at least 5 with Mastery.* got 4"):
        SPRL(n_samples=4)


def test_a_batch_too_small_to_decide_is_refused():
    few = Samples(np.full((4, 2), 0.5), np.zeros((4, 1)), np.zeros(4), np.ones(4))
    with pytest.raises(ValueError, match=r"samples must hold at least 5 rollouts .* got 4"):
        SPRL().learner(problem()).tell(few)


def test_the_kl_that_is_told_is_that_of_the_policy_as_it_was_left():
    made, rng = problem(), np.random.default_rng(0)
    learner, seen = SPRL(n_samples=20, buffer_size=2).learner(made), []
    for _ in range(40):
        old = learner.policy
        contexts, thetas = learner.ask(rng)
        outcomes = made.task.evaluate(contexts, thetas, rng)
        seen = [*seen[-1:], contexts]
        metrics = learner.tell(Samples(contexts, thetas, *outcomes))
        if metrics:
            realised = old.mean_kl(learner.policy, np.concatenate(seen))
            assert metrics["kl_policy"] == pytest.approx(realised, abs=1e-9)


def test_noise_in_the_rewards_does_not_hide_successes():
    def noisy(contexts, thetas, rng):
        rewards, solved = hit(contexts, thetas)
        return rewards + rng.normal(size=len(rewards)), solved

    made = Problem(FunctionTask(noisy, *BOXES, noisy=True), TARGET)
    both, rewards_alone = (
        train(made, SPRL(pacing=Mastery(follow_successes=follow)), seed=0, iterations=60).success
        for follow in (True, False)
    )
    assert both > 0.9 > rewards_alone


def test_the_default_buffer_holds_enough_rollouts_whatever_the_batch():
    def made(contexts, parameters, deviation=0.01):
        thetas = Box(np.full(parameters, -1.0), np.ones(parameters))
        boxes = Box(np.zeros(contexts), np.ones(contexts)), thetas
        task = FunctionTask(lambda c, t: t.sum(axis=1), *boxes)
        target = Gaussian(np.full(contexts, 0.5), deviation**2 * np.eye(contexts))
        return Problem(task, target)

    narrow = (2, 2, 0.01, 300), (3, 2, 0.01, 400), (2, 8, 0.01, 480), (2, 100, 0.1, 500)
    broad = (2, 100, 0.1875, 675), (2, 100, 0.3, 850), (2, 8, 0.3, 480)
    for contexts, parameters, deviation, rollouts in (*narrow, *broad):
        for n in (5, 16, 50, 100):
            batches = buffered_batches(made(contexts, parameters, deviation), n)
            assert (batches - 1) * n < rollouts <= batches * n
    assert buffered_batches(made(1, 1), 5000) == 2
    assert SPRL().batches_kept(made(2, 14)) == 10
    assert SPRL(buffer_size=4).batches_kept(made(2, 14)) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decide_by": 0}, r"decide_by must be a whole number of at least 1; got 0"),
        ({"search_epsilon": 0.0}, r"search_epsilon must be .* got 0"),
        ({"narrow_contexts": 1}, r"narrow_contexts must be"),
        ({"attempts": 0}, r"attempts must be a whole number of at least 1; got 0"),
        ({"measure_noise": None}, r"measure_noise must be"),
    ],
)
def test_bad_parts_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Mastery(**change)
