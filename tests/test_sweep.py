"""Many runs: planning, workers, crashes, kills, two launchers."""

import cProfile
import dataclasses
import multiprocessing.context
import multiprocessing.forkserver
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_experiments import BOWL, LOST, RAISES, leaving, mortal

from selfpaced import SPRL, Alpha, FractionOfGain, load, run, train
from selfpaced.engines.job import Stopped, execute
from selfpaced.engines.local import LocalEngine
from selfpaced.experiments import find_experiment
from selfpaced.experiments.override import override
from selfpaced.store.reading import read_error
from selfpaced.store.status import status
from selfpaced.store.writing import RunWriter
from selfpaced.sweep import (
    Collector,
    SweepFailed,
    plan,
    run_jobs,
    seeds_from,
    shard_from,
)

TESTS = Path(__file__).parent


def results(out):
    """The bytes of every file that must not depend on how a sweep was executed."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for name in ("result.json", "metrics.jsonl", "policy.npz", "final.npz")
        for path in sorted(Path(out).rglob(name))
    }


def command(*words):
    return [sys.executable, "-m", "selfpaced", "run", *map(str, words)]


def test_seeds_are_counts_or_ranges():
    assert seeds_from("4") == seeds_from(4) == [0, 1, 2, 3]
    assert seeds_from("10-12") == [10, 11, 12]
    assert seeds_from("0-1,7, 5") == [0, 1, 5, 7]
    for wrong in ("", "a", "5-", "5-2", "-3", "1.5"):
        with pytest.raises(ValueError, match="seeds must be a count"):
            seeds_from(wrong)
    with pytest.raises(ValueError, match="seeds must be a whole number of at least 1; got 0"):
        seeds_from("0")


def test_shards_share_the_runs_out(tmp_path):
    jobs = plan([BOWL], None, range(5), tmp_path)
    parts = [plan([BOWL], None, range(5), tmp_path, shard=(i, 3)) for i in (1, 2, 3)]
    assert sorted(job.name for part in parts for job in part) == sorted(job.name for job in jobs)
    assert shard_from("2/8") == (2, 8)
    for wrong in ("0/3", "4/3", "2", "a/b"):
        with pytest.raises(ValueError, match="shard must be i/n"):
            shard_from(wrong)


def test_overrides_change_fields_by_name():
    assert override(SPRL(), "epsilon", 0.25).epsilon == 0.25  # a number from Python is as good
    assert override(SPRL(), "pacing.rule.step", "0.05").pacing.rule.step == 0.05
    config = override(SPRL(pacing=Alpha(schedule=FractionOfGain())), "epsilon", "0.3")
    assert config.epsilon == 0.3
    assert override(config, "pacing.schedule.zeta", "0.5").pacing.schedule.zeta == 0.5
    assert override(config, "n_samples", "7").n_samples == 7
    assert override(config, "pacing.policy_weights", "derived").pacing.policy_weights == "derived"
    assert override(config, "min_entropy", "-3").min_entropy == -3.0
    assert override(config, "min_entropy", "none").min_entropy is None


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("epsilom", "1", "unknown field of SPRL 'epsilom'; did you mean 'epsilon'"),
        ("pacing.schedule.zetta", "1", "did you mean 'zeta'"),
        ("epsilon", "much", "epsilon must be a number; got 'much'"),
        ("n_samples", "1.5", "n_samples must be a whole number; got '1.5'"),
        ("pacing.policy_weights", "x", "policy_weights must be 'creps' or 'derived'; got 'x'"),
        ("epsilon", "-1", "epsilon must be above 0"),
        ("pacing.variance_floor.variance", "1", "variance_floor has no fields of its own"),
    ],
)
def test_wrong_overrides_are_explained(path, text, message):
    with pytest.raises(ValueError, match=message):
        override(SPRL(pacing=Alpha(schedule=FractionOfGain())), path, text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["gate-precison"], None), "unknown experiment 'gate-precison'; did you mean"),
        ((["gate-precision"], ["sprl", "crep"]), "unknown algorithm 'crep'; did you mean 'creps'"),
        ((["no.such.module:X"], None), "must name an Experiment; No module named"),
        ((["small_experiments:NOTHING"], None), "must name an Experiment"),
        ((["small_experiments:BOXES"], None), "must name an Experiment; got"),
    ],
)
def test_unknown_names_run_nothing(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        plan(*arguments, [0], tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_override_of_an_algorithm_that_does_not_run_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"did you mean 'sprl'"):
        plan([BOWL], ["sprl"], [0], tmp_path, overrides={"sprll.epsilon": "1"})


def test_own_experiments_are_found_by_module_and_name():
    assert find_experiment("small_experiments:BOWL") is BOWL


def test_other_values_in_the_same_folder_are_refused_before_anything_runs(tmp_path):
    run(BOWL, ["sprl"], seeds=1, iterations=2, out=tmp_path, workers=1)
    with pytest.raises(ValueError, match=r"config.epsilon is 0.4 there and 0.3 here"):
        run(BOWL, ["sprl"], seeds="5-6", out=tmp_path, overrides={"sprl.epsilon": "0.3"})
    assert len(list(tmp_path.rglob("spec.json"))) == 1


def test_results_do_not_depend_on_the_worker_count(tmp_path):
    for workers in (1, 2, 4):
        run(BOWL, seeds=3, iterations=8, out=tmp_path / str(workers), workers=workers)
    assert len(results(tmp_path / "1")) == 6 * 4
    assert results(tmp_path / "1") == results(tmp_path / "2") == results(tmp_path / "4")


EVERYTHING = {
    "iterations": 6,
    "overrides": {"goalgan.teacher.steps": "5", "goalgan.teacher.first_steps": "10"},
}


def test_all_algorithms_are_resumed_and_shared_out_to_the_same_bytes(tmp_path):
    pytest.importorskip("torch", reason="needs the extra torch")
    pytest.importorskip("cma", reason="needs the extra cma")
    for workers in (1, 2):
        run("gate-precision", seeds=2, out=tmp_path / str(workers), workers=workers, **EVERYTHING)
    assert len(results(tmp_path / "1")) == 6 * 2 * 4
    for job in plan(["gate-precision"], None, range(2), tmp_path / "cut", **EVERYTHING):
        stops = iter([False, False, True])
        with pytest.raises(Stopped):
            execute(job, stopping=lambda stops=stops: next(stops))
        execute(job)
    assert results(tmp_path / "1") == results(tmp_path / "2") == results(tmp_path / "cut")


def test_a_missing_package_is_named_with_its_extra_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"GoalGAN: this needs .* pip install 'selfpaced\[torch\]'"
    ):
        plan(["gate-precision"], ["sprl", "goalgan"], [0], tmp_path)
    with pytest.raises(ValueError, match=r"CMAES: this needs the package cma"):
        train("gate-precision", "cmaes")


def test_a_task_without_its_simulator_says_which_extra_brings_it(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"Reacher: .* mujoco: pip install 'selfpaced\[mujoco\]'$"):
        plan(["reacher"], ["sprl"], [0], tmp_path)
    assert plan(["reacher-kinematic"], ["sprl"], [0], tmp_path)


def test_load_gives_arrays_by_experiment_and_algorithm(tmp_path):
    given = run(BOWL, seeds=3, iterations=8, out=tmp_path)
    group = load(tmp_path)["bowl"]["sprl"]
    assert group.success.shape == (3,)
    iterations, values = group.curve("kl_to_target")
    assert iterations.tolist() == list(range(1, 9))
    assert values.shape == (3, 8)
    assert set(given["bowl"]) == {"sprl", "creps"}


def test_a_run_whose_process_dies_is_retried_twice(tmp_path):
    counter = tmp_path / "deaths"
    counter.write_text("2")
    found = run(mortal(counter), ["sprl"], seeds=1, iterations=4, out=tmp_path / "a", workers=1)
    assert len(found["dies"]["sprl"].runs) == 1
    counter.write_text("3")
    with pytest.raises(SweepFailed, match="died 3 times, at last by signal SIGKILL"):
        run(mortal(counter), ["sprl"], seeds=1, iterations=4, out=tmp_path / "b", workers=1)
    (failed,) = status(tmp_path / "b")
    assert failed.state == "failed"
    assert "SIGKILL" in failed.error


def test_a_run_that_raises_is_reported_with_its_traceback_and_stops_no_other(tmp_path):
    jobs = plan([RAISES, BOWL], ["sprl"], [0], tmp_path, iterations=3)
    watcher = Collector()
    run_jobs(jobs, LocalEngine(1), watcher)
    ((job, error),) = watcher.failures
    assert job.experiment.name == "raises"
    assert "ArithmeticError: <script>" in error
    assert "in raises" in read_error(job.folder)
    states = {str(s.spec["experiment"]): s.state for s in status(tmp_path)}
    assert states == {"raises": "failed", "bowl": "done"}


def test_status_tells_what_is_missing_and_what_runs(tmp_path):
    run(BOWL, ["sprl"], seeds=1, iterations=3, out=tmp_path)
    (waiting,) = plan([BOWL], ["sprl"], [7], tmp_path, iterations=3)
    files = RunWriter(waiting.folder, waiting.spec)
    assert [s.state for s in status(tmp_path)] == ["done", "running"]
    files.close()
    assert [s.state for s in status(tmp_path)] == ["done", "missing"]


def test_what_another_launcher_works_on_is_waited_for_and_taken_over_if_left(tmp_path):
    jobs = plan([BOWL], ["sprl"], range(2), tmp_path, iterations=3)
    files = RunWriter(jobs[0].folder, jobs[0].spec)
    threading.Timer(3.0, files.close).start()  # the other launcher dies
    watcher = Collector()
    began = time.monotonic()
    run_jobs(jobs, LocalEngine(1), watcher)
    assert time.monotonic() - began > 2.5
    assert [job.seed for job in watcher.others] == [0]
    assert [s.state for s in status(tmp_path)] == ["done", "done"]


def test_an_oserror_of_the_users_task_is_the_runs_own_failure(tmp_path):
    """It is not the disk's: other runs go on, and the traceback is kept."""
    jobs = plan([LOST, BOWL], ["sprl"], [0], tmp_path, iterations=3)
    watcher = Collector()
    run_jobs(jobs, LocalEngine(1), watcher)
    ((job, error),) = watcher.failures
    assert job.experiment.name == "lost"
    assert "BrokenPipeError: simulator lost" in error
    assert jobs[1].is_done()


