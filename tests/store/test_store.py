"""A run on disk: killed, damaged, locked, continued."""

import dataclasses
import json

import numpy as np
import pytest
from small_experiments import ALGORITHMS, BOWL

from selfpaced import SPRL, Alpha, Gaussian, Problem, StepwisePPO
from selfpaced.engines.job import Job, Stopped, describe, execute
from selfpaced.maths.randomness import streams_of
from selfpaced.store.files import plain
from selfpaced.store.locking import Locked, is_locked
from selfpaced.store.packed import read_packed, write_packed
from selfpaced.store.reading import (
    finished_iterations,
    finished_runs,
    last_record,
    read_run,
    read_timing,
    recorded_iterations,
)
from selfpaced.store.spec import ask_for, asked_iterations
from selfpaced.store.writing import RunWriter, StoreError
from selfpaced.sweep import run
from selfpaced.tasks.contextual_pointmass import ContextualPointMass

FILES = ("metrics.jsonl", "result.json", "policy.npz", "final.npz")


PROBLEM = describe(BOWL, BOWL.problem())


def job(out, iterations=20, config=ALGORITHMS["sprl"], problem=PROBLEM):
    return Job(
        experiment=BOWL,
        algorithm="sprl",
        config=config,
        seed=0,
        iterations=iterations,
        out=out,
        problem=problem,
        code=None,
    )


