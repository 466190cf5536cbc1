"""The command line as a person or a script meets it."""

import csv
import io
import json
import os
import pty
import re
import resource
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from selfpaced import run, train
from selfpaced.cli.main import main, split_overrides
from selfpaced.experiments import experiment
from selfpaced.experiments.override import override
from selfpaced.report.watch import film_of
from selfpaced.teachers.alpgmm import ALPGMM

TESTS = Path(__file__).parent


def call(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "selfpaced", *map(str, words)],
        capture_output=True,
        text=True,
        **options,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    run("gate-precision", ["sprl", "creps"], seeds=2, iterations=14, out=out)
    return out


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_help_answers_at_once():
    taken = []
    for _ in range(3):  # one of three, for a busy machine makes everything slower
        before = seconds_of_children()
        answer = call("--help")
        taken.append(seconds_of_children() - before)
        if taken[-1] < 0.3:
            break
    assert answer.returncode == 0
    for command in ("run", "status", "table", "list", "pack", "export"):
        assert command in answer.stdout
    assert min(taken) < 0.3


def test_a_command_that_does_not_exist_gets_one_sentence():
    answer = call("rnu", "gate-precision")
    assert answer.returncode == 2
    assert answer.stderr == "error: selfpaced has no command 'rnu'; did you mean `run`?\n"
    answer = call("--seeds", "3")
    assert answer.returncode == 2
    assert "no command '--seeds'; commands are list, run, status" in answer.stderr


def test_no_words_show_the_commands_and_count_as_an_error():
    answer = call()
    assert answer.returncode == 2
    assert answer.stdout == call("--help").stdout


