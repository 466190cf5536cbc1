"""The command line: one command a file, and the only package that prints."""

from selfpaced.cli.main import main

__all__ = ["main"]
