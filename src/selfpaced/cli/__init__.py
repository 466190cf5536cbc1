"""The command line: the only package that prints. Heavy modules load when a command needs them."""

import os
import re
import shlex
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from rich.console import Console

Positional = tyro.conf.Positional
OVERRIDE = re.compile(r"--([a-z][\w-]*)\.([\w.-]+)(?:=(.*))?$")


@dataclass
class List:
    """Show the experiments and their algorithms."""


@dataclass
class Run:
    """Train algorithms on experiments, in parallel; print how they fared on the target.

    Killed at any moment, the same command continues. Numbers of an algorithm can be changed:
    --sprl.epsilon 0.3, --sprl.schedule.zeta 0.05, --ppo.hidden 64,64.
    """

    experiments: Annotated[list[str], Positional]
    """Names of experiments (see `selfpaced list`), or module:NAME of your own."""
    algorithms: list[str] = field(default_factory=lambda: list[str]())
    """Names of algorithms; all that the experiment knows if not given."""
    seeds: str = "5"
    """A count (40: seeds 0 to 39) or ranges (10-19; 0-4,7)."""
    iterations: int | None = None
    """Updates per run; the experiment's own number if not given."""
    out: Path = Path("runs")
    """Folder of the results. Finished runs found there are not repeated."""
    workers: int | None = None
    """Runs at once; as many as there are processors if not given."""
    engine: Literal["local", "ray"] = "local"
    """Where runs execute: processes of this machine, or a Ray cluster."""
    address: str | None = None
    """Address of the Ray cluster; a local one if not given."""
    checkpoint_seconds: float = 2.0
    """Time between two checkpoints of a run: about what a crash costs."""
    shard: str = "1/1"
    """i/n: only the i-th of n parts of the runs, for job arrays."""


@dataclass
class Status:
    """Show what is done, running, missing and failed, with the error."""

    out: Annotated[Path, Positional] = Path("runs")
    """Folder of the results."""


@dataclass
class Table:
    """Print the table of finished runs."""

    paths: Annotated[list[Path], Positional] = field(default_factory=lambda: [Path("runs")])
    """Folders of results, or packed files."""
    format: Literal["text", "csv", "json"] = "text"
    """text for people; csv and json for programs (infinity: never reached)."""


@dataclass
class Pack:
    """Write finished runs to one small file per experiment."""

    runs: Annotated[Path, Positional]
    """Folder of the results."""
    out: Annotated[Path, Positional]
    """Folder for the packed files."""


@dataclass
class Unpack:
    """Make a folder of results from packed files, so that finished runs are not repeated."""

    files: Annotated[list[Path], Positional]
    """Packed files."""
    out: Path = Path("runs")
    """Folder of the results."""


@dataclass
class Export:
    """Write finished runs for other programs."""

    paths: Annotated[list[Path], Positional] = field(default_factory=lambda: [Path("runs")])
    """Folders of results, or packed files."""
    tensorboard: Path | None = None
    """Folder for TensorBoard event files, one folder per run."""
    trajectory: Path | None = None
    """File (.csv) for the movement that one run has learned, to be played on a robot."""
    context: tuple[float, ...] | None = None
    """Context of the movement; the target's mean if not given."""
    frequency: float = 500.0
    """Set points of the movement per second."""
    speed: float = 1.0
    """1: as learned; 0.5: half as fast."""


@dataclass
class Watch:
    """Film one rollout of a finished run's policy (extra: video)."""

    run: Annotated[Path, Positional]
    """Folder of the run, such as runs/reacher/sprl/seed-000."""
    out: Path = Path("watch.mp4")
    """The film; a filmstrip is written beside it as a PNG."""
    context: tuple[float, ...] | None = None
    """Context of the rollout; the target's mean if not given."""
    seed: int = 0
    """Of the rollout's own randomness."""


@dataclass
class Report:
    """Write one self-contained page with all figures, tables and health checks."""

    paths: Annotated[list[Path], Positional] = field(default_factory=lambda: [Path("runs")])
    """Folders of results, or packed files."""
    out: Path = Path("report.html")
    """The page."""
    figures: Path | None = None
    """Folder for every figure as PDF, PNG and SVG."""


@dataclass
class Scene:
    """Compute what figures need physics for: pictures of tasks, reward landscapes."""

    experiments: Annotated[list[str], Positional]
    """Names of experiments, or module:NAME of your own."""
    out: Path = Path("results")
    """Folder for the files, where `report` looks: beside packed results, or runs."""


