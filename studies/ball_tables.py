"""The tables of Ball-in-a-Cup in docs/reproduction.md, from stored runs. From the project's folder:

python -m studies.ball_tables

It takes packed results or folders of runs, by default those of the paper's experiment.
"""

import sys

import numpy as np

from selfpaced import load
from selfpaced.report.data import Group
from selfpaced.report.figures import NAMES
from studies.tables import line

STORED = ("results/ball-in-a-cup.packed",)
SOLVED, NEAR = 0.9, 0.1  # success rates
SCORES = {
    "in the model": "target_success",
    "reference": "rescored_reference_success",
    "random worlds": "rescored_randomised_success",
}


def scores(group: Group) -> np.ndarray:
    """(3, seeds): the success rates of SCORES."""
    rows = [[run.result[name] for run in group.runs] for name in SCORES.values()]
    return np.array(rows, dtype=float)


def summary(group: Group) -> None:
    """One row: how many seeds are solved, and their medians."""
    found = scores(group)
    best_half = np.sort(found, axis=1)[:, -((len(group.runs) + 1) // 2) :]
    cells = [f"{(row >= SOLVED).sum()}, {np.median(row):.2f}" for row in found]
    best = ", ".join(f"{np.median(row):.2f}" for row in best_half)
    seconds = np.median([run.cpu_seconds for run in group.runs])
    name = NAMES.get(group.algorithm, group.algorithm)
    line(name, str(len(group.runs)), *cells, best, f"{seconds:.0f}")


def held(groups: list[Group]) -> tuple[int, int]:
    """Of the runs that are solved in the model, how many are as good in the reference."""
    found = np.concatenate([scores(group) for group in groups], axis=1)
    solved = found[:, found[0] >= SOLVED]
    return int((np.abs(solved[0] - solved[1]) <= NEAR + 1e-9).sum()), solved.shape[1]


def main() -> None:
    """Print all tables."""
    everything = load(*(sys.argv[1:] or STORED))
    groups = [group for members in everything.values() for group in members.values()]
    for experiment, members in everything.items():
        print(f"\n{experiment}: seeds at {SOLVED} or more, median; median of the best half of each")
        line("algorithm", "seeds", *SCORES, "best half", "CPU s")
        line(*["---"] * (len(SCORES) + 4))
        for group in members.values():
            summary(group)
    print("\nevery seed: " + " / ".join(SCORES))
    for group in groups:
        each = ("/".join(f"{score:.2f}" for score in seed) for seed in scores(group).T)
        print(f"{group.experiment} {group.algorithm}: {', '.join(each)}")
    as_good, solved = held(groups)
    print(f"\nof {solved} runs that are solved in the model, {as_good} are within {NEAR} of it")


if __name__ == "__main__":
    main()
