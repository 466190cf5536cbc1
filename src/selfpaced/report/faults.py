"""What somebody else's code raised, in one line: a figure may fail, a page may not."""

LONGEST = 200  # characters of a line


def in_a_line(error: BaseException) -> str:
    """Type and text of `error`, cut where it is long."""
    text = " ".join(str(error).split())
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
