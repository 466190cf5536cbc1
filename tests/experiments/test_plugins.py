"""What other packages offer by entry points is listed, runs, and keeps the contracts."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from selfpaced import CREPS, CurrOT, experiment
from selfpaced.cli import main
from selfpaced.experiments.plugin_registry import registered
from selfpaced.testing import check_plugins

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example package, installed in a folder of its own; nothing is downloaded."""
    pytest.importorskip("hatchling", reason="needs the extra test: it builds the example package")
    folder = tmp_path_factory.mktemp("installed")
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    words += ["--target", str(folder), str(ROOT / "examples" / "plugin")]
    subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    return folder


@pytest.fixture
def known(installed, monkeypatch):
    """The same package, importable in this process and in those it starts."""
    monkeypatch.syspath_prepend(str(installed))
    paths = [str(installed), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    yield installed
    for name in [name for name in sys.modules if name.startswith("selfpaced_stairs")]:
        del sys.modules[name]


def test_list_shows_what_another_package_offers(known, capsys):
    assert main(["list"]) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if "selfpaced-stairs 1.0" in line
    ]
    assert [line.split()[0] for line in lines] == [
        "dial-far",
        "stairs",
        "sprl-small-batches",
        "dial",
    ]


def test_teacher_learner_and_experiment_run_from_the_command_line(known, tmp_path, capsys):
    words = ["--seeds", "1", "--iterations", "2", "--workers", "1", "--out", str(tmp_path)]
    chosen = ["--algorithms", "creps-stairs", "sprl-small-batches"]
    assert main(["run", "gate-precision", *chosen, *words]) == 0
    assert main(["run", "dial-far", *words]) == 0
    found = {path.parent.name for path in tmp_path.glob("*/*/seed-000")}
    assert found == {"creps-stairs", "sprl-small-batches", "sprl", "stairs"}
    assert "dial-far" in capsys.readouterr().out


def test_what_a_package_offers_keeps_the_contracts(known):
    assert len(check_plugins("selfpaced_stairs")) == 4


def test_contracts_need_an_installed_package():
    with pytest.raises(ValueError, match="package must be installed and have entry points"):
        check_plugins("nothing-of-this-name")


def test_any_teacher_can_be_put_into_an_algorithm_by_name():
    gate = experiment("gate-precision")
    assert gate.algorithm("creps-currot") == CREPS(
        epsilon=0.4, n_samples=100, buffer_size=10, teacher=CurrOT()
    )
    with pytest.raises(ValueError, match="unknown teacher 'curot'; did you mean 'currot'"):
        gate.algorithm("creps-curot")
    with pytest.raises(ValueError, match="unknown algorithm 'sprl-currot'"):  # it takes no teacher
        gate.algorithm("sprl-currot")


class Offered:
    """An entry point as `importlib.metadata` gives it."""

    def __init__(self, name, package, found):
        self.name, self.value, self._found = name, "module:NAME", found
        self.dist = type("Package", (), {"name": package, "version": "2.0"})

    def load(self):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.fixture
def offer(monkeypatch):
    """A function that pretends that packages with these entry points are installed."""

    def pretend(group, *entries):
        def entry_points(**chosen):
            return [Offered(*entry) for entry in entries] if chosen["group"] == group else []

        monkeypatch.setattr("selfpaced.experiments.plugin_registry.entry_points", entry_points)

    return pretend


def test_a_package_that_cannot_be_loaded_is_named_and_costs_nothing_else(offer, capsys):
    offer("selfpaced.teachers", ("mine", "broken", ImportError("no module named lost")))
    assert main(["list"]) == 1
    printed = capsys.readouterr().out
    assert "gate-precision" in printed
    assert "'mine' of the package broken 2.0 (module:NAME) could not be loaded" in printed
    assert "ImportError: no module named lost" in printed


@pytest.mark.parametrize(
    ("group", "found", "rule"),
    [
        ("teachers", CurrOT, "must be an object such as a configuration, not a class"),
        ("teachers", 3, "must be a teacher's configuration with a method `start`"),
        ("learners", 3, "must be an algorithm's configuration with a method `start`"),
        ("tasks", 3, "must be a class or a function that makes a task"),
        ("experiments", CurrOT(), "must be an Experiment"),
    ],
)
def test_what_is_offered_must_be_of_its_kind(offer, group, found, rule):
    offer(f"selfpaced.{group}", ("mine", "other", found))
    with pytest.raises(ValueError, match=rule):
        registered(group, "mine", {})


def test_a_name_that_two_packages_offer_is_refused(offer):
    offer("selfpaced.teachers", ("mine", "one", CurrOT()), ("mine", "two", CurrOT()))
    with pytest.raises(ValueError, match=r"'mine' is offered by one 2\.0 and two 2\.0; uninstall"):
        registered("teachers", "mine", {})


def test_names_of_this_library_cannot_be_taken(offer, capsys):
    offer("selfpaced.teachers", ("currot", "other", CREPS()))
    assert experiment("gate-precision").algorithm("creps-currot").teacher == CurrOT()
    assert main(["list"]) == 1
    assert "has a name that is taken" in capsys.readouterr().out


def test_importing_the_library_imports_no_plug_in(known):
    code = "import sys, selfpaced.experiments, selfpaced.teachers; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not any(name.startswith("selfpaced_stairs") for name in loaded.stdout.split())
    names = [entry.name for entry in importlib.metadata.entry_points(group="selfpaced.teachers")]
    assert "stairs" in names
