"""The tables of docs/benchmarks.md, from the stored runs. From the project's folder:

    python -m studies.benchmark_tables            # rewrites the tables in the document
    python -m studies.benchmark_tables --results runs.packed --document other.md

A table stands between <!-- runs of NAME --> and <!-- end -->. Experiments without stored runs are
left as they are.
"""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from selfpaced import load
from selfpaced.report.data import Group
from selfpaced.report.statistics import bootstrap, paired
from selfpaced.store.reading import StoredRun

REACHED, KEPT = 0.9, 0.5  # success that a run had on the target, and below which it must not end
BY_SUCCESS = ("maze-currot",)  # scored by success; the others by discounted return
HEADER = (
    "| teacher | seeds | {score}, median | mean [95% interval] | every seed | success, median | "
    "reached 90%, of them ended below 50% | lowest success after 90% | CPU s | teacher's share |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def table(name: str, members: Mapping[str, Group]) -> str:
    """The table of one experiment, and the paired difference of mastery and the threshold form."""
    by_success = name in BY_SUCCESS
    entry = "target_success" if by_success else "target_reward"
    lines = [HEADER.format(score="success" if by_success else "discounted return")]
    for teacher, group in members.items():
        scores = group.success if by_success else group.reward
        mean, low, high = bootstrap(scores)
        reached, lost = kept(group)
        cells = (
            *(teacher, str(len(group.runs)), f"{np.median(scores):.2f}"),
            f"{mean:.2f} [{low:.2f}, {high:.2f}]",
            ", ".join(f"{score:.2f}" for score in scores),
            f"{np.median(group.success):.2f}",
            f"{reached}, {lost}",
            lowest(group),
            f"{np.median([run.cpu_seconds for run in group.runs]):.0f}",
            shares(group),
        )
        lines.append(f"| {' | '.join(cells)} |")
    for other in ("threshold", "currot"):
        if {"mastery", other} <= members.keys():
            n, mean, low, high = paired(members["mastery"], members[other], entry)
            if n > 1:  # one seed has no interval
                interval = f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
                lines += ["", f"Mastery minus {other}, {n} shared seeds: {interval}."]
    return "\n".join(lines)


def shares(group: Group) -> str:
    """The teacher's share of the CPU time: the least and the largest of all runs."""
    found = [run.teacher_seconds / run.cpu_seconds for run in group.runs]
    known = [share for share in found if np.isfinite(share)]
    return f"{min(known):.1%} to {max(known):.1%}" if known else "not measured"


def lowest(group: Group) -> str:
    """The lowest success that was measured in any run after it had first reached 90%."""
    found: list[tuple[float, int, int]] = []
    for run in group.runs:
        measured = [record for record in run.records if "target_success" in record]
        first = [r["target_success"] >= REACHED for r in measured].index(True) if had(run) else None
        if first is not None:
            found += [(r["target_success"], run.seed, r["iteration"]) for r in measured[first:]]
    if not found:
        return "never reached"
    success, seed, iteration = min(found)
    return f"{success:.2f} (seed {seed}, update {iteration})"


def had(run: StoredRun) -> bool:
    """True if 90% success on the target was measured at any time."""
    return max(record.get("target_success", 0.0) for record in run.records) >= REACHED


def kept(group: Group) -> tuple[int, int]:
    """How many runs had 90% success on the target, and how many of them ended below 50%."""
    reached = [had(run) for run in group.runs]
    return sum(reached), int(((group.success < KEPT) & np.array(reached)).sum())


def filled(document: str, results: Mapping[str, Mapping[str, Group]]) -> str:
    """`document` with the table of every experiment of `results` at its place."""
    for name, members in results.items():
        place = re.compile(rf"(<!-- runs of {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        made = table(name, members)
        document = place.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", document)
    return document


def main() -> None:
    """Rewrite the tables."""
    parser = argparse.ArgumentParser(description="Rewrite the tables of docs/benchmarks.md.")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--document", type=Path, default=Path("docs/benchmarks.md"))
    given = parser.parse_args()
    text = given.document.read_text(encoding="utf-8")
    given.document.write_text(filled(text, load(given.results)), encoding="utf-8")


if __name__ == "__main__":
    main()
