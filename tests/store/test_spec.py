"""A folder holds runs of one spec, made by one code, and vouches for both."""

import importlib
import json
import sys
import textwrap
from pathlib import Path

import pytest
from small_experiments import BOWL

from selfpaced import SPRL, run
from selfpaced.cli import main
from selfpaced.experiments.fingerprint import code_fingerprint
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.report.data import stored_runs
from selfpaced.store.files import read_vouched_json, vouched_json
from selfpaced.store.reading import finished_iterations, read_run
from selfpaced.store.spec import read_spec

MODULE = """
    import numpy as np
    from selfpaced import SPRL, Box, Experiment, FunctionTask, Gaussian, Problem

    SCALE = 1.0

    def miss(contexts, thetas):
        return np.abs(thetas - contexts)[:, 0]

    def reward(contexts, thetas):
        # how near
        return -SCALE * miss(contexts, thetas)

    def make():
        task = FunctionTask(reward, Box([-1], [1]), Box([-2], [2]))
        return Problem(task, Gaussian([0.5], [[0.01]]))

    MINE = Experiment(name="mine", problem=make, iterations=3, measure_rollouts=5,
                      final_rollouts=5, algorithms={"sprl": SPRL(n_samples=5, buffer_size=2)})
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a user's module with some text replaced, and runs its experiment."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(old="", new=""):
        text = textwrap.dedent(MODULE)
        assert old in text
        (tmp_path / "own_module.py").write_text(text.replace(old, new) if old else text)
        sys.modules.pop("own_module", None)
        importlib.invalidate_caches()

    def execute(*options):
        words = ["run", "own_module:MINE", "--workers", "1", "--out", str(tmp_path / "runs")]
        return main([*words, *options])

    yield write, execute
    sys.modules.pop("own_module", None)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("-SCALE * miss", "-5 * SCALE * miss", "own_module.reward has been edited"),
        ("np.abs(thetas", "2 * np.abs(thetas", "own_module.miss has been edited"),
        ("SCALE = 1.0", "SCALE = 5.0", "own_module.SCALE has been edited"),
    ],
)
def test_edited_code_in_the_same_folder_is_refused(own, tmp_path, capsys, old, new, named):
    write, execute = own
    write()
    assert execute("--seeds", "1") == 0
    files = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    write(old, new)
    assert execute("--seeds", "2") == 2
    said = capsys.readouterr().err
    assert named in said
    assert "--accept-edited-code" in said
    assert files == {path: path.read_bytes() for path in files}
    assert len(list((tmp_path / "runs").rglob("spec.json"))) == 1


def test_comments_and_blank_lines_are_no_edits(own):
    write, execute = own
    write()
    assert execute("--seeds", "1") == 0
    write("    # how near\n", "\n    # how far from it\n")
    assert execute("--seeds", "2") == 0


def test_a_flag_mixes_both_on_purpose_and_tables_say_so(own, tmp_path):
    write, execute = own
    write()
    assert execute("--seeds", "1") == 0
    write("-SCALE * miss", "-5 * SCALE * miss")
    assert execute("--seeds", "2", "--accept-edited-code") == 0
    with pytest.warns(UserWarning, match=r"made by different code: own_module.reward has been"):
        assert len(stored_runs(tmp_path / "runs")) == 2


def test_a_run_that_goes_on_with_edited_code_keeps_what_it_was_made_by(own, tmp_path):
    write, execute = own
    write()
    assert execute("--seeds", "1") == 0
    folder = tmp_path / "runs" / "mine" / "sprl" / "seed-000"
    before = read_spec(folder)
    write("-SCALE * miss", "-5 * SCALE * miss")
    assert execute("--seeds", "1", "--iterations", "5", "--accept-edited-code") == 0
    after = read_spec(folder)
    assert after["earlier_code"] == [before["code"]]
    assert after["code"] != before["code"]
    assert finished_iterations(folder) == 5


def test_registered_experiments_have_no_code_of_a_user():
    found = GATE_PRECISION
    assert code_fingerprint(found.problem, found.problem(), found.algorithm("sprl")) is None
    assert code_fingerprint(BOWL.problem, BOWL.problem(), SPRL())["sources"].keys() >= {
        "small_experiments.bowl",
        "small_experiments.problem",
    }


def test_an_environment_and_what_it_is_wrapped_in_are_looked_at(monkeypatch):
    pytest.importorskip("gymnasium", reason="needs the extra gym")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    example = importlib.import_module("own_environment")
    found = code_fingerprint(example.SWING_UP.problem, example.SWING_UP.problem())
    assert found["sources"].keys() >= {
        "own_environment.problem",
        "own_environment.Pendulum",
        "own_environment.set_mass",
        "own_environment.UPRIGHT",
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    run(BOWL, ["sprl"], seeds=1, iterations=3, out=out, workers=1)
    return out / "bowl" / "sprl" / "seed-000"


@pytest.mark.parametrize("name", ["spec.json", "result.json"])
def test_a_flipped_digit_is_noticed(folder, name):
    path = folder / name
    whole = path.read_bytes()
    digits = [i for i, byte in enumerate(whole) if chr(byte).isdigit()]
    try:
        for i in digits[:: max(1, len(digits) // 40)]:
            other = b"1" if whole[i : i + 1] != b"1" else b"2"
            path.write_bytes(whole[:i] + other + whole[i + 1 :])
            with pytest.raises(ValueError, match="is damaged"):
                read_run(folder)
    finally:
        path.write_bytes(whole)
    assert read_run(folder).spec["algorithm"] == "sprl"


def test_files_without_a_checksum_still_read(folder, tmp_path):
    old = {**read_spec(folder), "format": 1}
    (tmp_path / "spec.json").write_text(json.dumps(old))
    assert read_vouched_json(tmp_path / "spec.json") == old
    (tmp_path / "new.json").write_bytes(vouched_json({"format": 2, "a": [1.5, None]}))
    assert read_vouched_json(tmp_path / "new.json") == {"format": 2, "a": [1.5, None]}
    (tmp_path / "cut.json").write_text('{"format": 2, "a": 1}')
    with pytest.raises(ValueError, match="checksum does not fit"):
        read_vouched_json(tmp_path / "cut.json")