Command = (
    Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Status, tyro.conf.subcommand("status")]
    | Annotated[Table, tyro.conf.subcommand("table")]
    | Annotated[Pack, tyro.conf.subcommand("pack")]
    | Annotated[Unpack, tyro.conf.subcommand("unpack")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Watch, tyro.conf.subcommand("watch")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Scene, tyro.conf.subcommand("scene")]
)


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `selfpaced`; the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    rest, overrides = split_overrides(words)
    command = tyro.cli(
        Command,  # type: ignore[arg-type]  # a union of dataclasses is what tyro takes
        prog="selfpaced",
        description="Self-paced curricula for contextual reinforcement learning.",
        args=rest,
        config=(tyro.conf.OmitSubcommandPrefixes,),
    )
    from rich.console import Console

    console, errors = Console(), Console(stderr=True)

    def complain(text: str) -> None:
        errors.print("error:", style="red", end=" ")
        errors.print(text, markup=False, highlight=False, soft_wrap=True)

    def warn(message: Warning | str, *_: object) -> None:
        errors.print(f"warning: {message}", markup=False, highlight=False, soft_wrap=True)

    warnings.showwarning = warn
    try:
        return _execute(command, overrides, console)
    except ValueError as error:
        complain(str(error))
        return 2
    except ModuleNotFoundError as error:
        complain(_missing(error))
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        complain(f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else ""))
        return 1
    except KeyboardInterrupt:
        again = shlex.join(["selfpaced", *words])
        text = f"stopped; what was under way has a checkpoint. To continue:\n  {again}"
        errors.print(text, markup=False, highlight=False, soft_wrap=True)
        return 130


