"""`selfpaced unpack`."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Unpack:
    """Make a folder of results from packed files, so that finished runs are not repeated."""

    files: Annotated[list[Path], tyro.conf.Positional]
    """Packed files."""
    out: Path = Path("runs")
    """Folder of the results."""

    def named_code(self) -> list[str]:
        """Nothing: the command imports no code of users."""
        return []

    def execute(self, console: "Console") -> int:
        """Write the runs; return the exit code."""
        from selfpaced.maths.archives import DamagedFile
        from selfpaced.store.files import DamageWarning
        from selfpaced.store.packed import restore_store

        if not self.files:
            raise ValueError("files must name at least one packed file; got none")
        for path in self.files:
            try:
                restored, left = restore_store(path, self.out)
            except DamagedFile as error:
                if len(self.files) == 1:
                    raise
                warnings.warn(str(error), DamageWarning, stacklevel=2)
                continue
            text = f"{path}: {restored} runs restored to {self.out}"
            text += f", {left} were there already and are unchanged" if left else ""
            say(console, text)
        return 0
