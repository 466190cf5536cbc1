"""The command line, one command per file. No other package prints."""

from selfpaced.cli.main import main

__all__ = ["main"]
