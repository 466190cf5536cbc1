"""SPRL and C-REPS as learners: warm-up, schedules, floors, bad input, and whole runs."""

import numpy as np
import pytest

from selfpaced import (
    CREPS,
    SPRL,
    Alpha,
    Box,
    FunctionTask,
    Gaussian,
    Mastery,
    MasteryRule,
    Problem,
    Samples,
    UniformTeacher,
    train,
)
from selfpaced.learners.sprl import VarianceFloor
from selfpaced.maths.schedule import FractionOfGain, FractionOfReward, Progress


def bowl(contexts, thetas):
    return -np.sum((thetas - contexts) ** 2, axis=1)


def problem(**changes):
    boxes = Box([-1.0, -1.0], [1.0, 1.0]), Box([-2.0, -2.0], [2.0, 2.0])
    target = changes.pop("target", Gaussian([0.7, 0.7], 0.01 * np.eye(2)))
    return Problem(FunctionTask(bowl, *boxes), target, **changes)


def drive(learner, batches, seed=0):
    """Ask, evaluate and tell by hand; the metrics of every batch."""
    rng = np.random.default_rng(seed)
    told = []
    for _ in range(batches):
        contexts, thetas = learner.ask(rng)
        unknown = np.full(len(contexts), np.nan)
        told.append(learner.tell(Samples(contexts, thetas, bowl(contexts, thetas), unknown)))
    return told


@pytest.mark.parametrize("config", [SPRL(buffer_size=4), CREPS(buffer_size=4)])
def test_the_buffer_fills_before_the_first_update(config):
    learner = config.learner(problem())
    before = learner.policy
    assert drive(learner, 3) == [{}, {}, {}]
    assert learner.policy is before
    assert drive(learner, 1)[0]["kl_policy"] > 0
    assert learner.policy is not before


def test_warm_up_rollouts_count():
    run = train(problem(), SPRL(n_samples=20, buffer_size=5), iterations=3)
    assert [record["rollouts"] for record in run.records] == [100, 120, 140]


@pytest.mark.parametrize("config", [SPRL(pacing=Alpha(schedule=FractionOfGain())), CREPS()])
def test_metrics_say_what_happened(config):
    last = drive(config.learner(problem()), 11)[-1]
    names = {"eta_p", "kl_policy", "ess_policy", "newton_steps", "fit_kept_old"}
    if isinstance(config, SPRL):
        names |= {"alpha", "eta_mu", "kl_contexts", "kl_to_target", "ess_contexts"}
    assert names <= set(last)
    assert all(np.isfinite(value) for value in last.values())


def test_a_simple_problem_is_solved_at_the_target_with_defaults_only():
    run = train(problem(), SPRL(), iterations=80)
    assert run.records[-1]["kl_to_target"] < 1.0
    np.testing.assert_allclose(run.policy.mean([0.7, 0.7]), [0.7, 0.7], atol=0.05)
    assert run.reward > -0.01
    assert np.isnan(run.success)  # the function has no notion of success


def test_alpha_follows_algorithm_1():
    schedule = FractionOfReward(zeta=0.1, k_alpha=5, alpha_max=2.0)
    assert schedule.alpha(Progress(5, 40.0, 0.0, 8.0, 8.0)) == 0.0
    assert schedule.alpha(Progress(6, 40.0, 0.0, 8.0, 8.0)) == pytest.approx(0.1 * 40 / 8)
    assert schedule.alpha(Progress(6, -40.0, 0.0, 8.0, 8.0)) == pytest.approx(0.1 * 40 / 8)
    assert schedule.alpha(Progress(6, 40.0, 0.0, 0.01, 0.01)) == 2.0
    assert schedule.alpha(Progress(6, 40.0, 0.0, -0.5, -0.5)) == 2.0


def test_the_gain_ignores_where_the_zero_of_the_reward_is():
    schedule = FractionOfGain(zeta=0.1, k_alpha=5)
    one = schedule.alpha(Progress(9, 3.0, 1.0, 8.0, 8.0))
    assert one > 0
    assert schedule.alpha(Progress(9, -997.0, -999.0, 8.0, 8.0)) == pytest.approx(one)
    assert schedule.alpha(Progress(9, 0.5, 1.0, 8.0, 8.0)) == 0.0


def test_a_user_can_replace_the_schedule():
    class Constant:
        def alpha(self, progress):
            return 0.25

    told = drive(SPRL(pacing=Alpha(schedule=Constant())).learner(problem()), 12)
    assert [metrics["alpha"] for metrics in told if metrics] == [0.25] * 3


def test_a_schedule_that_gives_nonsense_is_named():
    class Broken:
        def alpha(self, progress):
            return np.nan

    with pytest.raises(ValueError, match=r"schedule must give a finite alpha .* got nan"):
        drive(SPRL(pacing=Alpha(schedule=Broken())).learner(problem()), 10)


def test_alpha_pulls_the_contexts_to_the_target():
    free = SPRL(pacing=Alpha(schedule=FractionOfReward(zeta=1.0, k_alpha=10**6)))
    pulled = SPRL(pacing=Alpha(schedule=FractionOfReward(zeta=50.0, k_alpha=0)))
    free, pulled = (drive(n.learner(problem()), 30)[-1]["kl_to_target"] for n in (free, pulled))
    assert pulled < 0.2 * free


