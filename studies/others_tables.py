"""Fills the tables of docs/others-tasks.md from packed results. From the project's folder:

python -m studies.others_tables

A table stands between the lines `<!-- table: NAME -->` and `<!-- end of table -->`, where NAME is
an experiment. Experiments without results in `results/` keep a sentence that says so.
"""

import re
from pathlib import Path

import numpy as np

from selfpaced import load
from selfpaced.experiments.others import OTHERS
from selfpaced.report.data import Group
from selfpaced.report.statistics import bootstrap, paired

DOCUMENT, RESULTS = Path("docs/others-tasks.md"), Path("results")
PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
HEAD = (
    "| contexts from | seeds | success, mean and 95% interval | return, mean and 95% interval "
    "| success minus uniform | updates to 0.8, if it lasts | CPU s a run |\n"
    "|---|---|---|---|---|---|---|\n"
)


def interval(mean: float, low: float, high: float, digits: int, seeds: int) -> str:
    """A mean and its interval in words; "-" if it is not known, no interval of one seed."""
    if np.isnan(mean):
        return "-"
    if seeds == 1:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def table(members: dict[str, Group]) -> str:
    """The table of one experiment, one line per algorithm."""
    lines = HEAD
    for name, group in members.items():
        difference, seeds = "-", len(group.runs)
        digits = 2 if abs(group.reward).max() < 10 else 0
        if name != "uniform" and "uniform" in members:
            pairs, *found = paired(group, members["uniform"], "target_success")
            difference = interval(*found, digits=2, seeds=pairs)
        first = float(np.median(group.iterations_to(0.8)))
        if np.median(group.success) < 0.8:  # measurements on the way have few episodes
            first = np.inf
        cells = (
            name,
            str(seeds),
            interval(*bootstrap(group.success), digits=2, seeds=seeds),
            interval(*bootstrap(group.reward), digits=digits, seeds=seeds),
            difference,
            "never" if np.isinf(first) else f"{first:.0f}",
            f"{np.median([run.cpu_seconds for run in group.runs]):.0f}",
        )
        lines += f"| {' | '.join(cells)} |\n"
    return lines


def filled(document: str, results: Path) -> str:
    """`document` with every table made anew from the packed files in the folder `results`."""

    def replaced(place: re.Match[str]) -> str:
        name = place[2]
        file = results / f"{name}.packed"
        known = load(file).get(name) if file.exists() else None
        text = table(known) if known else "No results are stored yet.\n"
        return f"{place[1]}{text}{place[3]}"

    return PLACE.sub(replaced, document)


def main() -> None:
    """Write the document with its tables."""
    text = filled(DOCUMENT.read_text(), RESULTS)
    missing = [one.name for one in OTHERS if f"<!-- table: {one.name} -->" not in text]
    if missing:
        raise ValueError(f"{DOCUMENT} must have a place for every experiment; none of {missing[0]}")
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