def test_a_worker_that_is_asked_to_stop_by_somebody_else_is_started_again(tmp_path):
    counter = tmp_path / "stops"
    counter.write_text("1")
    found = run(mortal(counter, "SIGTERM"), ["sprl"], seeds=1, iterations=4, out=tmp_path / "a")
    assert len(found["dies"]["sprl"].runs) == 1
    assert counter.read_text() == "0"


def test_an_algorithm_may_have_a_number_of_iterations_of_its_own(tmp_path):
    longer = dataclasses.replace(BOWL, own_iterations={"sprl": 7, "elsewhere": 3})
    lengths = {job.algorithm: job.iterations for job in plan([longer], [], [0], tmp_path)}
    assert lengths == {name: 7 if name == "sprl" else BOWL.iterations for name in BOWL.algorithms}
    asked = plan([longer], ["sprl"], [0], tmp_path, iterations=3)
    assert asked[0].iterations == 3
    assert len(train(longer, "sprl").records) == 7
    assert train(longer, "sprl").records == train(BOWL, "sprl", iterations=7).records


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"own_iterations": {"sprl": 0}}, r"own_iterations\['sprl'\] must be a whole number"),
        ({"own_iterations": [7]}, "own_iterations must be a Mapping"),
        ({"name": "a/b"}, "name must be letters, digits"),
        ({"algorithms": {"..": SPRL()}}, "name must be letters, digits"),
        ({"iterations": 0}, "iterations must be a whole number"),
        ({"problem": BOWL.problem()}, "problem must be a function that makes the problem"),
        ({"algorithms": [SPRL()]}, "algorithms must be a Mapping"),
        ({"algorithms": {}}, "algorithms must have at least one entry"),
        (
            {"algorithms": {"sprl": SPRL}},
            r"algorithms\['sprl'\] must be a configuration such as SPRL",
        ),
    ],
)
def test_experiments_with_impossible_names_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(BOWL, **change)


