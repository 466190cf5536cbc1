"""`selfpaced status`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Status:
    """Show which runs are done, running, missing or failed, and why.

    Also say which settings differ from the registered ones, what is wrong with runs that do not
    learn, and what to try.
    """

    out: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """Folder of the results."""

    def named_code(self) -> list[str]:
        """Nothing: the command imports no code of users."""
        return []

    def execute(self, console: "Console") -> int:
        """Print the status, changed settings and health of the runs; return the exit code."""
        from selfpaced.cli.printing import print_health, print_settings, print_status
        from selfpaced.store.status import status

        if not self.out.exists():
            raise ValueError(f"out must be a folder of results; {self.out} does not exist")
        found = status(self.out)
        print_status(found, console)
        print_settings(found, console)
        print_health(found, console)
        return 1 if any(run.damaged for run in found) else 0
