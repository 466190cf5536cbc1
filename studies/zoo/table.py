"""Run configurations on tasks of the zoo, and on experiments without physics: one row per task.

From the project's folder:

    python -m studies.zoo.table --tasks development --seeds 500 501 502
    python -m studies.zoo.table --tasks proof --seeds 100 101 --algorithm creps
    python -m studies.zoo.table --tasks gate-precision --seeds 500 --settings n_samples=25

A row shows, with the success flag and without it, how many seeds end at 0.9 or more on the target,
the final success of each seed, and the median of the rollouts to 90%.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from selfpaced import CMAES, CREPS, SPRL, Problem
from selfpaced.experiments import find_experiment
from selfpaced.maths.randomness import measuring, streams_of
from selfpaced.types import Algorithm, Task
from studies.mastery_before import sprl_before
from studies.zoo import ZOO
from studies.zoo.development import DEVELOPMENT
from studies.zoo.fresh import FRESH
from studies.zoo.proof import PROOF
from studies.zoo.unseen import UNSEEN

MEASURED = 100  # rollouts of a measurement on the way
LAST = 500  # rollouts of the last one
EVERY = 250  # rollouts of learning between two measurements, at least
SOLVED = 0.9
BUDGETS = {"gate-precision": 36_000, "gate-global": 60_900, "reacher-kinematic": 20_450}
ZOO_BUDGET = 20_000  # rollouts of a run on a task of the zoo
GROUPS = {
    "development": [task.name for task in DEVELOPMENT],
    "proof": [task.name for task in PROOF],
    "fresh": [task.name for task in FRESH],
    "unseen": [task.name for task in UNSEEN],
}
ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "sprl": SPRL,
    "before": sprl_before,  # the rule as it was
    "creps": CREPS,
    "cmaes": CMAES,
}


class Result(NamedTuple):
    """One run."""

    success: float
    """Success rate on the target at the end."""
    rollouts: float
    """Rollouts of learning until a measurement first showed 0.9; infinite if none did."""
    seconds: float
    """CPU time, everything included."""


def problem_of(name: str, flag: bool) -> tuple[Problem, Task]:
    """What is learned on, and the task with successes that it is measured in."""
    if name in ZOO:
        return ZOO[name].problem(flag), ZOO[name].task(True)
    problem = find_experiment(name).built_problem()
    return problem, problem.task


def run(name: str, flag: bool, config: Algorithm, seed: int, budget: int) -> Result:
    """Learn on a task until `budget` rollouts are spent, and measure on its target."""
    problem, judged_in = problem_of(name, flag)
    streams = streams_of(seed)
    started = time.process_time()
    training = config.start(problem, streams)
    first, measured_at, iteration = np.inf, 0, 0

    def success(n: int) -> float:
        rng = measuring(streams.measure, iteration)
        contexts = problem.target.sample(n, rng, problem.task.context_space)
        return float(np.nanmean(training.measure(contexts, rng, judged_in).successes))

    while training.spent.rollouts < budget:
        training.advance()
        iteration += 1
        if training.spent.rollouts >= measured_at + EVERY and np.isinf(first):
            measured_at = training.spent.rollouts
            first = measured_at if success(MEASURED) >= SOLVED else np.inf
    iteration = 0
    return Result(success(LAST), first, time.process_time() - started)


def rows(
    names: list[str], seeds: list[int], config: Algorithm, budget: int | None, flags: list[bool]
) -> Iterator[tuple[str, bool, list[Result]]]:
    """The results of every task, with and without flag; experiments have one only."""
    for name in names:
        for flag in flags if name in ZOO else [True]:
            spend = budget or BUDGETS.get(name, ZOO_BUDGET)
            yield name, flag, [run(name, flag, config, seed, spend) for seed in seeds]


def row_text(name: str, flag: bool, results: list[Result]) -> str:
    """One line of the table."""
    success = np.array([result.success for result in results])
    rollouts = np.array([result.rollouts for result in results])
    seconds = float(np.mean([result.seconds for result in results]))
    each = " ".join(f"{s:.2f}" for s in success)
    middle = np.sort(rollouts)[len(rollouts) // 2]
    return (
        f"| {name} | {'flag' if flag else 'rewards'} | {(success >= SOLVED).sum()} of "
        f"{len(success)} | {middle:.0f} | {each} | {seconds:.1f} s |"
    )


def main() -> None:
    """Parse the command line, run, and print one line per task."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", nargs="+", default=["development"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[500, 501, 502])
    parser.add_argument("--algorithm", choices=sorted(ALGORITHMS), default="sprl")
    parser.add_argument("--settings", nargs="*", default=[], help="fields, such as n_samples=25")
    parser.add_argument("--rollouts", type=int, default=None)
    parser.add_argument("--flags", choices=["both", "with", "without"], default="both")
    parser.add_argument("--out", type=Path, default=None, help="a JSON file for the results")
    asked = parser.parse_args()
    settings = {k: json.loads(v) for k, v in (pair.split("=") for pair in asked.settings)}
    config = ALGORITHMS[asked.algorithm](**settings)
    names = [name for group in asked.tasks for name in GROUPS.get(group, [group])]
    flags = {"both": [True, False], "with": [True], "without": [False]}[asked.flags]
    stored: list[dict[str, object]] = []
    solved, runs = 0, 0
    threadpool_limits(1, user_api="blas")  # on matrices this small a second thread only waits
    for name, flag, results in rows(names, asked.seeds, config, asked.rollouts, flags):
        print(row_text(name, flag, results), flush=True)
        solved += sum(result.success >= SOLVED for result in results)
        runs += len(results)
        for seed, result in zip(asked.seeds, results, strict=True):
            stored.append({"task": name, "flag": flag, "seed": seed, **result._asdict()})
        if asked.out is not None:
            asked.out.write_text(json.dumps(stored, indent=1))
    print(f"{solved} of {runs} runs end at {SOLVED} or more")


if __name__ == "__main__":
    main()