@pytest.mark.parametrize("made", [None, BOWL.problem])
def test_a_function_that_makes_no_problem_is_named_with_its_experiment(made):
    broken = dataclasses.replace(BOWL, name="mine", problem=lambda: made)
    words = "problem of experiment 'mine' must return a Problem; got "
    with pytest.raises(ValueError, match=words):
        broken.built_problem()
    with pytest.raises(ValueError, match=words):
        train(broken, "sprl", iterations=1)


def test_what_other_processes_cannot_import_is_refused_before_anything_runs(tmp_path):
    local = dataclasses.replace(BOWL, problem=lambda: BOWL.problem())
    with pytest.raises(ValueError, match="'bowl' must be made of things that other processes can"):
        plan([local], ["sprl"], [0], tmp_path)
    assert not list(tmp_path.iterdir())


def test_two_launchers_on_one_folder_execute_every_run_once(tmp_path):
    words = command("gate-precision", "--algorithms", "creps", "--seeds", 4, "--iterations", 60)
    pair = [subprocess.Popen([*words, "--out", tmp_path], stdout=-1, text=True) for _ in "ab"]
    printed = [process.communicate(timeout=120)[0] for process in pair]
    assert [process.returncode for process in pair] == [0, 0]
    finished = [line for text in printed for line in text.splitlines() if "on the target" in line]
    names = [line.split(" ", 1)[1] for line in finished if "/4 gate" in line]
    assert sorted(names) == sorted(set(names))
    assert len(load(tmp_path)["gate-precision"]["creps"].runs) == 4


