"""Errors of somebody else's code as short text: for a page that goes on, and for failed runs."""

LONGEST = 200  # characters of a line
FRAME = '  File "'  # how a line of a traceback begins that says where


def error_in_one_line(error: BaseException) -> str:
    """Type and message of `error` in one line, cut to at most LONGEST characters."""
    text = " ".join(str(error).split())
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def headline(error: str) -> str:
    """The line of a stored `error` that names its cause.

    Of a traceback it is the line with the last exception; notes that were added to the exception
    stand below it. Of other text it is the last line.
    """
    lines = error.strip().splitlines() or ["unknown"]
    frames = [k for k, line in enumerate(lines) if line.startswith(FRAME)]
    below = (line for line in lines[frames[-1] :] if not line.startswith(" ")) if frames else ()
    return next(iter(below), lines[-1])


def failure_kind(error: str) -> tuple[str, str]:
    """Place and type of the exception in a stored `error`: equal for failures of one kind."""
    frames = [line for line in error.splitlines() if line.startswith(FRAME)]
    return (frames or [""])[-1], headline(error).partition(":")[0]
