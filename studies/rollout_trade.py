"""Rollouts to 90% against lost seeds, for settings of `SPRL()` that learn faster or more safely.

Every run is appended to a file of JSON lines; runs that it holds already are not repeated. From the
project's folder (about a quarter of an hour of CPU time, all tasks without physics):

    python -m studies.rollout_trade
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from selfpaced import SPRL, Mastery
from selfpaced.report.figures import new_figure, tidy
from studies.zoo.table import SOLVED, run

STORED = Path("results/studies/rollout-trade.jsonl")
PICTURE = Path("docs/images/rollout-trade.png")
SEEDS = range(500, 512)  # for development; the last ones only where a run is cheap
TASKS = {  # rollouts of a run, and how many of the seeds
    "gate-precision": (17_500, 12),
    "gate-global": (30_000, 12),
    "reacher-kinematic": (16_000, 6),
}
NEEDED = {"gate-precision": 500, "gate-global": 850, "reacher-kinematic": 500}  # in a buffer


def settings(task: str) -> dict[str, SPRL]:
    """The configurations to compare, by the names that the figure shows."""
    small = int(np.ceil(0.6 * NEEDED[task] / 25))
    return {
        "default": SPRL(),
        "batches of 100": SPRL(n_samples=100),
        "batches of 25": SPRL(n_samples=25),
        "batches of 16": SPRL(n_samples=16),
        # A smaller buffer narrows more slowly, in proportion, which is undone here.
        "25, 60% of the buffer": SPRL(
            n_samples=25, buffer_size=small, pacing=Mastery(narrowing=10 / 0.6)
        ),
        "25, narrowing 14": SPRL(n_samples=25, pacing=Mastery(narrowing=14.0)),
        "25, search KL 1": SPRL(n_samples=25, pacing=Mastery(search_epsilon=1.0)),
    }


def read(path: Path) -> list[dict[str, Any]]:
    """The stored runs; JSON has no infinity, so null stands for a run that never reached 90%."""
    if not path.exists():
        return []
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["rollouts"] = np.inf if row["rollouts"] is None else row["rollouts"]
    return rows


def run_missing(path: Path) -> None:
    """Run what `path` does not hold yet, seed by seed."""
    known = {(row["task"], row["setting"], row["seed"]) for row in read(path)}
    for task, (budget, count) in TASKS.items():
        for name, config in settings(task).items():
            for seed in SEEDS[:count]:
                if (task, name, seed) in known:
                    continue
                found = run(task, True, config, seed, budget)
                rollouts = found.rollouts if np.isfinite(found.rollouts) else None
                row = {"task": task, "setting": name, "seed": seed, "success": found.success}
                row |= {"rollouts": rollouts, "seconds": found.seconds}
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")


def summary(rows: list[dict[str, Any]], task: str) -> dict[str, tuple[float, int, int]]:
    """Of every setting: median rollouts to 90%, lost seeds, seeds."""
    found: dict[str, tuple[float, int, int]] = {}
    for name in settings(task):
        mine = [row for row in rows if (row["task"], row["setting"]) == (task, name)]
        if mine:
            lost = sum(row["success"] < SOLVED for row in mine)
            found[name] = float(np.median([row["rollouts"] for row in mine])), lost, len(mine)
    return found


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One panel per task: nearer to the lower left corner is better.

    A setting whose median run never reaches 90% is an arrow at the right edge.
    """
    figure = new_figure(11, 3.6)
    for axes, task in zip(figure.subplots(1, len(TASKS), sharey=True), TASKS, strict=True):
        points = summary(rows, task)
        reached = [rollouts for rollouts, _, _ in points.values() if np.isfinite(rollouts)]
        edge = 1.06 * max(reached)
        for k, (name, (rollouts, lost, seeds)) in enumerate(points.items()):
            marker = "o" if np.isfinite(rollouts) else ">"
            place = min(rollouts, edge)
            axes.plot(place, lost / seeds, marker, color=f"C{k}", label=name, alpha=0.85)
        axes.set(title=task, xlabel="rollouts to 90%, median")
        axes.locator_params(axis="x", nbins=5)
        tidy(axes)
    figure.axes[0].set_ylabel("seeds that end below 0.9")
    figure.axes[0].yaxis.set_major_formatter("{x:.0%}")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run what is missing, print a table, draw."""
    threadpool_limits(1, user_api="blas")  # on matrices this small a second thread only waits
    run_missing(STORED)
    rows = read(STORED)
    print("| setting | " + " | ".join(TASKS) + " |\n|" + "---|" * (1 + len(TASKS)))
    for name in settings("gate-global"):
        cells: list[str] = []
        for task in TASKS:
            rollouts, lost, seeds = summary(rows, task)[name]
            cells.append(f"{seeds - lost} of {seeds}, {rollouts:,.0f}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    draw(rows, PICTURE)


if __name__ == "__main__":
    main()
