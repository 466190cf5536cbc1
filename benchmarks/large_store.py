"""What commands cost on stores of many runs: planning, status, table, packing and unpacking.

    python benchmarks/large_store.py --sizes 500 1000 2000 --new 5000

Every size is a store of its own, made of copies of one short run. Wall-clock and CPU seconds are
printed for each command in a process of its own, so that imports count; on a busy machine compare
the CPU seconds. For new jobs it is the time until the first one starts.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


from bowl import problem

from selfpaced import SPRL, Experiment, Logbook, run
from selfpaced.store.packed import write_packed
from selfpaced.store.reading import finished_runs

LENGTH = 20  # iterations of a run


MANY = Experiment(
    name="many",
    problem=problem,
    algorithms={"sprl": SPRL(n_samples=10, buffer_size=2)},
    iterations=LENGTH,
    measure_rollouts=10,
    final_rollouts=20,
)

FIRST = """
import sys, time
from pathlib import Path
from large_store import MANY
from selfpaced.sweep import Collector, plan, run_jobs

class First(Exception):
    pass

class Engine:
    def run(self, jobs, watcher):
        raise First

began = time.perf_counter(), time.process_time()
try:
    run_jobs(plan([MANY], None, range(int(sys.argv[1])), Path(sys.argv[2])), Engine(), Collector())
except First:
    print(time.perf_counter() - began[0], time.process_time() - began[1])
"""


def timed(*words):
    """Wall-clock and CPU seconds of a command in a process of its own."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    place = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    said = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": place},
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode:
        raise SystemExit(f"{words} failed: {said.stdout}{said.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu, said.stdout


def measure(size, original, folder):
    """Print what commands cost on a store of `size` runs."""
    packed, out = folder / f"{size}.packed", folder / f"runs-{size}"
    copies = [replace(original, spec={**original.spec, "seed": seed}) for seed in range(size)]
    began = time.perf_counter(), time.process_time()
    write_packed(copies, packed)
    show(size, "pack, without reading", *since(began))
    show(size, "unpack", *timed("-m", "selfpaced", "unpack", str(packed), "--out", str(out))[:2])
    again = ["run", "large_store:MANY", "--seeds", str(size), "--out", str(out), "--workers", "1"]
    commands = {"run again": again, "status": ["status", str(out)], "table": ["table", str(out)]}
    for name, words in commands.items():
        show(size, name, *timed("-m", "selfpaced", *words)[:2])


def since(began):
    return time.perf_counter() - began[0], time.process_time() - began[1]


def show(size, name, wall, cpu):
    print(f"{size:6} {name:24} {wall:7.2f} s {cpu:7.2f} CPU s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 1000, 2000])
    parser.add_argument("--new", type=int, nargs="*", default=[1250, 2500, 5000])
    parser.add_argument("--records", type=int, nargs="*", default=[1000, 10000])
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("large_store:MANY", seeds=1, out=folder / "one", workers=1)
        (original,) = finished_runs(folder / "one")
        for size in arguments.sizes:
            measure(size, original, folder)
        for count in arguments.new:
            said = timed("-c", FIRST, str(count), str(folder / f"new-{count}"))[2]
            show(count, "new jobs, to the first", *map(float, said.split()))
        for count in arguments.records:
            began = time.perf_counter(), time.process_time()
            built = problem()
            space = built.task.context_space
            places = {"context_space": space, "target": built.target}
            with Logbook(folder / f"book-{count}", "mine", "own", **places) as book:
                for i in range(1, count + 1):
                    book({"iteration": i, "success": 0.5, "context_mean": [0.1, 0.2]})
            show(count, "records of a logbook", *since(began))


if __name__ == "__main__":
    main()
