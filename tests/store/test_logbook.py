"""A training of one's own in a store."""

import numpy as np
import pytest

from selfpaced import Box, Gaussian, Logbook, SelfPacedThreshold
from selfpaced.cli import main
from selfpaced.report.data import Group, stored_runs
from selfpaced.report.reproduce_commands import commands_of
from selfpaced.report.tables import HEADERS, text_row
from selfpaced.store.experiment_info import read_infos
from selfpaced.store.locking import Locked
from selfpaced.store.packed import read_packed
from selfpaced.store.status import status

SPACE, TARGET = Box([0.0, 0.0], [1.0, 2.0]), Gaussian([0.8, 1.5], 0.01 * np.eye(2))


def logbook(out, seed=0):
    return Logbook(
        *(out, "mine", "selfpaced", seed),
        context_space=SPACE,
        target=TARGET,
        teacher=SelfPacedThreshold(),
        context_names=("slope", "weight"),
    )


def record(i):
    mean = [0.02 * i, 0.04 * i]
    covariance = [[0.01, 0.0], [0.0, 0.01]]
    known = {"reward": 0.1 * i, "success": 0.5, "context_mean": mean}
    return {"iteration": i, "rollouts": 50 * i, **known, "context_covariance": covariance}


def test_it_is_seen_while_it_runs_and_on_the_page_when_it_is_finished(tmp_path, capsys):
    with logbook(tmp_path) as book:
        for i in range(1, 21):
            book(record(i))
        (found,) = status(tmp_path)
        assert (found.state, found.iteration) == ("running", 20)
        with pytest.raises(Locked):
            logbook(tmp_path)
        book.finish(success=0.9, reward=2.0)
    assert status(tmp_path)[0].state == "done"
    (run,) = stored_runs(tmp_path)
    assert run.policy is None
    contexts = Gaussian(record(20)["context_mean"], record(20)["context_covariance"])
    assert run.records[-1] == {**record(20), "kl_to_target": contexts.kl(TARGET)}
    assert main(["table", str(tmp_path)]) == 0
    assert "0.90" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "--out", str(page)]) == 0
    text = page.read_text()
    assert "slope" in text
    assert "contexts-selfpaced" in text
    assert main(["pack", str(tmp_path), str(tmp_path)]) == 0
    assert read_packed(tmp_path / "mine.packed")[0].policy is None
    assert main(["watch", str(tmp_path / "mine/selfpaced/seed-000")]) == 2
    assert "kept by its own script" in capsys.readouterr().err


def test_a_training_that_goes_on_goes_on_in_its_logbook(tmp_path):
    with logbook(tmp_path) as book:
        for i in range(1, 11):
            book(record(i))
    with logbook(tmp_path) as book:  # from a state saved after 6
        for i in range(7, 9):
            book(record(i))
        book.finish()
    (run,) = stored_runs(tmp_path)
    assert [r["iteration"] for r in run.records] == list(range(1, 9))


def test_an_empty_one_cannot_be_finished_and_another_target_is_another_run(tmp_path):
    with logbook(tmp_path) as book, pytest.raises(ValueError, match="at least one record"):
        book.finish()
    with pytest.raises(ValueError, match=r"problem.target.mean"):
        Logbook(
            *(tmp_path, "mine", "selfpaced"),
            context_space=SPACE,
            target=Gaussian([0.1, 1.5], 0.01 * np.eye(2)),
            teacher=SelfPacedThreshold(),
        )


def test_a_logbook_run_shows_no_nan_and_no_command_that_cannot_work(tmp_path, capsys):
    with logbook(tmp_path) as book:
        book(record(1))
        book.finish(success=0.9)
    assert main(["table", str(tmp_path)]) == 0
    assert "nan" not in capsys.readouterr().out
    (command,) = commands_of([], read_infos(tmp_path)["mine"], None)
    assert command.startswith("# These runs were made by a program of their own")


def test_contexts_that_stay_away_from_the_target_are_noticed_by_their_distance(tmp_path, capsys):
    with logbook(tmp_path) as book:
        for i in range(1, 31):
            book({**record(min(i, 10)), "iteration": i})
        book.finish(success=0.1)
    assert main(["status", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "stalled: mine selfpaced, seed 0: the KL to the target went from" in said
    assert "to try: a lower threshold" in said


@pytest.mark.parametrize(
    "change", [{"context_covariance": [[0.0, 0.0], [0.0, 0.0]]}, {"context_sample": []}]
)
def test_contexts_that_are_not_gaussian_have_no_distance(tmp_path, change):
    with logbook(tmp_path) as book:
        book({**record(1), **change})
        book.finish()
    assert stored_runs(tmp_path)[0].records == [{**record(1), **change}]


def test_when_success_came_is_unknown_if_it_was_measured_at_the_end_only(tmp_path):
    with logbook(tmp_path) as book:
        book(record(1))
        book.finish(success=0.95)
    with logbook(tmp_path, seed=1) as book:
        book({**record(1), "target_success": 0.6})
        book({**record(2), "target_success": 0.8})
        book.finish(success=0.95)
    once, often = stored_runs(tmp_path)
    group = Group("mine", "selfpaced", (often,))
    assert (group.iterations_to(0.5), group.iterations_to(0.9)) == (1.0, 2.0)
    alone = Group("mine", "selfpaced", (once,))
    assert np.isnan(alone.iterations_to(0.5)).all()
    assert text_row(alone)[HEADERS.index("50%")] == "-"