def test_the_variance_floor_holds_until_the_contexts_are_near():
    floor = VarianceFloor(variance=0.02, until_kl=5.0)
    learner = SPRL(pacing=Alpha(schedule=FractionOfGain(), variance_floor=floor)).learner(problem())
    held = []
    rng = np.random.default_rng(0)
    for _ in range(60):
        contexts, thetas = learner.ask(rng)
        rewards = bowl(contexts, thetas) - 5 * np.sum(contexts**2, axis=1)  # narrow is best
        learner.tell(Samples(contexts, thetas, rewards, np.full(len(rewards), np.nan)))
        if learner.contexts.kl(Gaussian([0.7, 0.7], 0.01 * np.eye(2))) > 10.0:
            held.append(np.diag(learner.contexts.covariance).min())
    assert min(held) >= 0.02 - 1e-12
    assert len(held) > 5


def test_the_entropy_bound_holds():
    config = SPRL(min_entropy=0.0)
    learner = config.learner(problem())
    raised = [metrics.get("entropy_raised", 0.0) for metrics in drive(learner, 60)]
    assert learner.policy.entropy >= -1e-9
    assert any(raised)
    free = SPRL().learner(problem())
    drive(free, 60)
    assert free.policy.entropy < -1.0


@pytest.mark.parametrize("weights", ["creps", "derived"])
def test_both_kinds_of_policy_weights_learn(weights):
    run = train(
        problem(),
        SPRL(pacing=Alpha(schedule=FractionOfGain(), policy_weights=weights)),
        iterations=60,
    )
    assert run.reward > run.records[0]["target_reward"]


def test_training_can_start_from_a_learned_policy_with_widened_covariance():
    first = train(problem(), CREPS(), iterations=40)
    again = problem(initial_policy=first.policy.widened(3.0))
    short = train(again, CREPS(), iterations=5)
    fresh = train(problem(), CREPS(), iterations=5)
    assert short.records[0]["reward"] > fresh.records[0]["reward"]
    assert short.reward > fresh.reward


