"""Kills sweeps at random moments, and compares what they leave with a sweep that nobody killed.

    python benchmarks/kills.py --kills 1000 --seed 0

Three of five kills hit a worker or the server that starts them, one the launcher, and one all
processes at once, always with SIGKILL. A sweep that is done starts again in a new folder. At the
end of every sweep its files must be those of the undisturbed one, byte for byte, and no run may be
missing.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bowl import problem

from selfpaced import CREPS, SPRL, Experiment

FILES = ("metrics.jsonl", "result.json", "policy.npz", "final.npz", "spec.json")
SEEDS, LENGTH = 3, 40
WORKERS = 2


KILLED = Experiment(
    name="killed",
    problem=problem,
    algorithms={
        "sprl": SPRL(n_samples=10, buffer_size=2),
        "creps": CREPS(n_samples=10, buffer_size=2),
    },
    iterations=LENGTH,
    measure_rollouts=10,
    final_rollouts=20,
)
START = "from kills import sweep; import sys; sweep(sys.argv[1])"


def sweep(out):
    """The sweep that is killed, with a checkpoint every 50 ms."""
    from selfpaced.sweep import Collector, make_engine, plan, run_jobs

    jobs = plan(["kills:KILLED"], None, range(SEEDS), Path(out), checkpoint_seconds=0.05)
    done = run_jobs(jobs, make_engine("local", WORKERS, None), Collector())
    sys.exit(1 if done.failures or done.unfinished else 0)


def started(out):
    place = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": place}
    words = [sys.executable, "-W", "ignore", "-c", START, str(out)]
    return subprocess.Popen(words, env=environment, start_new_session=True)


def workers_of(launcher):
    """Processes of the launcher's session, without the launcher: server and workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has just ended
        if int(fields[3]) == launcher and int(path.parent.name) != launcher:
            found.append(int(path.parent.name))
    return sorted(found)


def content(out):
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.name in FILES
    }


def kill(process, rng):
    """Kill what the dice say: the launcher, a worker, or all."""
    kind = rng.integers(5)
    victims = workers_of(process.pid)
    if kind == 0:
        chosen = [process.pid]
    elif kind > 1 and victims:
        chosen = [victims[rng.integers(len(victims))]]
    else:
        chosen = [process.pid, *victims]
    for victim in chosen:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return process.pid in chosen


def end(process):
    """Wait for a sweep's processes, so that the next one finds no locks."""
    process.wait()
    deadline = time.monotonic() + 30.0
    while workers_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so long")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    kills = sweeps = differing = lost = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = started(folder / "whole")
        process.wait()
        seconds = time.monotonic() - began
        whole = content(folder / "whole")
        assert len(whole) == len(FILES) * SEEDS * 2, len(whole)
        while kills < arguments.kills and time.monotonic() - began < 60 * arguments.minutes:
            out = folder / f"sweep-{sweeps}"
            process = started(out)
            until = 20  # kills of one sweep, so that every sweep comes to its end
            while True:
                try:
                    process.wait(rng.uniform(0.02, 0.8) * seconds)
                    if process.returncode == 0:
                        break
                    process = started(out)  # a worker was killed too often
                except subprocess.TimeoutExpired:
                    if until and kills < arguments.kills:
                        until, kills = until - 1, kills + 1
                        if kill(process, rng):
                            end(process)
                            process = started(out)
            end(process)
            found = content(out)
            sweeps += 1
            differing += sum(found.get(path) != data for path, data in whole.items())
            lost += sum(path.endswith("result.json") and path not in found for path in whole)
    print(
        f"{kills} kills in {sweeps} sweeps of {SEEDS * 2} runs with seed {arguments.seed}: "
        f"{differing} differing files, {lost} lost runs, {time.monotonic() - began:.0f} s"
    )
    return 1 if differing or lost else 0


if __name__ == "__main__":
    sys.exit(main())
