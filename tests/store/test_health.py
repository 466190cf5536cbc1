"""What is said of a run's health, and when."""

import re
from pathlib import Path

import numpy as np
import pytest

from selfpaced.maths.features import linear_features
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import constant_policy
from selfpaced.report.data import Group
from selfpaced.report.figures import health_curves
from selfpaced.report.statistics import best_half, bootstrap, paired
from selfpaced.store.health import findings, summarised
from selfpaced.store.packed import read_packed, write_packed
from selfpaced.store.reading import StoredRun


def records(n=90, **columns):
    """n iterations; a column may be a number or a function of the share of the run done."""
    return [
        {
            "iteration": i + 1,
            **{
                name: value(i / (n - 1)) if callable(value) else value
                for name, value in columns.items()
            },
        }
        for i in range(n)
    ]


HEALTHY = {
    "success": 0.7,
    "kl_to_target": lambda t: 500 * np.exp(-8 * t),
    "entropy": lambda t: 30 - 20 * t,
    "ess_policy": 60.0,
    "ess_contexts": 60.0,
    "variance_raised": 0.0,
    "target_success": 0.3,
    "target_reward": 1.0,
}


def kinds(**changes):
    """What is said of a run while it goes on."""
    found = findings(records(**{**HEALTHY, **changes}), 15, finished=False)
    return {finding.kind for finding in found}


def test_a_run_on_its_way_is_unfinished_if_it_has_ended_and_nothing_otherwise():
    (finding,) = findings(records(**HEALTHY), 15)
    assert finding.kind == "unfinished"
    assert kinds() == set()


# A run whose contexts have no distance to the target:
BASELINE = {"success": 0.6, "entropy": 3.0, "target_success": 0.3, "target_reward": 1.0}


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("forgotten", {"target_success": lambda t: 0.9 if 0.4 < t < 0.6 else 0.1}),
        ("unfinished", {"target_success": lambda t: 0.7 * t}),
        ("too hard", {"success": 0.01, "target_success": 0.0}),
        ("elsewhere", {"success": 0.9, "target_success": 0.1}),
        ("plateau", {"target_success": 0.4}),
    ],
)
def test_any_algorithm_is_judged_by_its_success_rates(kind, changes):
    (finding,) = findings(records(**{**BASELINE, **changes}), None)
    assert finding.kind == kind
    under_way = findings(records(**{**BASELINE, **changes}), None, finished=False)
    assert under_way == ([finding] if kind == "forgotten" else [])


def test_a_run_that_was_never_measured_on_the_target_is_judged_on_its_contexts():
    rates = [{"success": rate} for rate in [*np.linspace(0, 0.9, 10), 0.9, 0.9, *8 * [0.1]]]
    (finding,) = findings(rates, None)
    assert finding.kind == "forgotten"
    assert "90% succeeded on its contexts" in finding.shown_by
    assert findings(rates[:-1], None) == []  # too few records


def test_no_lost_run_of_a_stored_result_stays_without_a_word():
    lost = 0
    for file in sorted((Path(__file__).parents[2] / "results").glob("*.packed")):
        for run in read_packed(file):
            if run.result["target_success"] < 0.7:  # far from the 0.8 that counts as solved
                dimension = getattr(run.policy, "dimension", None)
                assert findings(run.records, dimension), (file.name, run.algorithm, run.seed)
                lost += 1
    assert lost > 300


def test_a_run_that_solves_the_target_has_nothing_whatever_else():
    assert kinds(ess_policy=2.0, kl_to_target=300.0, target_success=0.95) == set()


def test_stalled_is_a_kl_that_stays_while_success_is_high():
    assert kinds(kl_to_target=lambda t: 300 - 5 * t) == {"stalled"}
    assert kinds(kl_to_target=lambda t: 300 - 5 * t, success=0.2) == set()
    assert kinds(kl_to_target=0.01) == set()


def test_collapsed_is_a_policy_without_deviation_that_does_not_succeed():
    narrow = {"entropy": lambda t: 30 - 200 * t}
    assert kinds(**narrow, success=0.05) == {"collapsed"}
    assert kinds(**narrow, success=0.9) == set()


def test_discrete_actions_have_no_deviation_that_could_collapse():
    falling = records(**{**HEALTHY, "entropy": lambda t: 1.4 - t, "success": 0.05})
    assert "collapsed" not in {finding.kind for finding in findings(falling, 0)}


def test_contexts_on_their_floor_far_from_the_target_are_collapsed():
    assert kinds(variance_raised=1.0, kl_to_target=lambda t: 900 * (1.1 - t)) == {"collapsed"}


def test_starved_is_an_update_from_a_handful_of_samples():
    (finding,) = findings(records(**{**HEALTHY, "ess_policy": 4.2}), 15)
    assert finding.kind == "starved"
    assert "4.2 effective samples" in finding.shown_by
    assert "n_samples" in finding.to_try