def test_ctrl_c_stops_cleanly_and_says_how_to_continue(tmp_path):
    words = command("gate-precision", "--algorithms", "sprl", "--seeds", 2, "--out", tmp_path)
    # Whoever started the tests in the background lets them ignore Ctrl-C, and so their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(words, stderr=-1, stdout=-1, text=True, start_new_session=True)
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("metrics.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to everybody
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "To continue:" in errors
    assert "selfpaced run gate-precision --algorithms sprl" in errors
    assert len(list(tmp_path.rglob("checkpoint.npz"))) >= 1
    assert not any(s.state == "running" for s in status(tmp_path))


def _kill(process, how):
    """Kill launcher and workers, the launcher alone, or one worker, without warning."""
    if how == "all":
        os.killpg(process.pid, signal.SIGKILL)
    elif how == "launcher":
        process.kill()
    else:
        listing = subprocess.run(
            ["ps", "-o", "pid=,args=", "-g", str(process.pid)], capture_output=True, text=True
        )
        pids = [int(line.split()[0]) for line in listing.stdout.splitlines()]
        workers = [pid for pid in pids if pid != process.pid]
        if workers:
            os.kill(max(workers), signal.SIGKILL)
        process.kill()
    process.wait()


def test_a_killed_fork_server_is_replaced(tmp_path, monkeypatch):
    launch, start = multiprocessing.context.ForkServerProcess._Popen, []

    def killed_once(process):
        if not start:
            start.append(1)
            server = multiprocessing.forkserver._forkserver
            server.ensure_running()
            os.kill(server._forkserver_pid, signal.SIGSTOP)  # takes the request, never answers
            killer = threading.Timer(0.3, os.kill, (server._forkserver_pid, signal.SIGKILL))
            killer.start()
        return launch(process)

    monkeypatch.setattr(
        multiprocessing.context.ForkServerProcess, "_Popen", staticmethod(killed_once)
    )
    run(BOWL, "creps", seeds=1, iterations=2, out=tmp_path, workers=1)
    assert start
    assert len(list(tmp_path.rglob("result.json"))) == 1


def test_kills_at_random_moments_leave_the_same_bytes(
    tmp_path,
):  # benchmarks/kills.py: more
    common = ["gate-precision", "--algorithms", "sprl", "creps", "--seeds", 2, "--iterations", 120]
    started = time.monotonic()
    calm = subprocess.run(command(*common, "--out", tmp_path / "calm"), stdout=-1, check=True)
    assert b"gate-precision" in calm.stdout
    calm_seconds = time.monotonic() - started  # on a busy machine, moments come later
    words = command(*common, "--out", tmp_path / "killed", "--checkpoint-seconds", 0.05)
    chance = random.Random(0)
    kills = interrupted = 0
    while kills < 6:
        process = subprocess.Popen(words, stdout=-3, stderr=-3, start_new_session=True)
        try:
            process.wait(timeout=chance.uniform(0.05, 0.5) * calm_seconds)
            # The sweep outran us: take a run away, so that there is something to kill.
            for path in sorted((tmp_path / "killed").rglob("result.json"))[:2]:
                for file in path.parent.iterdir():
                    file.unlink()
            continue
        except subprocess.TimeoutExpired:
            _kill(process, chance.choice(["all", "all", "launcher", "worker"]))
            kills += 1
        interrupted += any(
            s.state == "missing" and s.iteration for s in status(tmp_path / "killed")
        )
    assert interrupted > 0  # most kills hit runs in the middle
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "killed").rglob("result.json"))) < 4:
        subprocess.run(words, stdout=-3, check=True)
        assert time.monotonic() < deadline
    assert results(tmp_path / "killed") == results(tmp_path / "calm")


