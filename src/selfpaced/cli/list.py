"""`selfpaced list`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class List:
    """Show the experiments and their algorithms."""

    def named_code(self) -> list[str]:
        """Nothing: the command imports no code of users."""
        return []

    def execute(self, console: "Console") -> int:
        """Print the registry; return the exit code."""
        from selfpaced.cli.printing import print_columns
        from selfpaced.experiments import EXPERIMENTS

        rows = [("experiment", "what it is", "iterations", "algorithms")]
        rows += [
            (name, found.title, str(found.iterations), ", ".join(found.algorithms))
            for name, found in EXPERIMENTS.items()
        ]
        print_columns(rows, console)
        return 0
