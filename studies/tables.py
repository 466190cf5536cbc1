"""The tables of docs/beyond-the-paper.md, from the stored runs. From the project's folder:

python -m studies.tables
"""

import numpy as np

from selfpaced import load
from selfpaced.report.data import Group
from studies.ablations import WITHOUT
from studies.open_points import stored

RESAMPLES = 4000
SHARES = (0.05, 0.95)  # of the bootstrap: a 90% interval
RULES = {"sprl-mastery": "this one", "sprl": "paper's"}
PROOF = {
    "gate-precision": 20,
    "gate-global": 20,
    "reacher-kinematic": 20,
    "reacher": 10,
    "ball-in-a-cup-coarse": 20,
}
ABLATED = ("gate-precision", "gate-global", "reacher-kinematic", "ball-in-a-cup-coarse")


def first(group: Group, seeds: int) -> Group:
    """Its runs of seeds 0 to `seeds` - 1."""
    runs = tuple(run for run in group.runs if run.seed < seeds)
    return Group(group.experiment, group.algorithm, runs)


def median_interval(values: np.ndarray) -> str:
    """The median of iterations, "never" for infinity, and its bootstrap interval."""
    rng = np.random.default_rng(0)
    drawn = values[rng.integers(len(values), size=(RESAMPLES, len(values)))]
    with np.errstate(invalid="ignore"):
        medians = np.sort(np.median(drawn, axis=1))
    medians = np.where(np.isnan(medians), np.inf, medians)
    low, high = medians[[round(share * RESAMPLES) for share in SHARES]]
    middle = float(np.median(values))
    if np.isinf([low, middle]).all():
        return "never"
    return f"{_iterations(middle)} [{_iterations(low)}, {_iterations(high)}]"


def _iterations(value: float) -> str:
    return "never" if np.isinf(value) else f"{value:.0f}"


def solved(group: Group) -> str:
    """Seeds that end at 0.9 or more, of how many."""
    return f"{(group.success >= 0.9).sum()} of {len(group.runs)}"


def spread(group: Group) -> str:
    """Success of the worst and of the best seed, and the median."""
    s = group.success
    return f"{s.min():.2f} to {s.max():.2f}, {np.median(s):.2f}"


def line(*cells: str) -> None:
    """One row of a table."""
    print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Print all tables."""
    results, studies = load("results"), load("results/studies")
    print("On seeds that were not used for choosing")
    for experiment, seeds in PROOF.items():
        for rule, words in RULES.items():
            members = {**results, **studies}[experiment]
            group = first(members[rule], seeds)
            to_90 = median_interval(group.iterations_to(0.9))
            line(experiment, words, solved(group), spread(group), to_90)
    print("\nWhich part matters: solved, worst seed, iterations to 90%")
    for name in WITHOUT:
        cells: list[str] = []
        for experiment in ABLATED:
            members = studies.get(f"{experiment}-ablations", {})
            if name in members:
                group = members[name]
                to_90 = median_interval(group.iterations_to(0.9))
                cells.append(f"{solved(group)}, {group.success.min():.2f}, {to_90}")
            else:
                cells.append("-")
        line(name, *cells)
    print("\nOpen points")
    for members in stored(["results", "results/studies"]).values():
        for name, group in members.items():
            seeds = ", ".join(f"{s:.2f}" for s in group.success)
            to_90 = median_interval(group.iterations_to(0.9))
            line(group.experiment, name, solved(group), spread(group), to_90)
            print(f"    {seeds}")


if __name__ == "__main__":
    main()
