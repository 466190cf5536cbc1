"""Tables, status and health of runs in the terminal, and tables as text for programs."""

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from selfpaced.cli.speech import say
from selfpaced.report.changed_settings import changed_settings
from selfpaced.report.data import Group
from selfpaced.report.error_text import failure_kind, headline
from selfpaced.report.tables import CAPTION, DROPPED_EMPTY, DROPPED_FIRST, HEADERS, row, text_row
from selfpaced.store.finding import Finding
from selfpaced.store.health import seeds_in_words, summarised
from selfpaced.store.status import RunStatus

if TYPE_CHECKING:
    from rich.console import Console


def print_table(members: list[Group], console: "Console") -> None:
    """Print one table per experiment, in columns that fit the terminal, and what they mean."""
    for name in dict.fromkeys(group.experiment for group in members):
        console.print()
        say(console, name, "bold")
        rows = [text_row(group) for group in members if group.experiment == name]
        columns = [
            column
            for column in zip(HEADERS, *rows, strict=True)
            if column[0] not in DROPPED_EMPTY or set(column[1:]) != {"-"}
        ]
        print_columns(list(zip(*columns, strict=True)), console, DROPPED_FIRST)
    console.print(CAPTION, style="dim", highlight=False, markup=False)  # in lines that fit


def print_columns(
    rows: Sequence[tuple[str, ...]], console: "Console", dropped_first: tuple[str, ...] = ()
) -> None:
    """Print `rows`, of which the first has the headers, in aligned columns that fit the terminal.

    Where they do not fit, the columns of `dropped_first` are left out, one after the other; where
    that is not enough, every value gets a line of its own.
    """
    for dropped in range(len(dropped_first) + 1):
        columns = [c for c in zip(*rows, strict=True) if c[0] not in dropped_first[:dropped]]
        widths = [max(map(len, column)) for column in columns]
        for gap in (2, 1):
            if sum(widths) + gap * (len(widths) - 1) <= console.width or not console.is_terminal:
                for i, cells in enumerate(zip(*columns, strict=True)):
                    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
                    say(console, (" " * gap).join(padded).rstrip(), None if i else "bold")
                return
    for cells in rows[1:]:
        say(console, f"  {cells[0]}", "bold")
        for header, value in zip(rows[0][1:], cells[1:], strict=True):
            say(console, f"    {header:11}{value}")


def text_table(members: list[Group], form: str) -> str:
    """The table as text, where `form` is "csv" or "json".

    JSON has no infinity and no nan: they are written as the word "inf" and as null.
    """
    rows = [row(group) for group in members]
    if form == "json":
        return json.dumps([{k: _jsonable(v) for k, v in r.items()} for r in rows], indent=1) + "\n"
    buffer = io.StringIO()
    if rows:
        names = dict.fromkeys(name for r in rows for name in r)  # not all are rescored
        writer = csv.DictWriter(buffer, list(names), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return buffer.getvalue()


def print_status(found: list[RunStatus], console: "Console") -> None:
    """Print counts per experiment and algorithm, then which runs are under way or have failed."""
    if not found:
        say(console, "there are no runs here yet")
        return
    states = ("done", "running", "missing", "failed")
    members: dict[tuple[str, str], list[RunStatus]] = {}
    for run in found:
        name = str(run.spec["experiment"]), str(run.spec["algorithm"])
        members.setdefault(name, []).append(run)
    rows = [
        (*name, *(str(sum(run.state == state for run in runs)) for state in states), _solved(runs))
        for name, runs in members.items()
    ]
    print_columns([("experiment", "algorithm", *states, "on the target"), *rows], console)
    for run in found:
        if run.state == "running":
            where = f"iteration {run.iteration} of {run.iterations}"
            say(console, f"running: {run.name}, {where}")
    shown: set[tuple[str, str]] = set()  # one traceback is enough for all failures of its kind
    for run in found:
        if run.state == "failed":
            error = (run.error or "").strip()
            say(console, f"failed: {run.name}: {headline(error)}", "red")
            if "\n" in error and failure_kind(error) not in shown:
                for line in error.splitlines():
                    say(console, f"    {line}", "dim")
            shown.add(failure_kind(error))


def _solved(runs: list[RunStatus]) -> str:
    """The success rates on the target of the finished `runs`, from the worst to the best."""
    known = [run.final_success for run in runs if not math.isnan(run.final_success)]
    if not known:
        return "-"
    low, high = f"{min(known):.0%}", f"{max(known):.0%}"
    return low if low == high else f"{low} to {high}"


def print_settings(found: list[RunStatus], console: "Console") -> None:
    """Print which settings of runs are not the registered ones, or not those of the other seeds."""
    for name, seeds, changes in changed_settings(found):
        say(console, f"settings: {name}, {seeds_in_words(seeds)}: {'; '.join(changes)}")


def print_health(found: list[RunStatus], console: "Console") -> None:
    """Print what is wrong with runs, finished or under way, and what to try."""
    by_name: dict[str, list[tuple[int, Finding]]] = {}
    for run in found:
        for finding in run.health():
            name = f"{run.spec['experiment']} {run.spec['algorithm']}"
            by_name.setdefault(name, []).append((int(str(run.spec["seed"])), finding))
    for name, members in by_name.items():
        for who, finding in summarised(members):
            say(console, f"{finding.kind}: {name}, {who}: {finding.shown_by}", "yellow")
            say(console, f"    to try: {finding.to_try}", "dim")
    if len({(run.spec["experiment"], run.spec["algorithm"]) for run in found}) > 1:
        from selfpaced.report.need import unneeded_curricula

        for name, finding in unneeded_curricula(found):
            say(console, f"{finding.kind}: {name}, a curriculum: {finding.shown_by}", "yellow")
            say(console, f"    to try: {finding.to_try}", "dim")


def _jsonable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    return value