def content(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def stop_after(n):
    calls = iter(range(n + 1))
    return lambda: next(calls) >= n - 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of an uninterrupted run."""
    done = job(tmp_path_factory.mktemp("whole"))
    execute(done)
    return content(done.folder)


def test_a_stopped_run_continues_to_the_same_bytes(tmp_path, whole):
    cut = job(tmp_path)
    for iterations in (3, 1, 7):
        with pytest.raises(Stopped):
            execute(cut, stopping=stop_after(iterations))
    assert recorded_iterations(cut.folder) == 11
    execute(cut)
    assert content(cut.folder) == whole


def test_lines_after_the_checkpoint_and_torn_lines_are_dropped(tmp_path, whole):
    cut = job(tmp_path)
    with pytest.raises(Stopped):
        execute(cut, stopping=stop_after(5))
    with (cut.folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"iteration": 6, "rollouts": 70}\n{"iteration": 7, "ro')
    execute(cut)
    assert content(cut.folder) == whole


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "metrics"])
def test_damage_is_noticed_reported_and_survived(tmp_path, whole, damage):
    cut = job(tmp_path)
    with pytest.raises(Stopped):
        execute(cut, stopping=stop_after(5))
    checkpoint, metrics = cut.folder / "checkpoint.npz", cut.folder / "metrics.jsonl"
    sound = bytearray(checkpoint.read_bytes())
    if damage == "truncated":
        checkpoint.write_bytes(sound[:-200])
    elif damage == "flipped":
        sound[len(sound) // 2] ^= 0xFF
        checkpoint.write_bytes(sound)
    elif damage == "empty":
        checkpoint.write_bytes(b"")
    else:
        metrics.write_bytes(metrics.read_bytes()[:100])
    (problem,) = execute(cut)
    assert "damaged" in problem
    assert "starts again" in problem
    assert content(cut.folder) == whole


@pytest.mark.parametrize("name", ["metrics.jsonl", "policy.npz", "final.npz"])
def test_a_damaged_result_is_refused_by_name(tmp_path, name):
    done = job(tmp_path, iterations=2)
    execute(done)
    path = done.folder / name
    flipped = bytearray(path.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(ValueError, match=f"{name} is damaged: its checksum"):
        read_run(done.folder)


def test_asking_for_more_iterations_continues_the_run(tmp_path, whole):
    first = job(tmp_path, iterations=8)
    execute(first)
    short = read_run(first.folder)
    with pytest.raises(Stopped):
        execute(job(tmp_path), stopping=stop_after(2))
    assert finished_iterations(first.folder) == 8  # the short run's result stays until then
    np.testing.assert_equal(read_run(first.folder).records, short.records)
    execute(job(tmp_path))
    assert content(first.folder) == whole


def test_a_shorter_request_after_a_stop_does_not_end_the_run_where_it_stopped(tmp_path, whole):
    asked = job(tmp_path)
    ask_for(asked.folder, asked.spec, 20)
    with pytest.raises(Stopped):
        execute(asked, stopping=stop_after(13))
    execute(job(tmp_path, iterations=5))
    assert content(asked.folder) == whole


def test_another_problem_under_the_same_name_is_refused(tmp_path):
    execute(job(tmp_path, iterations=2))
    other = {**PROBLEM, "reward_shift": 5.0}
    with pytest.raises(ValueError, match=r"problem.reward_shift is 0.0 there and 5.0 here"):
        execute(job(tmp_path, iterations=4, problem=other))


def test_a_damaged_finished_run_is_left_out_with_a_warning_and_repaired(tmp_path, whole):
    execute(job(tmp_path))
    (job(tmp_path).folder / "policy.npz").write_bytes(b"junk")
    assert not job(tmp_path).is_done()
    with pytest.warns(UserWarning, match=r"policy.npz is damaged.*run it again"):
        assert finished_runs(tmp_path) == []
    execute(job(tmp_path))
    assert content(job(tmp_path).folder) == whole


@pytest.mark.parametrize("junk", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"iterations": 3}'])
def test_a_damaged_result_counts_as_none(tmp_path, whole, junk):
    execute(job(tmp_path))
    (job(tmp_path).folder / "result.json").write_bytes(junk)
    (job(tmp_path).folder / "timing.json").write_bytes(junk)
    assert finished_iterations(job(tmp_path).folder) == 0
    execute(job(tmp_path))
    assert content(job(tmp_path).folder) == whole


def test_leftovers_of_a_crash_are_swept_up(tmp_path):
    folder = job(tmp_path).folder
    folder.mkdir(parents=True)
    (folder / "checkpoint.npz.host-1.tmp").write_bytes(b"half")
    execute(job(tmp_path, iterations=2))
    assert not list(folder.glob("*.tmp"))


def test_only_the_stores_own_trouble_is_a_store_error(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        execute(job(tmp_path))


def test_fewer_iterations_than_done_change_nothing(tmp_path, whole):
    execute(job(tmp_path))
    execute(job(tmp_path, iterations=5))
    assert content(job(tmp_path).folder) == whole


def test_another_spec_is_an_error_that_names_each_difference(tmp_path):
    execute(job(tmp_path, iterations=2))
    before = content(job(tmp_path).folder)
    other = job(tmp_path, 2, SPRL(n_samples=12, buffer_size=3))
    with pytest.raises(ValueError, match=r"config.n_samples is 10 there and 12 here"):
        execute(other)
    assert content(job(tmp_path).folder) == before


def test_a_run_is_held_by_one_process_at_a_time(tmp_path):
    asked = job(tmp_path)
    files = RunWriter(asked.folder, asked.spec)
    assert is_locked(asked.folder)
    with pytest.raises(Locked, match="another process works on"):
        execute(asked)
    files.close()
    assert not is_locked(asked.folder)
    execute(asked)


def test_the_store_holds_what_figures_need(tmp_path):
    execute(job(tmp_path))
    stored = read_run(job(tmp_path).folder)
    last = stored.records[-1]
    for name in ("alpha", "kl_to_target", "ess_policy", "entropy", "success", "context_mean"):
        assert name in last
    assert np.shape(last["context_covariance"]) == (2, 2)
    assert stored.policy.mean([0.7, 0.7]).shape == (2,)
    assert stored.contexts.shape == (10, 2)
    assert stored.result["rollouts"] == 220
    assert {"selfpaced", "numpy", "scipy"} <= set(stored.result["versions"])
    assert stored.cpu_seconds > 0
    assert np.isnan(stored.teacher_seconds)  # of a learner without a teacher


def test_the_time_of_a_teacher_is_stored_and_packed(tmp_path):
    problem = Problem(ContextualPointMass(), Gaussian([0.0, 7.0], 0.1 * np.eye(2)))
    config = StepwisePPO(environments=4, steps=50, minibatches=4, epochs=1)
    training = config.start(problem, streams_of(0))
    asked = job(tmp_path)
    files = RunWriter(asked.folder, asked.spec)
    files.begin(lambda: training)
    training.advance()
    files.checkpoint(training)
    files.close()
    timing = read_timing(asked.folder)
    assert 0.0 < training.teacher_seconds == timing.teacher_seconds < timing.cpu_seconds
    other = job(tmp_path / "other")
    execute(other)
    timed = dataclasses.replace(read_run(other.folder), teacher_seconds=0.125)
    write_packed([timed], tmp_path / "runs.packed")
    assert read_packed(tmp_path / "runs.packed")[0].teacher_seconds == 0.125


def test_a_gate_run_stays_under_a_megabyte(tmp_path):
    run("gate-precision", ["sprl"], seeds=1, out=tmp_path, workers=1)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size < 1e6


def test_plain_data_survives_json():
    value = {"a": np.array([1.5, np.nan]), "b": np.inf, "c": (1, None), "d": ALGORITHMS["sprl"]}
    back = json.loads(json.dumps(plain(value), allow_nan=False))
    assert back["a"] == [1.5, None]
    assert back["b"] == "inf"
    assert back["d"]["type"] == "SPRL"
    assert back["d"]["pacing"]["schedule"]["zeta"] == 1.0


def test_a_users_own_schedule_can_be_written_down():
    class Constant:
        def __init__(self):
            self.value = 0.25

        def alpha(self, progress):
            return self.value

    found = plain(SPRL(pacing=Alpha(schedule=Constant())))
    assert found["pacing"]["schedule"] == {"type": "Constant", "value": 0.25}


def test_the_last_record_is_the_last_whole_line(tmp_path):
    assert last_record(tmp_path) is None
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 1}\n{"iteration": 2}\n{"iterat')
    assert last_record(tmp_path) == {"iteration": 2}


def test_a_longer_budget_is_kept(tmp_path):
    asked = job(tmp_path)
    ask_for(asked.folder, asked.spec, 20)
    ask_for(asked.folder, asked.spec, 5)
    assert asked_iterations(asked.folder) == 20
