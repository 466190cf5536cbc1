"""In which settings runs differ from the registered ones, or from each other."""

from dataclasses import replace
from pathlib import Path

from selfpaced import SPRL, Alpha, experiment
from selfpaced.cli import main
from selfpaced.report.changed_settings import changed_settings
from selfpaced.store.files import plain
from selfpaced.store.status import RunStatus
from selfpaced.sweep import run

REGISTERED = experiment("gate-precision").algorithm("sprl")


def status_of(config, seed=0, name="gate-precision", iterations=350, **more):
    spec = {"experiment": name, "algorithm": "sprl", "config": plain(config), "seed": seed, **more}
    return RunStatus(Path("somewhere"), spec, "done", iterations, iterations, None)


def test_registered_settings_are_not_mentioned():
    assert changed_settings([status_of(REGISTERED), status_of(REGISTERED, iterations=0)]) == []


def test_seeds_with_the_same_changes_are_named_together():
    wide = replace(REGISTERED, epsilon=2.0)
    runs = [status_of(wide, 0), status_of(REGISTERED, 1, iterations=20), status_of(wide, 2)]
    first, second = changed_settings(runs)
    changes = ("epsilon 2.0 (registered: 0.4)",)
    assert first == ("gate-precision sprl", (0, 2), changes)
    assert second == ("gate-precision sprl", (1,), ("iterations 20 (registered: 350)",))


def test_of_a_part_of_another_type_the_types_are_said_and_not_all_fields():
    assert isinstance(REGISTERED.pacing, Alpha)
    (found,) = changed_settings([status_of(replace(REGISTERED, pacing=SPRL().pacing))])
    assert found.changes == ("pacing.type Mastery (registered: Alpha)",)


def test_runs_of_other_experiments_are_compared_with_their_first_seed():
    other = {"problem": {"target": 1.0}}
    runs = [
        status_of(SPRL(), 3, "mine", problem={"target": 0.0}),
        status_of(SPRL(n_samples=20), 4, "mine", **other),
    ]
    (found,) = changed_settings(runs)
    samples = f"n_samples 20 (seed 3: {SPRL().n_samples})"
    assert found == ("mine sprl", (4,), (samples, "problem.target 1.0 (seed 3: 0.0)"))


def test_status_prints_them(tmp_path, capsys):
    run("gate-precision", ["sprl"], seeds=1, iterations=1, out=tmp_path)
    assert main(["status", str(tmp_path)]) == 0
    said = "settings: gate-precision sprl, seed 0: iterations 1 (registered: 350)"
    assert said in capsys.readouterr().out
