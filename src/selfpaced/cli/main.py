"""The entry point of `selfpaced`: parses the command line and turns errors into sentences."""

import os
import re
import shlex
import sys
import warnings
from typing import TYPE_CHECKING, Annotated

import tyro

from selfpaced.cli.export import Export
from selfpaced.cli.list import List
from selfpaced.cli.pack import Pack
from selfpaced.cli.report import Report
from selfpaced.cli.run import Run
from selfpaced.cli.scene import Scene
from selfpaced.cli.speech import say
from selfpaced.cli.status import Status
from selfpaced.cli.table import Table
from selfpaced.cli.unpack import Unpack
from selfpaced.cli.watch import Watch

if TYPE_CHECKING:
    from rich.console import Console

Command = (
    Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Status, tyro.conf.subcommand("status")]
    | Annotated[Table, tyro.conf.subcommand("table")]
    | Annotated[Pack, tyro.conf.subcommand("pack")]
    | Annotated[Unpack, tyro.conf.subcommand("unpack")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Watch, tyro.conf.subcommand("watch")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Scene, tyro.conf.subcommand("scene")]
)
OVERRIDE = re.compile(r"--([a-z][\w-]*)\.([\w.-]+)(?:=(.*))?$")


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `selfpaced`; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    rest, overrides = split_overrides(words)
    command = tyro.cli(
        Command,  # type: ignore[arg-type]  # a union of dataclasses is what tyro takes
        prog="selfpaced",
        description="Self-paced curricula for contextual reinforcement learning.",
        args=rest,
        config=(tyro.conf.OmitSubcommandPrefixes,),
    )
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
