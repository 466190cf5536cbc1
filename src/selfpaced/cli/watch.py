"""`selfpaced watch`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Watch:
    """Film one rollout of a finished run's policy (extra: video)."""

    imports_users_code: ClassVar[bool] = True
    """True: the current folder is put on the import path, so that module:NAME can be imported."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of the run, such as runs/reacher/sprl/seed-000."""
    out: Path = Path("watch.mp4")
    """The film; a filmstrip is written beside it as a PNG."""
    context: tuple[float, ...] | None = None
    """Context of the rollout; the target's mean if not given."""
    seed: int = 0
    """Seed of the rollout's own randomness."""

    def execute(self, console: "Console") -> int:
        """Write film and filmstrip; return the exit code."""
        from selfpaced.report.film import write_film
        from selfpaced.report.watch import film_of

        if self.out.suffix != ".mp4":
            raise ValueError(f"out must end in .mp4; got {self.out}")
        count = write_film(film_of(self.run, self.context, self.seed), self.out)
        text = f"film: {self.out}, {count} frames; strip: {self.out.with_suffix('.png')}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return 0
