"""What reports know of experiments."""

from dataclasses import replace
from pathlib import Path

from selfpaced.experiments import EXPERIMENTS
from selfpaced.experiments.optional_packages import MissingPackage
from selfpaced.report.data import infos, stored_runs

RESULTS = Path(__file__).parents[2] / "results"


def test_runs_of_an_experiment_whose_package_is_missing_are_read_all_the_same(monkeypatch):
    def without_its_package():
        raise MissingPackage("this needs the package Box2D")

    path, registered = RESULTS / "windy-lander.packed", EXPERIMENTS["windy-lander"]
    missing = replace(registered, problem=without_its_package)
    monkeypatch.setitem(EXPERIMENTS, "windy-lander", missing)
    info = infos(stored_runs(path), path)["windy-lander"]
    assert len(info.low) == len(info.context_names) == 3
