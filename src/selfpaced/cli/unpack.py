"""`selfpaced unpack`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Unpack:
    """Make a folder of results from packed files, so that finished runs are not repeated."""

    imports_users_code: ClassVar[bool] = False
    """The command imports none of the user's code, so that the import path stays as it is."""

    files: Annotated[list[Path], tyro.conf.Positional]
    """Packed files."""
    out: Path = Path("runs")
    """Folder of the results."""

    def execute(self, console: "Console") -> int:
        """Write the runs; the exit code."""
        from selfpaced.store.packed import restore_store

        for path in self.files:
            restored, left = restore_store(path, self.out)
            text = f"{path}: {restored} runs restored to {self.out}"
            text += f", {left} left as they were there" if left else ""
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        return 0
