"""`selfpaced scene`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Scene:
    """Simulate and store the pictures and reward landscapes that `report` shows."""

    experiments: Annotated[list[str], tyro.conf.Positional]
    """Names of experiments, or module:NAME of your own."""
    out: Path = Path("results")
    """Folder for the files: that of the packed results or the runs, where `report` finds them."""

    def named_code(self) -> list[str]:
        """The experiments, of which some may be module:NAME of a user's own."""
        return self.experiments

    def execute(self, console: "Console") -> int:
        """Write one file per experiment; return the exit code."""
        from selfpaced.experiments import find_experiment
        from selfpaced.report.scene import SUFFIX, make_scene, write_scene

        if not self.experiments:
            raise ValueError("experiments must name at least one experiment; got none")
        for name in self.experiments:
            found = find_experiment(name)
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{found.name}{SUFFIX}"
            write_scene(make_scene(found), path)
            text = f"{path}: {path.stat().st_size / 1000:.0f} kB"
            say(console, text)
        return 0
