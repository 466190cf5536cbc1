"""The command line: the only module that prints. Heavy modules load when a command needs them."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from rich.console import Console

    from selfpaced.report.data import Group


@dataclass
class List:
    """Show the experiments and their algorithms."""


@dataclass
class Run:
    """Train algorithms on an experiment and print how they fared on its target."""

    experiment: Annotated[str, tyro.conf.Positional]
    """Name of an experiment; `selfpaced list` shows them."""
    algorithms: list[str] = field(default_factory=lambda: ["sprl", "creps"])
    """Names of algorithms that the experiment knows."""
    seeds: int = 5
    """Number of runs per algorithm, with seeds 0, 1, 2, ..."""
    iterations: int | None = None
    """Updates per run; the experiment's own number if not given."""
    out: Path = Path("runs")
    """Folder of the results. Finished runs found there are not repeated."""


@dataclass
class Table:
    """Print the table of finished runs."""

    out: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """Folder of the results."""


Command = (
    Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Table, tyro.conf.subcommand("table")]
)


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `selfpaced`; the exit code."""
    command = tyro.cli(
        Command,  # type: ignore[arg-type]  # a union of dataclasses is what tyro takes
        prog="selfpaced",
        description="Self-paced curricula for contextual reinforcement learning.",
        args=arguments,
    )
    from rich.console import Console

    console = Console()
    try:
        if isinstance(command, List):
            _list(console)
        elif isinstance(command, Run):
            _run(command, console)
        else:
            _table(command.out, console)
    except ValueError as error:
        Console(stderr=True).print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the same command continues from the last checkpoint")
        return 130
    return 0


def _list(console: "Console") -> None:
    from rich.table import Table as Grid

    from selfpaced.experiments import EXPERIMENTS

    grid = Grid("experiment", "what it is", "iterations", "algorithms", box=None)
    for name, found in EXPERIMENTS.items():
        grid.add_row(name, found.title, str(found.iterations), ", ".join(found.algorithms))
    console.print(grid)


def _run(command: Run, console: "Console") -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from selfpaced.engines.local import Job, execute
    from selfpaced.experiments import experiment
    from selfpaced.maths.arrays import check_at_least
    from selfpaced.training import Record

    found = experiment(command.experiment)
    seeds = range(check_at_least("seeds", command.seeds, 1))
    iterations = found.iterations if command.iterations is None else command.iterations
    check_at_least("iterations", iterations, 1)
    jobs = [
        Job(found.name, name, found.algorithm(name), seed, iterations, command.out)
        for name in command.algorithms
        for seed in seeds
    ]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bars:
        total = bars.add_task(f"{found.name}: runs", total=len(jobs))
        for job in jobs:
            name = f"{job.algorithm}, seed {job.seed}"
            bar = bars.add_task(name, total=iterations)

            def show(record: Record, bar: "int" = bar, name: str = name) -> None:
                if "target_success" in record:
                    name = f"{name}: {record['target_success']:.0%} on target"
                    bars.update(bar, description=name)  # type: ignore[arg-type]
                bars.update(bar, completed=record["iteration"])  # type: ignore[arg-type]

            execute(job, show)
            bars.remove_task(bar)
            bars.advance(total)
    members = _table(command.out, console, found.name)
    figure = command.out / f"{found.name}.png"
    _draw(members, found.title, figure)
    console.print(f"figure: {figure}", highlight=False, soft_wrap=True)


def _table(out: Path, console: "Console", only: str | None = None) -> "list[Group]":
    from selfpaced.report.data import groups
    from selfpaced.report.tables import CAPTION
    from selfpaced.store import finished_runs

    members = [g for g in groups(finished_runs(out)) if only is None or g.experiment == only]
    if not members:
        raise ValueError(f"out must hold finished runs; {out} has none")
    for name in dict.fromkeys(group.experiment for group in members):
        console.print(f"\n[bold]{name}[/bold]")
        _print_groups([group for group in members if group.experiment == name], console)
    console.print(f"[dim]{CAPTION}[/dim]")
    return members


def _print_groups(members: "list[Group]", console: "Console") -> None:
    """The table of one experiment; one field a line where the terminal is too narrow for it."""
    from selfpaced.report.tables import HEADERS, text_row

    rows = [HEADERS, *(text_row(group) for group in members)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for gap in (2, 1):
        if sum(widths) + gap * (len(widths) - 1) <= console.width:
            for row in rows:
                cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                style = "bold" if row is HEADERS else None
                console.print((" " * gap).join(cells).rstrip(), style=style, highlight=False)
            return
    for row in rows[1:]:
        console.print(f"  [bold]{row[0]}[/bold]")
        for header, value in zip(HEADERS[1:], row[1:], strict=True):
            console.print(f"    {header:9}{value}", highlight=False)


def _draw(members: "list[Group]", title: str, path: Path) -> None:
    from selfpaced.report.figures import learning_curves

    learning_curves(members, title).savefig(path, dpi=150)


if __name__ == "__main__":
    sys.exit(main())
