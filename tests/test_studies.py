"""The experiments behind docs/beyond-the-paper.md: they run, and are what their names say."""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

from selfpaced import SPRL, Progress, train
from selfpaced.experiments.gate import GATE_PRECISION
from studies import (
    ablations,
    advice,
    ball_values,
    open_points,
    others_tables,
    random_rewards,
    rollout_trade,
    sampled_kl,
)
from studies.small_alpha import Data, ours, un_augmented

RESULTS = Path(__file__).parents[1] / "results"


@pytest.mark.parametrize("experiment", [ablations.PRECISION, open_points.PRECISION])
def test_every_variant_of_the_gate_learns(experiment):
    for name, algorithm in experiment.algorithms.items():
        run = train(experiment.problem(), algorithm, seed=0, iterations=25)
        assert run.records[-1]["reward"] > run.records[0]["reward"], name


def test_variants_differ_from_the_rule_and_from_each_other():
    for experiment in (
        ablations.PRECISION,
        ablations.KINEMATIC,
        open_points.BALL,
        ball_values.VALUES,
    ):
        assert len(set(map(repr, experiment.algorithms.values()))) == len(experiment.algorithms)
    assert ball_values.PAPER not in ball_values.VALUES.algorithms.values()
    for share in (0.1, 0.03):
        bound = open_points.PRECISION.algorithms[f"entropy-bound-{share}"].min_entropy
        initial = open_points.PRECISION.problem().initial_policy.entropy
        assert np.exp((bound - initial) / 14) == pytest.approx(share)


def test_the_exact_kl_is_what_its_schedule_looks_at():
    schedule = open_points.PRECISION.algorithms["exact-kl"].pacing.schedule
    paper = open_points.PRECISION.algorithms["paper"].pacing.schedule
    there = Progress(200, 100.0, 90.0, kl=50.0, exact_kl=20.0)
    assert schedule.alpha(there) == paper.alpha(there._replace(kl=20.0)) > paper.alpha(there)


def test_both_duals_bound_the_same_kl_and_only_the_printed_one_overflows():
    rng = np.random.default_rng(0)
    c = rng.normal(size=200)
    features = np.stack([np.ones(200), np.exp(-((c - 1) ** 2)), np.exp(-((c + 1) ** 2))], axis=1)
    rewards = 100.0 + np.cos(c) + 0.3 * rng.normal(size=200)
    data = Data(rewards, -0.5 * (c - 0.5) ** 2 + 0.5 * c**2, features, 0.3)
    calm, wild = un_augmented(data, 300.0), un_augmented(data, 1e-2)
    assert calm.kl == pytest.approx(0.3, abs=0.02)
    assert wild.exponent > 709.8
    assert not wild.finite
    for alpha in (1e-2, 300.0):
        found = ours(data, alpha)
        assert found.finite
        assert found.kl == pytest.approx(0.3, abs=1e-4)
        assert found.mass == pytest.approx(1.0)


def test_luck_narrows_and_distorts_a_fitted_policy_more_than_one_that_asks_for_evidence():
    problem = open_points.PRECISION.problem()
    plain, kept = (
        random_rewards.gained_and_spread(
            problem, SPRL(n_samples=20, buffer_size=10, pacing=pacing), 0, 100
        )[-1]
        for _, pacing in random_rewards.RULES.values()
    )
    assert plain[0] < 2 * kept[0] < 0
    assert plain[1] > 5 * kept[1] > 0


def test_the_sampled_kl_is_near_the_exact_one_while_contexts_stand_still():
    seen = sampled_kl.looked_at(GATE_PRECISION, 3)
    assert [progress.iteration for progress in seen] == [1, 2, 3]
    first = seen[0]  # a buffer of contexts from one distribution
    assert first.kl == pytest.approx(first.exact_kl, rel=0.1)
    assert first.kl != first.exact_kl


def test_the_figure_of_open_points_shows_every_variant_that_is_stored():
    coarse = RESULTS / "studies" / "ball-in-a-cup-coarse.packed"
    stored = [coarse, *(RESULTS / "studies").glob("*open-points.packed")]
    figure = open_points.draw([str(path) for path in stored])
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    for legend, names in zip(legends, 2 * list(open_points.POINTS.values()), strict=True):
        shown = [text.get_text().rpartition(", ")[0] for text in legend.get_texts()]
        assert shown == ["paper's SPRL", *names.values()]


def test_tables_of_others_are_filled_from_packed_results_alone(tmp_path):
    """With the stored runs of the point mass in the place of an experiment of others."""
    document = (RESULTS.parent / others_tables.DOCUMENT).read_text()
    assert others_tables.filled(document, tmp_path).count("No results are stored yet.") == 4
    place = "<!-- table: pointmass-ppo -->\nold numbers\n<!-- end of table -->\nafter"
    found = others_tables.filled(place, RESULTS)
    assert "old numbers" not in found
    assert found.endswith("<!-- end of table -->\nafter")
    assert "| uniform | 5 | 0.46 [" in found  # mean of 0.00, 0.92, 0.88, 0.40, 0.11
    assert others_tables.filled(found, RESULTS) == found


@pytest.mark.parametrize("case", advice.CASES, ids=lambda case: case.name)
def test_advice_is_followed_by_changing_one_thing(case):
    def settings(value):
        if not is_dataclass(value):
            return value
        return {field.name: settings(getattr(value, field.name)) for field in fields(value)}

    def differences(one, other):
        if isinstance(one, dict) and isinstance(other, dict):
            return sum(differences(one[name], other[name]) for name in one)
        return one != other

    assert differences(settings(case.tried), settings(case.advised)) == 1


def test_runs_of_the_trade_are_read_and_summed_up(tmp_path):
    stored = tmp_path / "trade.jsonl"
    rows = [
        {"task": "gate-global", "setting": "default", "seed": 500 + k, "success": s, "rollouts": r}
        for k, (s, r) in enumerate([(0.95, 1000), (0.5, None), (0.9, 3000)])
    ]
    stored.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert rollout_trade.summary(rollout_trade.read(stored), "gate-global") == {
        "default": (3000.0, 1, 3)  # a run that never reached 90% counts as infinite
    }
    assert rollout_trade.read(tmp_path / "missing.jsonl") == []


def test_every_setting_of_the_trade_has_been_run_on_every_task():
    rows = rollout_trade.read(RESULTS / "studies" / rollout_trade.STORED.name)
    for task, (_, count) in rollout_trade.TASKS.items():
        found = rollout_trade.summary(rows, task)
        assert {name: seeds for name, (_, _, seeds) in found.items()} == dict.fromkeys(
            rollout_trade.settings(task), count
        )