def test_a_worker_stays_small_and_does_not_grow(tmp_path):
    code = (
        "import sys; from pathlib import Path; import selfpaced.sweep as s;"
        "from selfpaced.engines.job import execute;"
        "jobs = s.plan(['gate-precision'], ['sprl'], [0], Path(sys.argv[1]), iterations=150);"
        "status = Path('/proc/self/status');"
        "peak = lambda: int(status.read_text().split('VmHWM:')[1].split()[0]) / 1e3;"
        "seen = {};"
        "execute(jobs[0], lambda r: seen.__setitem__(r['iteration'], peak()));"
        "print(seen[50], seen[150])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    early, late = map(float, printed.stdout.split())
    assert late < 400
    assert late - early < 20


@pytest.mark.parametrize("seconds", [0.5, 1000])  # fails at a checkpoint, or at a record
def test_a_full_disk_is_one_clear_error_and_the_store_stays_readable(tmp_path, seconds):
    """A limit on the size of files stands for the disk: writing fails in the middle of a run."""
    run("gate-precision", ["creps"], seeds=1, iterations=20, out=tmp_path, workers=1)
    words = command("gate-precision", "--algorithms", "creps", "--seeds", 3, "--out", tmp_path)
    words += ["--iterations", "350", "--checkpoint-seconds", str(seconds)]
    full = subprocess.run(
        ["bash", "-c", 'ulimit -f 120; exec "$@"', "bash", *words],
        capture_output=True,
        text=True,
    )
    assert full.returncode == 1
    assert full.stderr.count("error:") == 1
    assert "File too large" in full.stderr
    assert "Traceback" not in full.stderr
    assert len(load(tmp_path)["gate-precision"]["creps"].runs) == 1
    assert all(s.state != "running" for s in status(tmp_path))


def test_a_place_that_cannot_be_written_is_one_clear_error():
    words = command("gate-precision", "--seeds", 1, "--iterations", 2, "--out", "/proc/selfpaced")
    refused = subprocess.run(words, capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr.startswith("error:")
    assert "Traceback" not in refused.stderr
    assert "/proc/selfpaced" in refused.stderr


def test_shards_of_a_job_array_fill_one_folder(tmp_path):
    for part in ("1/2", "2/2"):
        words = command("gate-precision", "--algorithms", "sprl", "creps", "--seeds", 2)
        rest = ["--iterations", "3", "--out", str(tmp_path), "--shard", part]
        subprocess.run([*words, *rest], check=True, stdout=-3)
    assert {name: len(g.runs) for name, g in load(tmp_path)["gate-precision"].items()} == {
        "sprl": 2,
        "creps": 2,
    }


def test_a_child_that_outlives_its_worker_keeps_neither_the_lock_nor_the_launcher(tmp_path):
    marker = tmp_path / "child"
    try:
        found = run(leaving(marker), ["sprl"], seeds=1, out=tmp_path / "runs", workers=1)
        os.kill(int(marker.read_text()), 0)  # the child is still alive
    finally:
        if marker.exists():
            os.kill(int(marker.read_text()), signal.SIGKILL)
    assert len(found["leaves"]["sprl"].runs) == 1


def test_planning_many_runs_costs_the_same_for_each(tmp_path):
    """Calls, not seconds: they do not depend on what else the machine does."""

    class Nothing:
        def run(self, jobs, watcher):
            pass

    def calls(count, out):
        profile = cProfile.Profile()
        profile.enable()
        run_jobs(plan([BOWL], ["sprl"], range(count), out), Nothing(), Collector())
        profile.disable()
        return sum(entry.callcount for entry in profile.getstats())

    calls(1, tmp_path / "warm")
    for _ in ("new runs", "runs that were asked for before"):
        assert calls(200, tmp_path / "b") < 4.5 * calls(50, tmp_path / "a")
