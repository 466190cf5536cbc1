"""Progress of a sweep: bars in a terminal, a line per finished run elsewhere."""

from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from selfpaced.cli.speech import say
from selfpaced.engines.job import Job
from selfpaced.report.error_text import headline
from selfpaced.store.files import read_json
from selfpaced.sweep import Collector

if TYPE_CHECKING:
    from rich.console import Console


class Bars(Collector):
    """One bar for all runs, and one per run under way with its success rate on the target."""

    def __init__(self, console: "Console") -> None:
        super().__init__()
        self._console = console
        self._live = console.is_terminal
        self._done = self._count = 0
        self._success: dict[str, float] = {}  # last measured success rate, by the job's name
        self._executed: set[str] = set()  # names of jobs that have made progress here
        self._bars: dict[str, TaskID] = {}  # by the job's name
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None if console.width < 100 else 40),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not self._live,
            expand=console.width < 100,
        )
        self._all = self._progress.add_task("runs", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        for bar in self._bars.values():
            self._progress.remove_task(bar)
        self._progress.stop()

    def planned(self, jobs: int, done: int) -> None:
        """Set up the bar for all runs, and say how many are done already."""
        self._count, self._done = jobs, done
        self._progress.update(self._all, total=jobs, completed=done)
        if done:
            self._say(f"{done} of {jobs} runs are done already")

    def started(self, job: Job) -> None:
        """Show a bar for the job."""
        if job.name not in self._bars:
            self._bars[job.name] = self._progress.add_task(job.name, total=job.iterations)

    def progressed(self, job: Job, iteration: int, success: float | None) -> None:
        """Move the job's bar, and show its last measured success rate."""
        self.started(job)
        self._executed.add(job.name)
        if success is not None:
            self._success[job.name] = success
        known = self._success.get(job.name)
        # nan, which means that the task defines no success, is not equal to itself
        text = f"{job.name}: {known:.0%}" if known is not None and known == known else job.name
        self._progress.update(self._bars[job.name], completed=iteration, description=text)

    def finished(self, job: Job, problems: list[str]) -> None:
        """Remove the job's bar, and print a line where there are no bars."""
        super().finished(job, problems)
        for problem in problems:
            self._say(f"{job.name}: {problem}")
        self._end(job)
        self._done += 1
        self._progress.update(self._all, completed=self._done)
        if not self._live:
            known = None
            if job.name in self._executed:  # another launcher shows those that it has executed
                known = read_json(job.folder / "result.json").get("target_success")
            success = f", {known:.0%} on the target" if known is not None and known == known else ""
            self._say(f"{self._done}/{self._count} {job.name}{success}")

    def elsewhere(self, job: Job) -> None:
        """Say that another launcher works on the job."""
        super().elsewhere(job)
        self._end(job)
        self._say(f"{job.name}: another `selfpaced run` is working on it")

    def retried(self, job: Job, reason: str) -> None:
        """Say why the job's process died, and that it continues."""
        self._say(f"{job.name}: its process died by {reason}; it continues from its checkpoint")
        self._end(job)

    def failed(self, job: Job, error: str) -> None:
        """Print the line of the error that names its cause."""
        super().failed(job, error)
        self._end(job)
        self._say(f"{job.name} failed: {headline(error)}")

    def summarise(self) -> int:
        """Say how many runs failed or are not finished; return the exit code."""
        asked = self._count
        if self.failures:
            self._say(f"{len(self.failures)} of {asked} runs failed; see `selfpaced status`")
        elif self._done < asked:
            self._say(
                f"{asked - self._done} of {asked} runs are not finished: another `selfpaced run` "
                "is working on them"
            )
        return 1 if self._done < asked else 0

    def _end(self, job: Job) -> None:
        if (bar := self._bars.pop(job.name, None)) is not None:
            self._progress.remove_task(bar)

    def _say(self, text: str) -> None:
        say(self._console, text)
