"""What earlier versions have stored reads, and goes on, under today's names."""

from pathlib import Path

import numpy as np
import pytest
from small_experiments import BOWL

from selfpaced import (
    CREPS,
    EXPERIMENTS,
    SPRL,
    SelfPacedAlpha,
    SelfPacedMastery,
    SelfPacedThreshold,
    load,
    run,
)
from selfpaced.maths.randomness import streams_of
from selfpaced.report.data import stored_runs
from selfpaced.store.compatibility import upgraded_record, upgraded_spec, upgraded_state
from selfpaced.store.files import plain
from selfpaced.store.packed import read_packed, restore_store
from selfpaced.store.spec import differences, run_folder
from selfpaced.sweep import plan
from studies import (
    ablations,
    ball_values,
    coarse_ball,
    earlier_runs,
    mastery_before,
    open_points,
)

RESULTS = Path(__file__).parents[2] / "results"
STUDIES = (ablations.PRECISION, ablations.GLOBAL, ablations.KINEMATIC, ablations.BALL)
BEFORE = (
    mastery_before.PRECISION,
    mastery_before.GLOBAL,
    mastery_before.KINEMATIC,
    mastery_before.MUJOCO,
)
KNOWN = EXPERIMENTS | {
    experiment.name: experiment
    for experiment in (
        *STUDIES,
        *BEFORE,
        open_points.PRECISION,
        open_points.BALL,
        ball_values.VALUES,
        coarse_ball.COARSE,
        earlier_runs.PRECISION,
        earlier_runs.GLOBAL,
        earlier_runs.KINEMATIC,
        earlier_runs.TEN_LINKS_BALL,
        earlier_runs.TEN_LINKS_ROBUST,
        earlier_runs.THREE_STRINGS_BALL,
        earlier_runs.TWENTY_LINKS_BALL,
    )
}


NEEDS = {"minigrid-rooms": "minigrid", "minigrid-crossings": "minigrid", "windy-lander": "Box2D"}


def first_of_each(path):
    return {run.algorithm: run for run in reversed(read_packed(path))}.values()


# Box2D's wrapper warns while it loads, and crashes if the warning is made an error.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.packed")), ids=lambda path: path.name)
def test_every_stored_spec_is_the_one_that_is_asked_for_today(path, tmp_path):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason="needs the extra others")
    for stored in first_of_each(path):
        experiment = KNOWN[stored.experiment]
        (job,) = plan([experiment], [stored.algorithm], [stored.seed], tmp_path)
        asked, had = (
            {key: value for key, value in spec.items() if key != "code"}
            for spec in (job.spec, stored.spec)
        )
        assert list(differences(asked, had)) == []


@pytest.mark.parametrize("name", ["gate-precision", "reacher-kinematic"])
def test_unpacked_runs_are_not_repeated(name, tmp_path):
    restored, left = restore_store(RESULTS / f"{name}.packed", tmp_path)
    assert restored > 0 == left
    for algorithm, seed in (("sprl", 0), ("sprl-mastery", 300), ("creps", 0)):
        (job,) = plan([name], [algorithm], [seed], tmp_path)
        assert job.is_done()


def test_renamed_algorithms_are_found_by_their_new_names():
    found = load(RESULTS)
    assert "sprl-mastery" in found["reacher-kinematic"]
    assert {"threshold", "target", "uniform"} <= set(found["pointmass-ppo"])
    assert not any("ready" in name for members in found.values() for name in members)


def test_a_users_own_algorithm_keeps_its_name():
    spec = {"format": 1, "experiment": "mine", "algorithm": "selfpaced", "numbers": {}, "seed": 0}
    assert upgraded_spec(spec)["algorithm"] == "selfpaced"
    assert upgraded_spec({**spec, "experiment": "pointmass-ppo"})["algorithm"] == "threshold"


