"""`selfpaced pack`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Pack:
    """Write finished runs to one small file per experiment."""

    runs: Annotated[Path, tyro.conf.Positional]
    """Folder of the results."""
    out: Annotated[Path, tyro.conf.Positional]
    """Folder for the packed files."""

    def named_code(self) -> list[str]:
        """Nothing: the command imports no code of users."""
        return []

    def execute(self, console: "Console") -> int:
        """Write the files; return the exit code."""
        from selfpaced.report.data import infos, stored_runs
        from selfpaced.store.packed import SUFFIX, write_packed

        runs = stored_runs(self.runs)
        if not runs:
            raise ValueError(f"runs must hold finished runs; {self.runs} has none")
        known = infos(runs, self.runs)
        self.out.mkdir(parents=True, exist_ok=True)
        for name in dict.fromkeys(run.experiment for run in runs):
            path = self.out / f"{name}{SUFFIX}"
            members = [run for run in runs if run.experiment == name]
            write_packed(members, path, known.get(name))
            text = f"{path}: {len(members)} runs, {path.stat().st_size / 1000:.0f} kB"
            say(console, text)
        return 0
