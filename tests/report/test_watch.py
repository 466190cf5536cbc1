"""What leaves a stored run: movements for a robot, pictures."""

import csv
import ctypes.util
from pathlib import Path

import numpy as np
import pytest

from selfpaced import run
from selfpaced.cli import main
from selfpaced.experiments import experiment, find_experiment
from selfpaced.report.movement import write_movement
from selfpaced.report.watch import film_of
from selfpaced.store.reading import StoredRun
from selfpaced.store.spec import run_folder
from selfpaced.store.writing import RunWriter

MODEL = "BallInACup(Fidelity(links=10, margin=0.0015, substeps=2))"


def stored_ball_run(out, A, **result):
    """The folder of a finished run of ball-in-a-cup, whose policy has the initial covariance."""
    initial = experiment("ball-in-a-cup").problem().initial_policy
    policy = type(initial)(initial.features, A, initial.covariance)
    spec = {
        "experiment": "ball-in-a-cup",
        "algorithm": "sprl",
        "problem": {"task": MODEL},
        "seed": 0,
    }
    folder = run_folder(out, "ball-in-a-cup", "sprl", 0)
    files = RunWriter(folder, spec)
    files.write_finished(
        StoredRun(spec, [], {"iterations": 0, **result}, 0.0, policy, np.ones((10, 1)), None)
    )
    files.close()
    return folder


@pytest.fixture
def ball_run(tmp_path):
    return stored_ball_run(tmp_path, np.random.default_rng(0).normal(scale=0.5, size=(15, 2)))


def read(path):
    with path.open() as file:
        header, *rows = csv.reader(line for line in file if not line.startswith("#"))
    return header, np.array(rows, dtype=float)


def test_the_learned_movement_leaves_as_csv(ball_run, tmp_path, capsys):
    out = tmp_path / "not" / "there" / "out.csv"
    words = ["export", ball_run, "--trajectory", out, "--context", 1.0, "--frequency", 500]
    assert main([str(word) for word in [*words, "--speed", 1.0]]) == 0
    said = capsys.readouterr().out
    assert "1751 set points, joint" in said
    assert "success of the run" in said
    header, rows = read(out)
    assert header[:2] == ["time", "position_joint1"]
    assert header[-1] == "velocity_joint7"
    assert rows.shape == (1751, 15)
    np.testing.assert_allclose(np.diff(rows[:, 0]), 0.002, atol=1e-8)
    slopes = np.gradient(rows[:, 1:8], 0.002, axis=0)
    np.testing.assert_allclose(rows[2:-2, 8:], slopes[2:-2], atol=2e-3)
    assert np.ptp(rows[:, 2]) > 0.05  # joint 2 moves, joint 1 does not
    assert np.ptp(rows[:, 1]) == 0.0


def test_a_movement_names_its_model_and_warns_where_it_does_not_hold(tmp_path, capsys):
    A = np.random.default_rng(0).normal(scale=0.5, size=(15, 2))
    rates = {"rescored_reference_success": 0.92, "rescored_randomised_success": 0.4}
    folder, out = stored_ball_run(tmp_path, A, target_success=0.98, **rates), tmp_path / "out.csv"
    assert main(["export", str(folder), "--trajectory", str(out)]) == 0
    said = capsys.readouterr().out
    assert "success of the run 0.98, reference 0.92, randomised 0.40" in said
    assert "does not hold in randomised: success 0.40 there, 0.98 in the model it was" in said
    assert "does not hold in reference" not in said
    comments = [line for line in out.read_text().splitlines() if line.startswith("#")]
    assert comments[0] == f"# learned in {MODEL}; success 0.98"
    assert comments[1:] == ["# reference: success 0.92", "# randomised: success 0.40"]


def test_at_half_the_speed_the_same_path_takes_twice_as_long(ball_run, tmp_path):
    fast = write_movement(ball_run, tmp_path / "a.csv")
    slow = write_movement(ball_run, tmp_path / "b.csv", speed=0.5, frequency=250.0)
    assert fast.set_points == slow.set_points == 1751
    assert slow.speed == pytest.approx(fast.speed / 2, rel=1e-3)
    _, fast = read(tmp_path / "a.csv")
    _, slow = read(tmp_path / "b.csv")
    np.testing.assert_allclose(slow[:, 1:8], fast[:, 1:8], atol=1e-8)
    np.testing.assert_allclose(2 * slow[:, 8:], fast[:, 8:], atol=1e-7)


def test_what_was_never_tried_or_the_joints_cannot_do_is_not_written(tmp_path):
    initial = experiment("ball-in-a-cup").problem().initial_policy
    A = np.zeros(initial.A.shape)
    A[:, 1] = 6.0  # grows with the cup: within the bounds at 1, beyond them at 2.5
    folder = stored_ball_run(tmp_path, A)
    with pytest.raises(ValueError, match=r"at \[2.5\] it extrapolates to 15"):
        write_movement(folder, tmp_path / "a.csv", context=[2.5])
    A[:, 1] = np.tile([9.9, 0.0, -9.9], 5)
    folder = stored_ball_run(tmp_path / "other", A)
    with pytest.raises(ValueError, match=r"joint \d is sent to .* rad, outside of"):
        write_movement(folder, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


def test_another_context_gives_another_movement(ball_run, tmp_path):
    for name, scale in (("a", 1.0), ("b", 2.0)):
        write_movement(ball_run, tmp_path / f"{name}.csv", context=[scale])
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--context", "5.0"], "context must lie in"),
        (["--context", "1.0", "1.0"], "context must be (n, 1)"),
        (["--speed", "0"], "speed must be from 0.05 to 1.5 for a robot; got 0"),
        (["--speed", "nan"], "speed must be from 0.05 to 1.5 for a robot; got nan"),
        (["--frequency", "-1"], "frequency must be from 10 to 1000 for a robot; got -1"),
        (["--frequency", "1e9"], "frequency must be from 10 to 1000 for a robot; got 1e+09"),
    ],
)
def test_wrong_words_are_named_and_nothing_is_written(ball_run, tmp_path, capsys, words, message):
    out = tmp_path / "out.csv"
    assert main(["export", str(ball_run), "--trajectory", str(out), *words]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_users_own_experiment_can_be_watched(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    run("own_experiment:THROW", ["sprl"], seeds=1, iterations=2, out=tmp_path)
    run(find_experiment("own_experiment:THROW"), ["sprl"], seeds=2, iterations=2, out=tmp_path)
    pictures = list(
        film_of(tmp_path / "throw" / "sprl" / "seed-000", experiment="own_experiment:THROW")
    )
    assert len(pictures) == 40


@pytest.mark.parametrize("name", ["reacher", "ball-in-a-cup"])
def test_a_robot_is_pictured_and_filmed(name):
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    if not any(map(ctypes.util.find_library, ("EGL", "OSMesa"))):
        pytest.skip("needs a library to draw without a screen, such as Debian's libegl1")
    problem = experiment(name).problem()
    still = problem.task.picture(problem.target.mean)
    assert still.std() > 10  # something is to be seen
    policy, rng = problem.initial_policy, np.random.default_rng(0)
    film = problem.task.film(problem.target.mean, policy, rng)
    first, later = next(film), [next(film) for _ in range(4)][-1]
    film.close()
    assert first.shape[2] == 3
    assert (first != later).any()