def test_unreachable_is_success_that_falls_whenever_contexts_move():
    kl = iter(np.repeat(500 * 0.8 ** np.arange(9), 10))
    success = iter(np.tile(np.r_[0.2, np.linspace(0.3, 0.8, 9)], 9))
    run = records(
        **{**HEALTHY, "kl_to_target": lambda t: next(kl), "success": lambda t: next(success)}
    )
    assert "unreachable" in {finding.kind for finding in findings(run, 15)}


NOT_MASTERED = {"move": 1.0, "mastered": 0.4, "kl_to_target": 300.0, "success": 0.4}


def said(**changes):
    found = findings(records(**{**HEALTHY, **NOT_MASTERED, **changes}), 15)
    return [finding.shown_by for finding in found if finding.kind == "unreachable"]


def test_contexts_that_wait_to_be_mastered_are_told_apart():
    assert "came no nearer to the target than 300 nats" in said()[0]
    assert "nothing is mastered yet" in said(move=0.0)[0]
    assert said(move=0.0, mastered=lambda t: 0.6 * t) == []  # a search that is getting there
    assert "at the target" in said(kl_to_target=0.5)[0]
    assert said(kl_to_target=lambda t: 300 * np.exp(-5 * t)) == []
    without_success = said(success=np.nan)
    assert "nan" not in without_success[0]
    assert "40% succeeded there" in said()[0]
    jumping = iter(np.tile([0.25, 0.5, 0.375, 0.475], 100))  # small batches: 0.4 is of several
    assert "40% succeeded there" in said(success=lambda t: next(jumping))[0]
    assert "mastered there, by its rewards" in said(success=0.9)[0]  # a reward_threshold was given
    assert "20% was mastered there, by its rewards" in said(success=np.nan, mastered=0.2)[0]


def test_contexts_that_creep_at_half_success_are_stuck_since_an_iteration():
    creeping = {
        "move": lambda t: 1.0 if t < 0.4 or round(t * 89) % 15 == 0 else 2.0,
        "mastered": 0.55,
        "success": 0.55,
        "kl_to_target": lambda t: 200 * np.exp(-4 * t),
        "entropy": lambda t: -10 - 60 * t,
        "target_success": 0.0,
        "target_reward": 0.0,
    }
    (found,) = findings(records(**creeping), None)
    assert found.kind == "stuck"
    since = int(re.search(r"since iteration (\d+)", found.shown_by)[1])
    assert 30 <= since <= 65
    assert "55% succeeded there" in found.shown_by
    moving = creeping | {"move": 1.0}
    assert findings(records(**moving), None, finished=False) == []


def test_a_run_that_began_anew_says_when():
    assert "anew" not in said(attempt=1.0)[0]
    assert "anew" not in said()[0]
    twice = said(attempt=lambda t: 1.0 + (t > 0.3) + (t > 0.7))[0]
    first, second = re.search(r"began anew before iteration (\d+) and (\d+)$", twice).groups()
    assert 25 <= int(first) <= 35
    assert 60 <= int(second) <= 70


def test_without_successes_a_target_that_is_mastered_by_its_rewards_has_no_findings():
    there = {"kl_to_target": 0.0, "success": np.nan, "target_success": np.nan, "mastered": 0.9}
    assert said(**there) == []
    assert "at the target" in said(**there, move=2.0)[0]
    advice = findings(records(**{**HEALTHY, **NOT_MASTERED, **there, "move": 2.0}), 15)[0].to_try
    assert "reward_threshold" in advice
    assert "reward_threshold" not in findings(records(**{**HEALTHY, **NOT_MASTERED}), 15)[0].to_try


def test_runs_without_a_curriculum_and_without_records_are_survived():
    assert findings([], 15) == []
    assert findings(records(success=0.1, entropy=3.0), None) == []


def test_many_seeds_are_summed_up():
    found = [
        (seed, findings(records(**{**HEALTHY, "ess_policy": 4.0}), 15)[0]) for seed in range(12)
    ]
    ((who, finding),) = summarised(found)
    assert who == "seeds 0, 1, 2, 3, 4, 5, 6, 7 and 4 more; for seed 0"
    assert finding.kind == "starved"


def stored(records, seed=0, algorithm="sprl"):
    policy = constant_policy(linear_features(1), Gaussian(np.zeros(15), np.eye(15)))
    spec = {"experiment": "e", "algorithm": algorithm, "config": {}, "seed": seed}
    return StoredRun(spec, records, {"iterations": 0}, 0.0, policy, np.zeros((10, 1)), None)


