"""`selfpaced export`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Export:
    """Write finished runs for other programs."""

    paths: Annotated[list[Path], tyro.conf.Positional] = field(
        default_factory=lambda: [Path("runs")]
    )
    """Folders of results, or packed files."""
    tensorboard: Path | None = None
    """Folder for TensorBoard event files, one folder per run."""
    mlflow: Path | None = None
    """Folder for MLflow's file store, with one MLflow run per run."""
    trajectory: Path | None = None
    """File (.csv) for the movement that one run has learned, to be played on a robot."""
    context: tuple[float, ...] | None = None
    """Context of the movement; the target's mean if not given."""
    frequency: float = 500.0
    """Set points of the movement per second."""
    speed: float = 1.0
    """Speed of the movement relative to the learned one; 0.5 takes twice as long."""

    imported: Annotated[str | None, tyro.conf.arg(name="import")] = None
    """The run's experiment as module:NAME, if it is your own: its code makes the movement."""

    def named_code(self) -> list[str]:
        """The experiment that may be imported: stored files cannot name any."""
        return [] if self.imported is None else [self.imported]

    def execute(self, console: "Console") -> int:
        """Write what was asked for; return the exit code."""
        if self.tensorboard is None and self.mlflow is None and self.trajectory is None:
            raise ValueError(
                "export needs a format: --tensorboard FOLDER, --mlflow FOLDER or "
                "--trajectory FILE.csv"
            )
        if self.trajectory is not None:
            self._write_trajectory(self.trajectory, console)
        if self.tensorboard is not None:
            self._write_events(self.tensorboard, console)
        if self.mlflow is not None:
            self._write_mlflow(self.mlflow, console)
        return 0

    def _write_trajectory(self, path: Path, console: "Console") -> None:
        from selfpaced.report.movement import write_movement

        if len(self.paths) != 1:
            raise ValueError(f"--trajectory takes the folder of one run; got {len(self.paths)}")
        written = write_movement(
            self.paths[0],
            path,
            context=self.context,
            frequency=self.frequency,
            speed=self.speed,
            experiment=self.imported,
        )
        rescored = "".join(f", {name} {rate:.2f}" for name, rate in written.rescored.items())
        say(
            console,
            f"{path}: {written.set_points} set points, {written.fastest_joint} up to "
            f"{written.speed:.2f} rad/s; success of the run {written.success:.2f}{rescored}",
        )
        for text in written.warnings():
            say(console, f"warning: {text}")

    def _write_events(self, folder: Path, console: "Console") -> None:
        from selfpaced.report.data import stored_runs
        from selfpaced.report.tensorboard import write_events

        count = write_events(stored_runs(*self.paths), folder)
        text = f"{count} runs; see them with: tensorboard --logdir {folder}"
        say(console, text)

    def _write_mlflow(self, folder: Path, console: "Console") -> None:
        from selfpaced.report.data import stored_runs
        from selfpaced.report.mlflow_store import ALLOWED, write_mlflow

        count = write_mlflow(stored_runs(*self.paths), folder)
        command = f"{ALLOWED}=true mlflow ui --backend-store-uri {folder}"
        say(console, f"{count} runs; see them with: {command}")
