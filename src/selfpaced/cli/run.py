"""`selfpaced run`."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console

    from selfpaced.report.data import Group
    from selfpaced.sweep import Sweep


@dataclass
class Run:
    """Train algorithms on experiments, in parallel; print a table of their results on the target.

    If it is killed, give the same command again: it continues. Fields of an algorithm's
    configuration can be changed: --sprl.epsilon 0.3, --sprl.pacing.schedule.zeta 0.05,
    --ppo.hidden 64,64.
    """

    experiments: Annotated[list[str], tyro.conf.Positional]
    """Names of experiments (see `selfpaced list`), or module:NAME of your own."""
    algorithms: list[str] = field(default_factory=lambda: list[str]())
    """Names of algorithms; all of the experiment's if not given."""
    seeds: str = "5"
    """How many seeds (40 means 0 to 39), or which ones (10-19, or 0-4,7)."""
    iterations: int | None = None
    """Updates per run; the experiment's own number if not given."""
    out: Path = Path("runs")
    """Folder of the results. Finished runs found there are not repeated."""
    workers: int | None = None
    """Number of runs at the same time; one per processor if not given."""
    threads: int | None = None
    """Threads of each run, where its task can use them (MuJoCo); its share of the processors if
    not given. Results do not depend on it."""
    engine: Literal["local", "ray"] = "local"
    """Where runs execute: processes of this machine, or a Ray cluster."""
    address: str | None = None
    """Address of the Ray cluster; a local one if not given."""
    checkpoint_seconds: float = 2.0
    """Seconds between checkpoints; a crash loses at most about this much work."""
    shard: str = "1/1"
    """i/n does only the i-th of n parts of the runs, for job arrays; 1/1 does all."""
    accept_edited_code: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Continue runs although your own problem or algorithm has been edited since."""
    overrides: Annotated[dict[str, str], tyro.conf.Suppress] = field(
        default_factory=lambda: dict[str, str]()
    )
    """Maps "algorithm.field" to the new value as text; `main` takes them from the command line."""

    def named_code(self) -> list[str]:
        """The experiments, of which some may be module:NAME of a user's own."""
        return self.experiments

    def execute(self, console: "Console") -> int:
        """Run the sweep, print its table and write its figures; return the exit code."""
        from selfpaced.cli.printing import print_table
        from selfpaced.cli.progress_bars import Bars
        from selfpaced.sweep import make_engine, plan, run_jobs, seeds_from, shard_from

        jobs = plan(
            self.experiments,
            self.algorithms or None,
            seeds_from(self.seeds),
            self.out,
            iterations=self.iterations,
            overrides=self.overrides,
            shard=shard_from(self.shard),
            checkpoint_seconds=self.checkpoint_seconds,
            accept_edited_code=self.accept_edited_code,
        )
        engine = make_engine(self.engine, self.workers, self.address, self.threads)
        with Bars(console) as bars:
            sweep = run_jobs(jobs, engine, bars, for_tables=True)
        if sweep.groups:
            print_table(sweep.groups, console)
        self._write_figures(sweep, console)
        self._point_at_health(sweep, console)
        return bars.summarise()

    def _point_at_health(self, sweep: "Sweep", console: "Console") -> None:
        """Say how many runs do not solve the target, or may not, and which command tells why."""
        from selfpaced.store.health import SOLVED

        runs = [run for group in sweep.groups for run in group.runs]
        lost = sum(float(run.result.get("target_success", math.nan)) < SOLVED for run in runs)
        unknown = sum(bool(run.records and run.records[-1].get("by_rewards")) for run in runs)
        for count, what in (
            (lost, f"succeed on less than {SOLVED:.0%} of the target"),
            (unknown, "were judged by rewards alone, and nobody knows whether they succeed"),
        ):
            if count:
                say(
                    console,
                    f"{count} of {len(runs)} runs {what}: "
                    f"`selfpaced status {self.out}` says why and what to try",
                )

    def _write_figures(self, sweep: "Sweep", console: "Console") -> None:
        from selfpaced.report.error_text import error_in_one_line
        from selfpaced.report.figures import final_trajectories, learning_curves

        for name, experiment in {j.experiment.name: j.experiment for j in sweep.jobs}.items():
            members = [group for group in sweep.groups if group.experiment == name]
            if not members:
                continue
            published = experiment.published
            figures = {"": learning_curves(members, experiment.title, published=published)}
            task = experiment.built_problem().task
            if hasattr(task, "draw"):
                try:
                    firsts = [_first_run(group, self.out) for group in members]
                    figures["-trajectories"] = final_trajectories(firsts, task, experiment.title)
                except Exception as error:  # of a user's draw: the runs are safe
                    text = f"no figure of trajectories: draw raised {error_in_one_line(error)}"
                    say(console, text)
            for suffix, figure in figures.items():
                if figure is not None:
                    path = self.out / f"{name}{suffix}.png"
                    figure.savefig(path, dpi=150)
                    text = f"figure: {path}"
                    say(console, text)


def _first_run(group: "Group", out: Path) -> "Group":
    """`group` with its first run alone, and all of it: the others were read for tables only."""
    from selfpaced.report.data import Group
    from selfpaced.store.reading import read_run
    from selfpaced.store.spec import run_folder

    seed = group.runs[0].seed
    run = read_run(run_folder(out, group.experiment, group.algorithm, seed))
    return Group(group.experiment, group.algorithm, (run,))