def test_negative_and_shifted_rewards_learn_the_same_with_the_default_schedule():
    def shifted(contexts, thetas):
        return 1e-3 * bowl(contexts, thetas) - 1000.0

    boxes = Box([-1.0, -1.0], [1.0, 1.0]), Box([-2.0, -2.0], [2.0, 2.0])
    target = Gaussian([0.7, 0.7], 0.01 * np.eye(2))
    one = train(problem(), SPRL(), iterations=30)
    other = train(Problem(FunctionTask(shifted, *boxes), target), SPRL(), iterations=30)
    np.testing.assert_allclose(other.policy.A, one.policy.A, atol=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SPRL(epsilon=0.0), "epsilon must be above 0 and finite; got 0.0"),
        (lambda: CREPS(epsilon=-1.0), "epsilon must be above 0 and finite; got -1.0"),
        (lambda: SPRL(n_samples=0), "n_samples must be a whole number of at least 1; got 0"),
        (lambda: SPRL(n_samples=50.0), "n_samples must be a whole number of at least 1; got 50.0"),
        (lambda: SPRL(epsilon="a"), "epsilon must be above 0 and finite; got 'a'"),
        (lambda: SPRL(min_entropy=np.nan), "min_entropy must be a finite number; got nan"),
        (lambda: SPRL(pacing=Alpha(schedule=0.5)), "schedule must have a method alpha.* got 0.5"),
        (
            lambda: SPRL(pacing=Alpha(schedule=FractionOfReward)),
            "schedule must have a method alpha",
        ),
        (lambda: SPRL(n_samples=True), "n_samples must be a whole number .* got True"),
        (
            lambda: SPRL(pacing=Alpha(schedule=FractionOfGain(), variance_floor=0.1)),
            "variance_floor must be a VarianceFloor; got 0.1",
        ),
        (lambda: CREPS(teacher=UniformTeacher), "teacher must be a configuration such as GoalGAN"),
        (lambda: Problem(bowl, Gaussian([0.0], [[1.0]])), "task must have a method evaluate"),
        (lambda: problem(initial_contexts=[0.0]), "initial_contexts must be a distribution"),
        (lambda: problem(initial_policy=0), "initial_policy must be a LinearGaussianPolicy"),
        (
            lambda: SPRL(pacing=MasteryRule()),
            r"pacing must be Mastery\(...\) or Alpha\(schedule=...\); got MasteryRule",
        ),
        (lambda: Mastery(rule=0.7), "rule must be a MasteryRule; got 0.7"),
        (
            lambda: Mastery(reward_threshold=np.nan),
            "reward_threshold must be a finite number; got nan",
        ),
        (
            lambda: Mastery(reward_threshold="a"),
            "reward_threshold must be a finite number; got 'a'",
        ),
        (lambda: Mastery(hold_entropy="no"), "hold_entropy must be a bool; got 'no'"),
        (lambda: MasteryRule(search="no"), "search must be a bool; got 'no'"),
        (lambda: MasteryRule(least_deviation=50.0), "least_deviation must be at most 1"),
        (lambda: problem(target=[0.0, 0.0]), r"target must be a distribution.* got \[0.0, 0.0\]"),
        (lambda: problem(reward_shift=np.nan), "reward_shift must be a finite number; got nan"),
        (lambda: SPRL(buffer_size=0), "buffer_size must be a whole number of at least 1; got 0"),
        (lambda: CREPS(ridge=0.0), "ridge must be above 0"),
        (lambda: CREPS(temperature_floor=-1.0), "temperature_floor must be .* got -1.0"),
        (
            lambda: Alpha(schedule=FractionOfGain(), policy_weights="best"),
            "policy_weights must be 'creps' or 'derived'",
        ),
        (lambda: FractionOfReward(zeta=-0.1, k_alpha=3), "zeta must be above 0"),
        (lambda: FractionOfGain(k_alpha=-1), "k_alpha must be a whole number of at least 0"),
        (lambda: VarianceFloor(variance=0.0, until_kl=1.0), "variance must be above 0"),
        (lambda: SPRL(min_entropy=99.0).learner(problem()), "min_entropy must not be above"),
        (lambda: problem(target=Gaussian([0.0], [[1.0]])), "target must have 2 dimensions; got 1"),
        (
            lambda: problem(target=Gaussian([3.0, 0.0], np.eye(2))),
            r"target must have its mean in Box.* got \[3.0, 0.0\]",
        ),
        (
            lambda: problem(initial_contexts=Gaussian([0.0], [[1.0]])),
            "initial_contexts must have 2 dimensions; got 1",
        ),
    ],
)
def test_bad_values_get_an_error_that_names_them(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("config", [SPRL(), CREPS()])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rewards": np.full(5, np.nan)}, "rewards must be finite; 5 of 5 rows are not"),
        ({"rewards": np.ones(4)}, r"rewards must be \(5,\), one value per rollout; got \(4,\)"),
        ({"contexts": np.full((5, 2), 3.0)}, r"contexts must lie in Box.* first row 0: \[3.0"),
        ({"thetas": np.zeros((5, 3))}, r"thetas must be \(n, 2\)"),
        ({"thetas": np.zeros((4, 2))}, "thetas must have 5 rows, as contexts; got 4"),
        (
            {
                "contexts": np.zeros((0, 2)),
                "thetas": np.zeros((0, 2)),
                "rewards": np.zeros(0),
                "successes": np.zeros(0),
            },
            "samples must hold at least one rollout",
        ),
        ({"successes": np.ones(2)}, r"successes must be \(5,\)"),
    ],
)
def test_learners_refuse_samples_that_are_wrong(config, change, message):
    good = {
        "contexts": np.zeros((5, 2)),
        "thetas": np.zeros((5, 2)),
        "rewards": np.zeros(5),
        "successes": np.zeros(5),
    }
    with pytest.raises(ValueError, match=message):
        config.learner(problem()).tell(Samples(**{**good, **change}))


def test_equal_rewards_leave_the_policy_sane():
    learner = SPRL(pacing=Alpha(schedule=FractionOfReward(zeta=1.0, k_alpha=0))).learner(problem())
    rng = np.random.default_rng(0)
    for _ in range(20):
        contexts, thetas = learner.ask(rng)
        flat = np.ones(len(contexts))
        learner.tell(Samples(contexts, thetas, flat, np.full(len(flat), np.nan)))
    # Nothing was learned: the mean has drifted by sampling noise only.
    assert np.abs(learner.policy.mean([0.0, 0.0])).max() < 0.5
    assert learner.policy.entropy > problem().initial_policy.entropy - 1.0


@pytest.fixture(scope="module")
def whole_runs():
    """One whole run of each algorithm on gate-precision: every metric of every iteration."""
    return {name: train("gate-precision", name, seed=3) for name in ("sprl", "creps")}


@pytest.mark.parametrize("name", ["sprl", "creps"])
def test_newton_converges_on_every_buffer_of_a_whole_run(whole_runs, name):
    run = whole_runs[name]
    assert len(run.records) == 350
    assert run.column("newton_gradient").max() <= 1e-6
    for fallback in ("dual_unconverged", "epsilon_clamped", "fit_kept_old"):
        assert run.column(fallback).max() == 0.0


@pytest.mark.parametrize("name", ["sprl", "creps"])
def test_the_kl_bound_holds_after_every_fit_of_a_whole_run(whole_runs, name):
    run = whole_runs[name]
    contexts = run.column("kl_contexts") if name == "sprl" else 0.0
    realised = run.column("kl_policy") + contexts
    assert realised.max() <= 1.01 * 0.4
    assert realised.max() > 0.39  # it binds at least once, so the bound is what held it


def test_on_gate_precision_sprl_succeeds_where_creps_is_caught(whole_runs):
    assert whole_runs["sprl"].success >= 0.85
    assert whole_runs["creps"].success <= 0.02
    assert whole_runs["creps"].reward >= -1.0  # caught, but at the local optimum itself