RULE = {"type": "Readiness", "mastered": 0.7, "lost": 0.35, "step": 0.1}
NEW_RULE = {
    "type": "MasteryRule",
    "mastered_from": 0.7,
    "lost_below": 0.35,
    "step": 0.1,
    "retreats": False,
}
TEACHER = {
    "type": "SelfPaced",
    "form": "ready",
    "judged_by": "reward",
    "bound": 3.0,
    "schedule": None,
    "epsilon": 0.15,
    "pace": RULE,
    "update_every": 50,
    "least_deviation": 0.02,
    "until_kl": 20.0,
}
SHARED = {
    "epsilon": 0.15,
    "update_every": 50,
    "least_deviation": 0.02,
    "until_kl": 20.0,
    "retreats": False,
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"type": "Ready", "pace": RULE, "reward_bound": 2.0},
            {
                "type": "Mastery",
                "rule": NEW_RULE,
                "reward_threshold": 2.0,
                "decide_by": 1,
                "search_epsilon": None,
                "follow_successes": False,
                "narrow_contexts": False,
                "wait_for_successes": False,
                "attempts": 1,
                "measure_noise": False,
                "narrowing": 3.0,
            },
        ),
        (
            {"type": "CREPS", "teacher": {"type": "Target"}},
            {"type": "CREPS", "teacher": {"type": "TargetTeacher"}},
        ),
        (
            TEACHER,
            {
                "type": "SelfPacedMastery",
                "rule": NEW_RULE,
                "reward_threshold": 3.0,
                "update_every": 50,
            },
        ),
        (
            {**TEACHER, "form": "threshold", "judged_by": "success"},
            {"type": "SelfPacedThreshold", "judged_by": "success", "threshold": 3.0, **SHARED},
        ),
        (
            {**TEACHER, "form": "sprl"},
            {"type": "SelfPacedAlpha", "judged_by": "reward", "schedule": None, **SHARED},
        ),
    ],
)
def test_old_configurations_are_translated_with_all_they_hold(old, new):
    spec = {"format": 1, "experiment": "e", "algorithm": "a", "numbers": old, "seed": 0}
    assert upgraded_spec(spec)["config"] == new


def test_what_is_stored_today_is_left_alone():
    spec = {"format": 2, "experiment": "gate-precision", "algorithm": "sprl-ready", "config": {}}
    assert upgraded_spec(spec) == spec
    teacher = {"type": "CurrOT", "retreats": True}
    stored = {**spec, "config": {"type": "CREPS", "teacher": teacher}}
    assert upgraded_spec(stored) == stored
    assert upgraded_record({"iteration": 3, "able": 0.5}) == {"iteration": 3, "mastered": 0.5}


OLD_NAMES = {"mover.": "pace.", "judge": "ability", "issued": "asked"}


def as_it_was(state):
    """A state under the names that earlier versions stored it by."""
    old = {}
    for name, value in state.items():
        for new, before in OLD_NAMES.items():
            name = name.replace(new, before)
        old[name] = np.asarray(value)
    for name in [name for name in old if name.endswith("teacher.asked_densities")]:
        inside = name.removesuffix("asked_densities")
        arrived = old.pop(f"{inside}arrived", False)
        old.setdefault(f"{inside}reached", np.array([True, bool(arrived)]))
    return old


@pytest.mark.parametrize(
    "config",
    [
        SPRL(n_samples=10, buffer_size=3),
        CREPS(n_samples=10, buffer_size=3, teacher=SelfPacedThreshold(update_every=10)),
        CREPS(n_samples=10, buffer_size=3, teacher=SelfPacedAlpha(update_every=10)),
        CREPS(n_samples=10, buffer_size=3, teacher=SelfPacedMastery(update_every=10)),
    ],
    ids=["sprl", "threshold", "alpha", "mastery"],
)
def test_a_checkpoint_of_an_earlier_version_goes_on(config):
    problem = BOWL.problem()
    whole, resumed = (config.start(problem, streams_of(0)) for _ in range(2))
    for _ in range(4):
        whole.advance()
    old = as_it_was(whole.state())
    assert not any("mover" in name or "judge" in name or "issued" in name for name in old)
    resumed.restore(upgraded_state(old))
    for _ in range(4):
        assert plain(resumed.advance()) == plain(whole.advance())


def test_runs_of_a_renamed_algorithm_go_on_in_their_old_folder(tmp_path):
    old = tmp_path / "gate-precision" / "sprl-ready"
    old.mkdir(parents=True)
    assert run_folder(tmp_path, "gate-precision", "sprl-mastery", 3).parent == old
    assert run_folder(tmp_path, "mine", "sprl-mastery", 3).parent.name == "sprl-mastery"
    (tmp_path / "gate-precision" / "sprl-mastery").mkdir()
    assert run_folder(tmp_path, "gate-precision", "sprl-mastery", 3).parent != old


def test_of_two_runs_with_one_seed_the_longer_counts(tmp_path):
    run("gate-precision", ["creps"], seeds=1, iterations=2, out=tmp_path / "a", workers=1)
    run("gate-precision", ["creps"], seeds=1, iterations=4, out=tmp_path / "b", workers=1)
    for paths in (("a", "b"), ("b", "a")):
        (found,) = stored_runs(*(tmp_path / path for path in paths))
        assert found.result["iterations"] == 4