AILING = {
    "stalled": {"kl_to_target": lambda t: 300 - 20 * t},
    "collapsed": {"entropy": lambda t: 30 - 200 * t**0.05, "success": 0.05},
    "starved": {"ess_policy": lambda t: 4.2 if int(350 * t) % 7 > 1 else 3.1},
    "unreachable": {
        "kl_to_target": lambda t: 500 * 0.8 ** int(5 * t),
        "success": lambda t: 0.3 + 0.4 * (5 * t % 1),
    },
}


@pytest.mark.parametrize("kind", AILING)
def test_packed_results_say_of_a_run_what_its_store_says(kind, tmp_path):
    whole = records(350, **{**HEALTHY, **AILING[kind]})
    for record in whole:
        if record["iteration"] % 7:  # not measured
            del record["target_success"], record["target_reward"]
    whole.append({**whole[-1], "iteration": 351, "kl_to_target": 0.98 * whole[-1]["kl_to_target"]})
    write_packed([stored(whole)], tmp_path / "e.packed")
    (packed,) = read_packed(tmp_path / "e.packed")
    (said,), (kept,) = (findings(found, 15) for found in (whole, packed.records))
    assert kept.kind == said.kind == kind
    number = r"\d+\.?\d*(?:e[+-]?\d+)?"
    assert re.sub(number, "#", kept.shown_by) == re.sub(number, "#", said.shown_by)
    values = [[float(n) for n in re.findall(number, found.shown_by)] for found in (kept, said)]
    np.testing.assert_allclose(*values, rtol=5e-3)


def test_the_entropy_of_a_point_does_not_flatten_that_of_others():
    moving = records(30, **HEALTHY)
    point = records(30, **{**HEALTHY, "entropy": -560.0})
    members = [
        Group("e", name, (stored(found, algorithm=name),))
        for name, found in (("sprl", moving), ("cmaes", point))
    ]
    figure = health_curves(members, "e")
    (panel,) = [axes for axes in figure.axes if axes.get_title().startswith("policy entropy")]
    assert [line.get_label() for line in panel.lines] == ["SPRL"]
    assert panel.get_ylim()[0] > 0
    (panel,) = [axes for axes in figure.axes if axes.get_title().startswith("success")]
    assert len(panel.lines) == 2
    alone = health_curves(members[1:], "e")
    assert not any(axes.get_title().startswith("policy entropy") for axes in alone.axes)


def test_seeds_that_have_arrived_count_in_the_median_of_the_kl():
    runs = [
        stored(records(30, **{**HEALTHY, "kl_to_target": kl}), seed)
        for seed, kl in enumerate([lambda t: 100 * (t < 0.5), lambda t: 100 * (t < 0.5), 100.0])
    ]
    figure = health_curves([Group("e", "sprl", tuple(runs))], "e")
    (panel,) = [axes for axes in figure.axes if axes.get_title().startswith("KL to the")]
    middle = panel.lines[0].get_ydata()
    assert middle[0] == 100.0
    assert np.isnan(middle[-1])  # 0, not the 100 of the one that is left behind


class Run:
    def __init__(self, seed, value):
        self.seed, self.result = seed, {"target_success": value, "target_reward": value}


def group(values, first=0):
    return Group("e", "a", tuple(Run(first + i, value) for i, value in enumerate(values)))


def test_a_bootstrap_interval_holds_the_mean_and_narrows_with_seeds():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=8), rng.normal(size=800)
    for values in (few, many):
        mean, low, high = bootstrap(values)
        assert low < mean < high
    widths = [np.subtract(*bootstrap(values)[:0:-1]) for values in (few, many)]
    assert widths[1] < widths[0] / 4
    assert bootstrap(np.full(5, 0.3)) == pytest.approx((0.3, 0.3, 0.3))


def test_paired_differences_use_the_seeds_that_both_have():
    noise = np.random.default_rng(0).normal(size=12)
    shared, mean, low, high = paired(group(noise + 0.5), group(noise[4:], first=4), "target_reward")
    assert shared == 8
    assert (mean, low, high) == pytest.approx((0.5, 0.5, 0.5))


def test_the_best_half_is_by_final_success():
    best = best_half(group([0.1, 0.9, 0.5, 0.7]))
    assert [run.seed for run in best.runs] == [1, 3]
    assert len(best_half(group([0.2])).runs) == 1


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_that_is_judged_by_rewards_alone_is_told_so(finished):
    made = records(kl_to_target=0.0, mastered=1.0, move=1.0, target_reward=-0.2, by_rewards=1.0)
    (finding,) = findings(made, 15, finished=finished)
    assert finding.kind == "by rewards"
    assert "reward_threshold" in finding.to_try
    for record in made:
        del record["by_rewards"]  # a threshold said what is mastered
    assert findings(made, 15, finished=finished) == []
