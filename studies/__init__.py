"""Experiments behind docs/beyond-the-paper.md, kept out of the library."""
