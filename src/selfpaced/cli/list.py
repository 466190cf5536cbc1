"""`selfpaced list`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selfpaced.cli.speech import say

if TYPE_CHECKING:
    from rich.console import Console

    from selfpaced.experiments import Experiment
    from selfpaced.experiments.plugin_registry import Kind

OURS = "selfpaced"


@dataclass
class List:
    """Show the experiments with their algorithms, the teachers and the tasks.

    Those that other installed packages offer are listed, too, with the package's name.
    """

    def named_code(self) -> list[str]:
        """Nothing: the command imports no code that the user has named."""
        return []

    def execute(self, console: "Console") -> int:
        """Print the registries; return 1 if something of another package cannot be loaded."""
        from selfpaced.cli.printing import print_columns
        from selfpaced.experiments import EXPERIMENTS
        from selfpaced.tasks import TASKS
        from selfpaced.teachers import TEACHERS

        broken: list[str] = []
        experiments = _with_plugins("experiments", EXPERIMENTS, broken)
        rows = [("experiment", "what it is", "iterations", "algorithms", "from")]
        rows += [
            (name, found.title, _lengths(found), ", ".join(found.algorithms), package)
            for name, found, package in experiments
        ]
        print_columns(rows, console)
        tables: dict[Kind, dict[str, Any]] = {"teachers": TEACHERS, "learners": {}, "tasks": TASKS}
        for kind, ours in tables.items():
            found = _with_plugins(kind, ours, broken)
            if found:
                console.print()
                rows = [(kind[:-1], "what it is", "from")]
                rows += [(name, _first_line(part), package) for name, part, package in found]
                print_columns(rows, console)
        console.print()
        say(
            console,
            "Any teacher can choose the contexts of an algorithm that takes one: "
            "selfpaced run gate-precision --algorithms creps-currot",
            "dim",
        )
        for text in broken:
            say(console, f"left out: {text}", "red")
        return 1 if broken else 0


def _with_plugins(
    kind: "Kind", ours: dict[str, Any], broken: list[str]
) -> list[tuple[str, Any, str]]:
    """Name, object and package of everything of a `kind`; what cannot be used goes to `broken`."""
    from selfpaced.experiments.plugin_registry import plugins

    found = [(name, part, OURS) for name, part in ours.items()]
    for offered in plugins(kind):
        try:
            if any(offered.name == name for name, _, _ in found):
                raise ValueError(
                    f"{kind}: {offered.name!r} of the package {offered.package} has a name that "
                    "is taken"
                )
            found.append((offered.name, offered.load(), offered.package))
        except ValueError as error:
            broken.append(str(error))
    return found


def _first_line(part: Any) -> str:
    """The first line of the docstring of a class, or of an object's class."""
    maker = getattr(part, "func", part)  # of a `functools.partial`
    return (maker.__doc__ or "").strip().partition("\n")[0]


def _lengths(experiment: "Experiment") -> str:
    """Iterations of a run, such as "250, sprl-mastery 600"."""
    own = [f"{name} {length}" for name, length in experiment.own_iterations.items()]
    return ", ".join([str(experiment.iterations), *own])
