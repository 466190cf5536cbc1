"""An error of somebody else's code as one line of text, so that a page can show it and go on."""

LONGEST = 200  # characters of a line


def error_in_one_line(error: BaseException) -> str:
    """Type and message of `error` in one line, cut to at most LONGEST characters."""
    text = " ".join(str(error).split())
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
