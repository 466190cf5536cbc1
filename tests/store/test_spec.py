"""A folder holds runs of one spec, made by one code, and vouches for both."""

import dataclasses
import importlib
import json
import linecache
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from small_experiments import BOWL

from selfpaced import SPRL, run
from selfpaced.cli import main
from selfpaced.engines.job import execute as execute_job
from selfpaced.experiments.fingerprint import code_fingerprint
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.report.data import stored_runs
from selfpaced.store.files import read_vouched_json, vouched_json
from selfpaced.store.packed import write_packed
from selfpaced.store.reading import finished_iterations, finished_runs, read_run
from selfpaced.store.spec import read_spec
from selfpaced.sweep import plan

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
        linecache.clearcache()

    def execute(*options):
        words = ["run", "own_module:MINE", "--workers", "1", "--out", str(tmp_path / "runs")]
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # the command line prints them
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


HELPERS = {
    "helper_module.py": "CONSTANT = 1.0\n\ndef scaled(x):\n    return x\n",
    "helper_package/__init__.py": "",
    "helper_package/inner.py": "def deep(x):\n    return x\n",
}
WHOLE = """
    import functools
    import numpy as np
    import helper_module, helper_package.inner
    from selfpaced import SPRL, Box, Experiment, Gaussian, Outcomes, Problem

    TABLE = {"a": 1.0, "b": [1.0, 2.0]}
    GRID = np.array([1.0, 2.0])

    def twice(function):
        @functools.wraps(function)
        def wrapper(x):
            return 2.0 * function(x)
        return wrapper

    @twice
    def decorated(x):
        return x + 10.0

    @functools.cache
    def cached():
        return 11.0

    FIRST, SECOND = (lambda x: x + 21.0), (lambda x: x + 22.0)

    class Mine:
        context_space, theta_space = Box([-1], [1]), Box([-2], [2])

        def __init__(self, mass):
            self.mass = mass

        def evaluate(self, contexts, thetas, rng, offset=31.0):
            'Scores.'
            import helper_module as late
            x = self.mass * thetas[:, 0] + GRID[0] + TABLE["a"] + helper_module.CONSTANT + offset
            x = helper_package.inner.deep(late.scaled(SECOND(FIRST(decorated(x))))) + cached()
            return Outcomes(x + self.inner, np.full(len(x), np.nan))

        @functools.cached_property
        def inner(self):
            return 41.0

        def draw(self, context, trajectories, axes):
            axes.plot([51.0])

    def make(mass):
        return Problem(Mine(mass), Gaussian([0.5], [[0.01]]))

    MINE = Experiment(name="mine", problem=functools.partial(make, 61.0), iterations=1,
                      algorithms={"sprl": SPRL()})
"""


@pytest.fixture
def fingerprint(tmp_path, monkeypatch):
    """The fingerprint of WHOLE and HELPERS with some text replaced."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = ("whole_module", "helper_module", "helper_package", "helper_package.inner")

    def forget():
        for name in names:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        linecache.clearcache()

    def take(old="", new=""):
        files = {"whole_module.py": textwrap.dedent(WHOLE), **HELPERS}
        assert not old or sum(old in text for text in files.values()) == 1
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text.replace(old, new) if old else text)
        forget()
        mine = importlib.import_module("whole_module").MINE
        return code_fingerprint(mine.problem, mine.problem(), mine.algorithm("sprl"))["sources"]

    yield take
    forget()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.array([1.0, 2.0])", "np.array([1.0, 50.0])"),
        ('"b": [1.0, 2.0]', '"b": [1.0, 2.5]'),
        ("CONSTANT = 1.0", "CONSTANT = 2.0"),
        ("def scaled(x):\n    return x", "def scaled(x):\n    return 2 * x"),
        ("def deep(x):\n    return x", "def deep(x):\n    return -x"),
        ("return 2.0 * function(x)", "return 3.0 * function(x)"),
        ("x + 10.0", "x + 10.5"),
        ("return 11.0", "return 11.5"),
        ("x + 21.0", "x + 21.5"),
        ("x + 22.0", "x + 22.5"),
        ("offset=31.0", "offset=31.5"),
        ("return 41.0", "return 41.5"),
        ("partial(make, 61.0)", "partial(make, 61.5)"),
        ("self.mass = mass", "self.mass = 2 * mass"),
    ],
)
def test_whatever_changes_a_result_changes_the_fingerprint(fingerprint, old, new):
    assert fingerprint() != fingerprint(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'Scores.'", "'Scores rows, as a task does.'"),
        ("axes.plot([51.0])", "axes.plot([52.0])"),
        ("self.mass = mass", "self.mass = (\n                mass  # in kilograms\n            )"),
        ("import helper_module, helper", "import helper_module\nimport helper"),
    ],
)
def test_words_looks_and_figures_change_no_fingerprint(fingerprint, old, new):
    assert fingerprint() == fingerprint(old, new)


def test_a_script_and_the_module_it_is_are_the_same_code(tmp_path, monkeypatch):
    text = textwrap.dedent(MODULE) + textwrap.dedent("""
        if __name__ == "__main__":
            import selfpaced
            selfpaced.run(MINE, seeds=1, out="runs", workers=1)
    """)
    (tmp_path / "own_script.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "own_script.py"], check=True)
    assert main(["run", "own_script:MINE", "--seeds", "2", "--workers", "1"]) == 0
    sys.modules.pop("own_script", None)


def test_code_that_is_edited_while_a_sweep_runs_is_noticed(own, tmp_path):
    write, _ = own
    write()
    (job,) = plan(["own_module:MINE"], None, [0], tmp_path / "runs")
    write("-SCALE * miss", "-5 * SCALE * miss")
    changed = importlib.import_module("own_module").MINE
    with pytest.raises(ValueError, match=r"edited since the sweep began: own_module.reward has"):
        execute_job(dataclasses.replace(job, experiment=changed))


def test_packed_results_say_that_they_were_made_by_different_code(own, tmp_path):
    write, execute = own
    write()
    assert execute("--seeds", "1") == 0
    write("-SCALE * miss", "-5 * SCALE * miss")
    assert execute("--seeds", "2", "--accept-edited-code") == 0
    write_packed(finished_runs(tmp_path / "runs"), tmp_path / "mine.packed")
    with pytest.warns(UserWarning, match="made by different code"):
        assert len(stored_runs(tmp_path / "mine.packed")) == 2


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


def test_a_run_that_goes_on_with_edited_code_keeps_what_it_was_made_by(own, tmp_path, capsys):
    write, execute = own
    write()
    assert execute("--seeds", "1") == 0
    folder = tmp_path / "runs" / "mine" / "sprl" / "seed-000"
    before = read_spec(folder)
    write("-SCALE * miss", "-5 * SCALE * miss")
    assert execute("--seeds", "1", "--iterations", "5", "--accept-edited-code") == 0
    assert "was continued after the code had been edited" in capsys.readouterr().err
    after = read_spec(folder)
    assert after["earlier_code"] == [before["code"]]
    assert after["code"] != before["code"]
    assert finished_iterations(folder) == 5
    with pytest.warns(UserWarning, match="was continued after the code had been edited"):
        stored_runs(tmp_path / "runs")


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
            flipped = whole[:i] + other + whole[i + 1 :]
            if json.loads(flipped) == json.loads(whole):
                continue  # the last of so many digits that the number is the same
            path.write_bytes(flipped)
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
