"""`selfpaced watch`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Watch:
    """Film one rollout of a finished run's policy (extra: video)."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of the run, such as runs/reacher/sprl/seed-000."""
    out: Path = Path("watch.mp4")
    """The film; a filmstrip is written beside it as a PNG."""
    context: tuple[float, ...] | None = None
    """Context of the rollout; the target's mean if not given."""
    seed: int = 0
    """Seed of the rollout's own randomness."""

    imported: Annotated[str | None, tyro.conf.arg(name="import")] = None
    """The run's experiment as module:NAME, if it is your own: its code films the task."""

    def named_code(self) -> list[str]:
        """The experiment that may be imported: stored files cannot name any."""
        return [] if self.imported is None else [self.imported]

    def execute(self, console: "Console") -> int:
        """Write film and filmstrip; return the exit code."""
        from selfpaced.report.film import write_film
        from selfpaced.report.watch import film_of

        if self.out.suffix != ".mp4":
            raise ValueError(f"out must end in .mp4; got {self.out}")
        film = film_of(self.run, self.context, self.seed, experiment=self.imported)
        count = write_film(film, self.out)
        text = f"film: {self.out}, {count} frames; strip: {self.out.with_suffix('.png')}"
        say(console, text)
        return 0
