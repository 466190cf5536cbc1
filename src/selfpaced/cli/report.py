"""`selfpaced report`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Report:
    """Write one self-contained page with all figures, tables and health checks."""

    imports_users_code: ClassVar[bool] = True
    """True: the current folder is put on the import path, so that a user's task can be drawn."""

    paths: Annotated[list[Path], tyro.conf.Positional] = field(
        default_factory=lambda: [Path("runs")]
    )
    """Folders of results, or packed files."""
    out: Path = Path("report.html")
    """File for the page (HTML)."""
    figures: Path | None = None
    """Folder for every figure as PDF, PNG and SVG."""

    def execute(self, console: "Console") -> int:
        """Write the page, and the figures if asked for; return the exit code."""
        from selfpaced.report.chapters import chapters_of
        from selfpaced.report.page import page, write_figures

        if not any(path.exists() for path in self.paths):
            raise ValueError(f"no such folder or packed file: {', '.join(map(str, self.paths))}")
        chapters, missing = chapters_of(self.paths)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(page(chapters, missing), encoding="utf-8")
        size = self.out.stat().st_size / 1e6
        text = f"page: {self.out}, {size:.1f} MB, {len(chapters)} experiments"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        if self.figures is not None:
            count = write_figures(chapters, self.figures)
            text = f"{count} figures in {self.figures}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        return 0
