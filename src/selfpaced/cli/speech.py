"""How commands print: text as it is, whatever characters are in it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def say(console: "Console", text: str, style: str | None = None) -> None:
    """Print `text` as it is: brackets are no markup, and control characters command nothing."""
    from selfpaced.maths.archives import harmless  # loads NumPy, which help does without

    console.print(harmless(text), style=style, markup=False, highlight=False, soft_wrap=True)