def test_list_shows_experiments_and_algorithms(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert "gate-precision" in printed
    assert "sprl, sprl-mastery, creps, cmaes, goalgan, saggriac" in printed


def test_run_prints_a_line_per_run_and_a_table_when_piped(tmp_path, capsys):
    words = ("run", "gate-precision", "--seeds", 2, "--iterations", 7, "--out", tmp_path)
    answer = call(*words, "--algorithms", "sprl")
    assert answer.returncode == 0
    assert "2/2 gate-precision sprl seed" in answer.stdout
    assert re.search(r"sprl +2 +0.0", answer.stdout)
    assert "\x1b" not in answer.stdout  # no colours in a file
    assert (tmp_path / "gate-precision.png").stat().st_size > 10_000
    assert main([*map(str, words), "--algorithms", "sprl"]) == 0
    again = capsys.readouterr().out
    assert "2 of 2 runs are done already" in again
    table = answer.stdout.split("\n\n")[1]
    assert table in again


def in_a_terminal(columns, *words):
    """What a person sees: the command under a pseudo-terminal of that width."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    command = [sys.executable, "-m", "selfpaced", *map(str, words)]
    process = subprocess.Popen(command, stdout=child, stderr=child, env=environment)
    os.close(child)
    seen = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:  # the terminal closes with the command
            break
        if not chunk:
            break
        seen += chunk
    os.close(parent)
    assert process.wait() == 0
    return seen.decode()


@pytest.mark.parametrize("columns", [50, 80, 140])
def test_tables_fit_the_terminal(store, columns):
    shown = in_a_terminal(columns, "table", store)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    table = plain.split("n: seeds;")[0]
    assert max(map(len, table.splitlines())) <= columns
    assert "…" not in table


def test_bars_show_each_run_in_a_terminal(tmp_path):
    shown = in_a_terminal(
        *(100, "run", "gate-precision", "--algorithms", "sprl", "--seeds", 1),
        *("--iterations", 40, "--out", tmp_path),
    )
    assert "gate-precision sprl seed 0" in shown
    assert "/40" in shown


def test_table_as_json_and_csv(store, capsys):
    main(["table", str(store), "--format", "json"])
    rows = json.loads(capsys.readouterr().out)
    assert [r["algorithm"] for r in rows] == ["sprl", "creps"]
    wanted = {
        *("experiment", "algorithm", "seeds", "success_median", "success_q10", "success_q90"),
        *("success_min", "reward_median", "iterations_to_50", "iterations_to_90"),
        *("rollouts", "measuring_rollouts", "cpu_seconds"),
    }
    assert wanted <= set(rows[0])
    assert rows[0]["seeds"] == 2
    assert rows[0]["rollouts"] == 2300
    assert rows[0]["iterations_to_90"] == "inf"
    main(["table", str(store), "--format", "csv"])
    (first, _) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert float(first["reward_median"]) == rows[0]["reward_median"]


def test_pack_and_unpack(store, tmp_path, capsys):
    assert main(["pack", str(store), str(tmp_path / "packed")]) == 0
    file = tmp_path / "packed" / "gate-precision.packed"
    assert main(["unpack", str(file), "--out", str(tmp_path / "again")]) == 0
    printed = capsys.readouterr().out
    assert "4 runs restored" in printed
    for path in (store, file, tmp_path / "again"):
        main(["table", str(path), "--format", "json"])
    tables = capsys.readouterr().out.split("]\n")[:3]
    seconds = re.compile(r'"cpu_seconds".*')
    assert len({seconds.sub("", table) for table in tables}) == 1


def test_watch_films_a_rollout(store, tmp_path, capsys):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra video")
    film = tmp_path / "not" / "there" / "gate.mp4"
    run = store / "gate-precision" / "sprl" / "seed-000"
    assert main(["watch", str(run), "--out", str(film), "--context", "1.0", "0.4"]) == 0
    assert "101 frames" in capsys.readouterr().out
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(film))
    assert count == 101
    assert seconds == pytest.approx(101 / 25, abs=0.05)
    pictures = list(islice(film_of(run), 10))
    assert {picture.shape for picture in pictures} == {(480, 640, 3)}
    assert (pictures[0] != pictures[-1]).any()  # something moves
    assert film.with_suffix(".png").stat().st_size > 5000


def test_a_film_that_cannot_be_written_is_one_clear_line(store, tmp_path, capfd):
    pytest.importorskip("imageio_ffmpeg", reason="needs the extra video")
    (tmp_path / "gate.mp4").mkdir()
    run = store / "gate-precision" / "sprl" / "seed-000"
    assert main(["watch", str(run), "--out", str(tmp_path / "gate.mp4")]) == 1
    assert capfd.readouterr().err == f"error: Is a directory ({tmp_path / 'gate.mp4'})\n"


def test_a_negative_seed_is_refused_by_name(store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = store / "gate-precision" / "sprl" / "seed-000"
    assert main(["watch", str(run), "--seed", "-1"]) == 2
    assert "seed must be a whole number of at least 0; got -1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0; got -1"):
        train("gate-precision", "sprl", seed=-1, iterations=1)


def test_export_to_tensorboard(store, tmp_path, capsys):
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert main(["export", str(store), "--tensorboard", str(tmp_path)]) == 0
    assert "4 runs" in capsys.readouterr().out
    events = EventAccumulator(str(tmp_path / "gate-precision" / "sprl" / "seed-001"))
    events.Reload()
    assert [e.step for e in events.Scalars("target_reward")] == [7, 14]
    assert len(events.Scalars("entropy")) == 14


def test_export_to_mlflow(store, tmp_path, capsys, monkeypatch):
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    from mlflow.tracking import MlflowClient

    for _ in range(2):  # what is there already is replaced
        assert main(["export", str(store), "--mlflow", str(tmp_path)]) == 0
    assert "4 runs" in capsys.readouterr().out
    assert "MLFLOW_ALLOW_FILE_STORE" not in os.environ
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient(tracking_uri=tmp_path.as_uri())
    place = client.get_experiment_by_name("gate-precision").experiment_id
    found = {r.info.run_name: r for r in client.search_runs([place])}
    assert sorted(found) == [f"{name} seed {seed}" for name in ("creps", "sprl") for seed in (0, 1)]
    one = found["sprl seed 1"]
    assert one.data.params["epsilon"] == "0.4"
    reward = client.get_metric_history(one.info.run_id, "target_reward")
    assert [metric.step for metric in reward] == [7, 14]


def test_status_shows_failures_with_their_error(tmp_path, capsys):
    words = ["run", "small_experiments:RAISES", "--algorithms", "sprl", "--seeds", "2"]
    assert main([*words, "--out", str(tmp_path)]) == 1
    cause = "ArithmeticError: <script>alert(1)</script>"
    failed = capsys.readouterr().out
    assert f"raises sprl seed 0 failed: {cause}" in failed
    assert "2 of 2 runs failed" in failed
    assert main(["status", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"raises +sprl +0 +0 +0 +2", shown)
    for seed in (0, 1):
        assert f"failed: raises sprl seed {seed}: {cause}" in shown
    assert shown.count("Traceback") == 1
    assert "raised by the reward function on a batch" in shown  # the note stays below


def test_runs_that_are_judged_by_rewards_alone_are_pointed_out(tmp_path, capsys):
    words = ["run", "small_experiments:BLIND", "--seeds", "1", "--iterations", "3"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert "1 of 1 runs were judged by rewards alone" in capsys.readouterr().out
    assert main(["status", str(tmp_path)]) == 0
    assert "by rewards: blind sprl, seed 0: the task reports no" in capsys.readouterr().out


def test_overrides_reach_the_spec(tmp_path, capsys):
    words = ["run", "gate-precision", "--algorithms", "sprl", "--seeds", "1", "--iterations", "1"]
    words += ["--out", str(tmp_path)]
    assert main([*words, "--sprl.pacing.schedule.zeta", "0.5"]) == 0
    (path,) = tmp_path.rglob("spec.json")
    assert json.loads(path.read_text())["config"]["pacing"]["schedule"]["zeta"] == 0.5
    assert main([*words, "--sprl.pacing.schedule.zeta=0.6"]) == 2
    assert "config.pacing.schedule.zeta is 0.5 there and 0.6 here" in capsys.readouterr().err


def test_overrides_are_told_from_options():
    words = ["run", "x", "--sprl.epsilon", "0.3", "--out", "a.b", "--creps.ridge=1e-3"]
    rest, overrides = split_overrides(words)
    assert rest == ["run", "x", "--out", "a.b"]
    assert overrides == {"sprl.epsilon": "0.3", "creps.ridge": "1e-3"}
    _, dashed = split_overrides(["run", "x", "--sprl-mastery.pacing.temperature-floor", "0.1"])
    assert dashed == {"sprl-mastery.pacing.temperature_floor": "0.1"}


@pytest.mark.parametrize(
    ("text", "value"), [("64", (64,)), ("64,32", (64, 32)), ("64,32,16", (64, 32, 16))]
)
def test_several_numbers_are_written_with_commas(text, value):
    config = experiment("reacher").algorithm("ppo")
    assert override(config, "hidden", text).hidden == value


@pytest.mark.parametrize("text", ["", "64,", "64, x", "(64)", "1.5"])
def test_what_is_no_list_of_numbers_is_told_how_to_write_it(text):
    words = "hidden must be whole numbers, with commas and without spaces between them; got "
    with pytest.raises(ValueError, match=re.escape(words + repr(text))):
        override(experiment("reacher").algorithm("ppo"), "hidden", text)
    with pytest.raises(ValueError, match="components must be 2 whole numbers"):
        override(ALPGMM(), "components", "3")
    assert override(ALPGMM(), "components", "3,4").components == (3, 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "experiments and seeds must name at least one each"),
        (["run", "gate-precison"], "did you mean 'gate-precision'"),
        (["run", "gate-precision", "--algorithms", "spl"], "did you mean 'sprl'"),
        (["run", "gate-precision", "--sprl.epsilo", "1"], "did you mean 'epsilon'"),
        (["run", "gate-precision", "--seeds", "x"], "seeds must be a count"),
        (["run", "gate-precision", "--seeds", "-1"], "10-19 or 0-4,7); got '-1'"),
        (["run", "gate-precision", "--seeds=-3--1"], "10-19 or 0-4,7); got '-3--1'"),
        (["run", "gate-precision", "--iterations", "0"], "iterations must be a whole number"),
        (["run", "gate-precision", "--workers", "0"], "workers must be a whole number"),
        (["run", "gate[/x]"], "unknown experiment 'gate[/x]'"),
        (["table", "[/a][bold]"], "no such folder or packed file: [/a][bold]"),
        (["run", "gate-precision", "--address", "auto"], "address is for the ray engine only"),
        (["table", "nowhere"], "no such folder or packed file: nowhere"),
        (["status", "nowhere"], "nowhere does not exist"),
        (["pack", "nowhere", "x"], "no such folder"),
        (["unpack"], "files must name at least one packed file; got none"),
        (["scene"], "experiments must name at least one experiment; got none"),
        (
            ["run", "gate-precision", "--sprl.pacing", "0.05"],
            "pacing cannot be set as a whole; set one of its fields, such as pacing.schedule.zeta",
        ),
        (["export", "."], "export needs a format: --tensorboard FOLDER, --mlflow FOLDER or"),
        (["watch", "nowhere"], "run must be the folder of a finished run; nowhere is not"),
        (["watch", ".", "--out", "film.gif"], "out must end in .mp4; got film.gif"),
        (
            ["table", "--sprl.epsilon", "1"],
            "only `run` takes fields of an algorithm's",
        ),
    ],
)
def test_wrong_words_get_one_clear_line_and_run_nothing(
    tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert not list(tmp_path.iterdir())


def test_the_last_percentage_is_the_one_in_the_table(tmp_path):
    """As it was the last measurement on the way, of fewer rollouts."""
    from types import SimpleNamespace

    from rich.console import Console

    from selfpaced.cli.progress_bars import Bars

    shown = io.StringIO()
    bars = Bars(Console(file=shown))
    job = SimpleNamespace(name="mine sprl seed 0", folder=tmp_path, iterations=5)
    (tmp_path / "result.json").write_text(json.dumps({"target_success": 0.96}))
    bars.planned(1, 0)
    bars.progressed(job, 5, 0.89)
    bars.finished(job, [])
    assert "96% on the target" in shown.getvalue()