def split_overrides(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """`words` without those that change an algorithm's numbers, and these as a dictionary."""
    rest: list[str] = []
    overrides: dict[str, str] = {}
    remaining = iter(words)
    for word in remaining:
        if match := OVERRIDE.match(word):
            algorithm, path, text = match.groups()
            path = path.replace("-", "_")  # as the other options are written
            overrides[f"{algorithm}.{path}"] = next(remaining, "") if text is None else text
        else:
            rest.append(word)
    return rest, overrides


def _execute(command: object, overrides: dict[str, str], console: "Console") -> int:
    if overrides and not isinstance(command, Run):
        raise ValueError(f"only `run` takes numbers of an algorithm; got {', '.join(overrides)}")
    if isinstance(command, List):
        _list(console)
    elif isinstance(command, Run):
        return _run(command, overrides, console)
    elif isinstance(command, Status):
        _status(command.out, console)
    elif isinstance(command, Table):
        _table(command, console)
    elif isinstance(command, Pack):
        _pack(command, console)
    elif isinstance(command, Unpack):
        _unpack(command, console)
    elif isinstance(command, Export):
        _export(command, console)
    elif isinstance(command, Watch):
        _watch(command, console)
    elif isinstance(command, Report):
        _report(command, console)
    elif isinstance(command, Scene):
        _scene(command, console)
    return 0


def _missing(error: ModuleNotFoundError) -> str:
    from selfpaced.extras import EXTRAS, how_to_install

    package = (error.name or "").partition(".")[0]
    return how_to_install(package) if package in EXTRAS else str(error)


def _list(console: "Console") -> None:
    from selfpaced.cli.tables import print_columns
    from selfpaced.experiments import EXPERIMENTS

    rows = [("experiment", "what it is", "iterations", "algorithms")]
    rows += [
        (name, found.title, str(found.iterations), ", ".join(found.algorithms))
        for name, found in EXPERIMENTS.items()
    ]
    print_columns(rows, console)


def _run(command: Run, overrides: dict[str, str], console: "Console") -> int:
    sys.path.insert(0, os.getcwd())  # for module:NAME of a user's own experiment
    from selfpaced.cli.progress import Bars
    from selfpaced.cli.tables import print_table
    from selfpaced.report.data import groups
    from selfpaced.report.faults import in_a_line
    from selfpaced.report.figures import final_trajectories, learning_curves
    from selfpaced.store import finished_runs
    from selfpaced.sweep import execute_all, make_engine, plan, seeds_from, shard_from

    out = command.out.absolute()
    jobs = plan(
        command.experiments,
        command.algorithms or None,
        seeds_from(command.seeds),
        out,
        iterations=command.iterations,
        overrides=overrides,
        shard=shard_from(command.shard),
        checkpoint_seconds=command.checkpoint_seconds,
    )
    engine = make_engine(command.engine, command.workers, command.address)
    with Bars(jobs, console) as bars:
        execute_all(jobs, engine, bars)
    names = list(dict.fromkeys(job.experiment.name for job in jobs))
    runs = [run for run in finished_runs(out) if run.experiment in names]
    members = groups(runs)
    if members:
        print_table(members, console)
    for name in names:
        shown = [group for group in members if group.experiment == name]
        if shown:
            setting = next(job.experiment for job in jobs if job.experiment.name == name)
            figures = {"": learning_curves(shown, setting.title)}
            task = setting.problem().task
            if hasattr(task, "draw"):
                try:
                    figures["-trajectories"] = final_trajectories(shown, task, setting.title)
                except Exception as error:  # of a user's draw: the runs are safe
                    text = f"no figure of trajectories: draw raised {in_a_line(error)}"
                    console.print(text, markup=False, highlight=False, soft_wrap=True)
            for suffix, figure in figures.items():
                if figure is not None:
                    path = command.out / f"{name}{suffix}.png"
                    figure.savefig(path, dpi=150)
                    console.print(f"figure: {path}", highlight=False, soft_wrap=True)
    return bars.summarise(len(jobs))


def _status(out: Path, console: "Console") -> None:
    from selfpaced.cli.tables import print_health, print_status
    from selfpaced.sweep import status

    if not out.exists():
        raise ValueError(f"out must be a folder of results; {out} does not exist")
    found = status(out)
    print_status(found, console)
    print_health(found, console)


def _table(command: Table, console: "Console") -> None:
    from selfpaced.cli.tables import print_table, text_table
    from selfpaced.report.data import groups, stored_runs

    members = groups(stored_runs(*command.paths))
    if command.format == "text":
        if not members:
            raise ValueError(f"no finished runs in {', '.join(map(str, command.paths))}")
        print_table(members, console)
    else:
        sys.stdout.write(text_table(members, command.format))


def _pack(command: Pack, console: "Console") -> None:
    from selfpaced.packed import SUFFIX, write_packed
    from selfpaced.report.data import settings, stored_runs

    runs = stored_runs(command.runs)
    if not runs:
        raise ValueError(f"runs must hold finished runs; {command.runs} has none")
    known = settings(runs, command.runs)
    command.out.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(run.experiment for run in runs):
        path = command.out / f"{name}{SUFFIX}"
        members = [run for run in runs if run.experiment == name]
        write_packed(members, path, known.get(name))
        size = path.stat().st_size / 1000
        console.print(f"{path}: {len(members)} runs, {size:.0f} kB", highlight=False)


def _unpack(command: Unpack, console: "Console") -> None:
    from selfpaced.packed import restore_store

    for path in command.files:
        restored, left = restore_store(path, command.out)
        text = f"{path}: {restored} runs restored to {command.out}"
        text += f", {left} left as they were there" if left else ""
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _export(command: Export, console: "Console") -> None:
    sys.path.insert(0, os.getcwd())
    from selfpaced.report.data import stored_runs
    from selfpaced.report.tensorboard import write_events
    from selfpaced.watch import write_movement

    if command.tensorboard is None and command.trajectory is None:
        raise ValueError("export needs a format: --tensorboard FOLDER or --trajectory FILE.csv")
    if command.trajectory is not None:
        if len(command.paths) != 1:
            raise ValueError(f"--trajectory takes the folder of one run; got {len(command.paths)}")
        written = write_movement(
            *(command.paths[0], command.trajectory),
            context=command.context,
            frequency=command.frequency,
            speed=command.speed,
        )
        rescored = "" if written.rescored is None else f", rescored {written.rescored:.2f}"
        console.print(
            f"{command.trajectory}: {written.set_points} set points, {written.fastest_joint} up to "
            f"{written.speed:.2f} rad/s; success of the run {written.success:.2f}{rescored}",
            highlight=False,
            soft_wrap=True,
        )
    if command.tensorboard is not None:
        count = write_events(stored_runs(*command.paths), command.tensorboard)
        console.print(f"{count} runs; see them with: tensorboard --logdir {command.tensorboard}")


def _watch(command: Watch, console: "Console") -> None:
    sys.path.insert(0, os.getcwd())
    from selfpaced.report.film import write_film
    from selfpaced.watch import film_of

    if command.out.suffix != ".mp4":
        raise ValueError(f"out must end in .mp4; got {command.out}")
    count = write_film(film_of(command.run, command.context, command.seed), command.out)
    text = f"film: {command.out}, {count} frames; strip: {command.out.with_suffix('.png')}"
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _report(command: Report, console: "Console") -> None:
    sys.path.insert(0, os.getcwd())  # for the `draw` of a user's own task
    from selfpaced.report.page import page, write_figures
    from selfpaced.reporting import chapters_of

    if not any(path.exists() for path in command.paths):
        raise ValueError(f"no such folder or packed file: {', '.join(map(str, command.paths))}")
    chapters, missing = chapters_of(command.paths)
    command.out.parent.mkdir(parents=True, exist_ok=True)
    command.out.write_text(page(chapters, missing), encoding="utf-8")
    size = command.out.stat().st_size / 1e6
    text = f"page: {command.out}, {size:.1f} MB, {len(chapters)} experiments"
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    if command.figures is not None:
        count = write_figures(chapters, command.figures)
        text = f"{count} figures in {command.figures}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _scene(command: Scene, console: "Console") -> None:
    sys.path.insert(0, os.getcwd())
    from selfpaced.scene import SUFFIX, make_scene, write_scene
    from selfpaced.sweep import find_experiment

    for name in command.experiments:
        found = find_experiment(name)
        command.out.mkdir(parents=True, exist_ok=True)
        path = command.out / f"{found.name}{SUFFIX}"
        write_scene(make_scene(found), path)
        size = path.stat().st_size / 1000
        console.print(f"{path}: {size:.0f} kB", markup=False, highlight=False, soft_wrap=True)
