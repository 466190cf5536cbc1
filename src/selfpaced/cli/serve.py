"""`selfpaced serve`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Serve:
    """Show runs in a browser while they go on; the page reloads by itself.

    Only browsers on this machine can open it. To look at a machine elsewhere, forward the port:
    ssh -L 8765:localhost:8765 MACHINE. The command only reads; stop it with Ctrl-C at any time.
    """

    out: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """Folder of the results; it may be empty."""
    port: int = 8765
    """Port of the page on this machine; 0 takes any that is free."""
    refresh: int = 5
    """Seconds after which the page is read again."""

    def named_code(self) -> list[str]:
        """Nothing: the command imports no code of users."""
        return []

    def execute(self, console: "Console") -> int:
        """Serve the page until the command is stopped; return the exit code."""
        from selfpaced.maths.arrays import check_at_least
        from selfpaced.report.live_server import LiveServer

        if not self.out.is_dir():
            raise ValueError(f"out must be a folder of results; {self.out} does not exist")
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port must be from 0 to 65535; got {self.port}")
        with LiveServer(self.out, self.port, check_at_least("refresh", self.refresh, 1)) as server:
            say(console, f"runs in {self.out}: {server.url} (Ctrl-C stops this, not the runs)")
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                say(console, "stopped; the runs go on")
        return 0
