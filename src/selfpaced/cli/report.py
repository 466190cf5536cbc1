"""`selfpaced report`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Report:
    """Write one self-contained page with all figures, tables and health checks."""

    paths: Annotated[list[Path], tyro.conf.Positional] = field(
        default_factory=lambda: [Path("runs")]
    )
    """Folders of results, or packed files."""
    out: Path = Path("report.html")
    """File for the page (HTML)."""
    figures: Path | None = None
    """Folder for every figure as PDF, PNG and SVG."""

    imports: Annotated[list[str], tyro.conf.arg(name="import")] = field(
        default_factory=lambda: list[str]()
    )
    """Experiments of your own, module:NAME, whose code may run to draw their tasks."""

    def named_code(self) -> list[str]:
        """The experiments that may be imported: stored files cannot name any."""
        return self.imports

    def execute(self, console: "Console") -> int:
        """Write the page, and the figures if asked for; return the exit code."""
        from selfpaced.report.chapters import chapters_of
        from selfpaced.report.page import page, write_figures

        if not any(path.exists() for path in self.paths):
            raise ValueError(f"no such folder or packed file: {', '.join(map(str, self.paths))}")
        damaged: list[str] = []
        chapters, missing = chapters_of(self.paths, self.imports, damaged)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(page(chapters, missing), encoding="utf-8")
        size = self.out.stat().st_size / 1e6
        text = f"page: {self.out}, {size:.1f} MB, {len(chapters)} experiments"
        say(console, text)
        if self.figures is not None:
            count = write_figures(chapters, self.figures)
            text = f"{count} figures in {self.figures}"
            say(console, text)
        for text in damaged:
            say(console, f"left out: {text}")
        return 1 if damaged else 0
