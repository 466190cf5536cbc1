"""The entry point of `selfpaced`: parses the command line and turns errors into sentences."""

import difflib
import os
import re
import shlex
import sys
import textwrap
import warnings
from typing import TYPE_CHECKING, Protocol

import tyro

from selfpaced.cli.export import Export
from selfpaced.cli.list import List
from selfpaced.cli.pack import Pack
from selfpaced.cli.report import Report
from selfpaced.cli.run import Run
from selfpaced.cli.scene import Scene
from selfpaced.cli.serve import Serve
from selfpaced.cli.speech import say
from selfpaced.cli.status import Status
from selfpaced.cli.table import Table
from selfpaced.cli.unpack import Unpack
from selfpaced.cli.watch import Watch

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS: "dict[str, type[Command]]" = {
    "list": List,
    "run": Run,
    "status": Status,
    "serve": Serve,
    "table": Table,
    "pack": Pack,
    "unpack": Unpack,
    "export": Export,
    "watch": Watch,
    "report": Report,
    "scene": Scene,
}
OVERRIDE = re.compile(r"--([a-z][\w-]*)\.([\w.-]+)(?:=(.*))?$")


class Command(Protocol):
    """What a command line is parsed into: a dataclass whose fields are the command's options."""

    def named_code(self) -> list[str]:
        """References `module:NAME` to code of users, which the command imports."""
        ...

    def execute(self, console: "Console") -> int:
        """Do it; return the exit code."""
        ...


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `selfpaced`; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0 if words else 2
    rest, overrides = split_overrides(words)
    name = rest[0] if rest else words[0]
    if name not in COMMANDS:
        print(f"error: {unknown_command(name)}", file=sys.stderr)
        return 2
    command = tyro.cli(COMMANDS[name], prog=f"selfpaced {name}", args=rest[1:])
    from rich.console import Console

    console, errors = Console(), Console(stderr=True)

    damaged: list[str] = []

    def warn(message: Warning | str, kind: type[Warning], *_: object) -> None:
        if kind.__name__ == "DamageWarning":  # whose module need not be loaded to print help
            damaged.append(str(message))
        else:
            say(errors, f"warning: {message}")

    warnings.showwarning = warn
    try:
        code = _execute(command, overrides, console)
        for text in damaged:
            say(errors, f"left out: {text}")
        return code or (1 if damaged else 0)
    except ValueError as error:
        _complain(errors, str(error))
        return 2
    except ModuleNotFoundError as error:
        _complain(errors, _missing(error))
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        file = f" ({error.filename})" if error.filename else ""
        _complain(errors, f"{error.strerror or error}{file}")
        return 1
    except KeyboardInterrupt:
        again = shlex.join(["selfpaced", *words])
        text = f"stopped; runs that were under way have a checkpoint. To continue:\n  {again}"
        say(errors, text)
        return 130


def overview() -> str:
    """Every command with the first sentence of its docstring.

    Written here, because collecting the options of all commands to print none of them costs more
    than the rest of the program's start.
    """
    width = max(map(len, COMMANDS)) + 4
    lines: list[str] = []
    for name, command in COMMANDS.items():
        summary = (command.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        lines += textwrap.wrap(
            re.sub(" +", " ", summary),
            width=80,
            initial_indent=f"  {name}".ljust(width),
            subsequent_indent=" " * width,
        )
    commands = "\n".join(lines)
    return f"""usage: selfpaced COMMAND [OPTIONS]

Self-paced curricula for contextual reinforcement learning.

commands:
{commands}

`selfpaced COMMAND --help` shows the options of a command."""


def unknown_command(name: str) -> str:
    """The sentence that says that there is no such command, and which one may be meant."""
    close = difflib.get_close_matches(name, COMMANDS, n=1)
    meant = f"did you mean `{close[0]}`?" if close else f"commands are {', '.join(COMMANDS)}"
    return f"selfpaced has no command {name!r}; {meant}"


def split_overrides(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Separate the options that change an algorithm's configuration from the other `words`.

    ["--seeds", "5", "--sprl.epsilon", "0.3"] gives ["--seeds", "5"], {"sprl.epsilon": "0.3"}.
    """
    rest: list[str] = []
    overrides: dict[str, str] = {}
    remaining = iter(words)
    for word in remaining:
        if match := OVERRIDE.match(word):
            algorithm, path, text = match.groups()
            path = path.replace("-", "_")  # as the other options are written
            overrides[f"{algorithm}.{path}"] = next(remaining, "") if text is None else text
        else:
            rest.append(word)
    return rest, overrides


def _execute(command: Command, overrides: dict[str, str], console: "Console") -> int:
    if isinstance(command, Run):
        command.overrides = overrides
    elif overrides:
        raise ValueError(
            f"only `run` takes fields of an algorithm's configuration; got {', '.join(overrides)}"
        )
    named = any(":" in reference for reference in command.named_code())
    if named and os.getcwd() not in sys.path:  # module:NAME may be in the current folder
        sys.path.append(os.getcwd())  # last, so that it hides no installed module
    return command.execute(console)


def _complain(errors: "Console", text: str) -> None:
    errors.print("error:", style="red", end=" ")
    say(errors, text)


def _missing(error: ModuleNotFoundError) -> str:
    from selfpaced.experiments.optional_packages import EXTRAS, how_to_install

    package = (error.name or "").partition(".")[0]
    return how_to_install(package) if package in EXTRAS else str(error)
