"""`selfpaced table`."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Table:
    """Print the table of finished runs."""

    paths: Annotated[list[Path], tyro.conf.Positional] = field(
        default_factory=lambda: [Path("runs")]
    )
    """Folders of results, or packed files."""
    format: Literal["text", "csv", "json"] = "text"
    """text is for people, csv and json are for programs, where inf means never reached."""

    def named_code(self) -> list[str]:
        """Nothing: the command imports no code of users."""
        return []

    def execute(self, console: "Console") -> int:
        """Print the table; return the exit code."""
        from selfpaced.cli.printing import print_table, text_table
        from selfpaced.report.data import groups, stored_runs

        members = groups(stored_runs(*self.paths, for_tables=True))
        if self.format != "text":
            sys.stdout.write(text_table(members, self.format))
        elif members:
            print_table(members, console)
        else:
            raise ValueError(f"no finished runs in {', '.join(map(str, self.paths))}")
        return 0
