"""A page about runs that are still going on: how far they are, their curves and their health."""

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.report.error_text import headline
from selfpaced.report.figures import colours, name_of, new_figure, tidy
from selfpaced.report.page import look, svg
from selfpaced.report.page_look import document, finding_block
from selfpaced.store.health import summarised
from selfpaced.store.reading import recorded
from selfpaced.store.status import RunStatus, status
from selfpaced.types import Record

CURVES = {"target_success": "success rate on the target", "target_reward": "reward on the target"}
Records = list[tuple[RunStatus, list[Record]]]


def live_page(out: Path, refresh: int) -> str:
    """The state of all runs in the folder `out` as HTML that a browser reloads by itself.

    The page is read anew every `refresh` seconds. Nothing is written, and no code of users runs.
    """
    found = status(out)
    names = dict.fromkeys(str(run.spec["experiment"]) for run in found)
    body = "".join(
        _experiment(name, [run for run in found if run.spec["experiment"] == name])
        for name in names
    )
    content = (
        f"<h1>Runs in {escape(str(out))}</h1><p>This page reloads every {refresh} seconds.</p>"
        f"{body or '<p>No run has been asked for in this folder yet.</p>'}"
    )
    reload = f'<meta http-equiv="refresh" content="{refresh}">'
    return document(f"runs in {out.name}", content, reload)


def _experiment(name: str, runs: list[RunStatus]) -> str:
    """One experiment as a section: counts, curves, a table of its runs, and what is wrong."""
    records = [(run, recorded(run.folder, for_health=True)) for run in runs]
    states = [run.state for run in runs]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    with look():
        drawn = svg(curves_so_far(records, name), f"live-{name}")
    return (
        f'<section id="{escape(name)}"><h2>{escape(name)}</h2><p>{counts}</p>'
        f"<figure>{drawn}</figure>{_table(runs)}{_health(runs)}</section>"
    )


def curves_so_far(records: Records, title: str) -> Any:
    """A figure with one curve per run, as far as each has come."""
    figure = new_figure(9, 3.4)
    chosen = colours([str(run.spec["algorithm"]) for run, _ in records])
    for axes, (metric, label) in zip(figure.subplots(1, 2), CURVES.items(), strict=True):
        labelled: set[str] = set()
        for run, known in records:
            algorithm = str(run.spec["algorithm"])
            points = [(r["iteration"], r[metric]) for r in known if metric in r]
            if points and not np.isnan([y for _, y in points]).all():
                legend = None if algorithm in labelled else name_of(algorithm)
                labelled.add(algorithm)
                axes.plot(*zip(*points, strict=True), color=chosen[algorithm], label=legend)
        axes.set(xlabel="iteration", ylabel=label)
        tidy(axes)
        if labelled:
            axes.legend(frameon=False)
    figure.suptitle(title, fontsize=11, parse_math=False)
    return figure


def _table(runs: list[RunStatus]) -> str:
    """Every run with its state and how far it is."""
    rows = ""
    for run in runs:
        success = "-" if np.isnan(run.target_success) else f"{run.target_success:.0%}"
        cells = (
            name_of(str(run.spec["algorithm"])),
            str(run.spec["seed"]),
            run.state,
            f"{run.iteration} of {run.iterations}",
            success,
            headline(run.error) if run.error else "",
        )
        rows += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    names = ("algorithm", "seed", "state", "iteration", "success on the target", "error")
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
        "</table></div>"
    )


def _health(runs: list[RunStatus]) -> str:
    """What is wrong with runs, finished or not, and what to try."""
    blocks = ""
    for algorithm in dict.fromkeys(str(run.spec["algorithm"]) for run in runs):
        found = [
            (int(str(run.spec["seed"])), finding)
            for run in runs
            if run.spec["algorithm"] == algorithm
            for finding in run.health()
        ]
        for who, finding in summarised(found):
            blocks += finding_block(name_of(algorithm), who, finding)
    return blocks
