"""Tasks, teachers, learners and experiments of other packages, found by their entry points.

A package offers them in its pyproject.toml, and they are known once it is installed:

    [project.entry-points."selfpaced.teachers"]
    widening = "my_package.widening:WIDENING"

where WIDENING is a configuration at the top of the module. Learners are configurations, too, and
experiments are objects `Experiment`. A task is a class, or a function, that makes it when it is
called without arguments.

Names are read from the packages' metadata. The code behind a name is imported when somebody asks
for this name, or for the list of all names. Stored files never cause an import.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from selfpaced.names import checked_name, named

Kind = Literal["tasks", "teachers", "learners", "experiments"]


@dataclass(frozen=True)
class Plugin:
    """One object that an installed package offers under a name."""

    kind: Kind
    """What it is; the entry point's group is "selfpaced." and this word."""
    name: str
    """The name that people type."""
    package: str
    """Name and version of the package that offers it."""
    entry: EntryPoint
    """Where the object is."""

    def load(self) -> Any:
        """Import the object; raise a ValueError that names the package if that fails."""
        what = f"{self.name!r} of the package {self.package} ({self.entry.value})"
        try:
            checked_name(self.name)
            found = self.entry.load()
        except Exception as error:  # another package's module may raise anything
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{self.kind}: {what} could not be loaded; {reason}") from error
        if isinstance(found, type) and self.kind != "tasks":
            raise ValueError(
                f"{self.kind}: {what} must be an object such as a configuration, not a class; "
                f"got {found!r}"
            )
        missing = [word for word in _METHODS[self.kind] if not hasattr(found, word)]
        if missing or (self.kind == "tasks" and not callable(found)):
            rule = _RULES[self.kind]
            raise ValueError(f"{self.kind}: {what} must be {rule}; got {found!r}")
        return found


_METHODS: dict[Kind, tuple[str, ...]] = {
    "tasks": (),
    "teachers": ("start",),
    "learners": ("start",),
    "experiments": ("built_problem", "algorithms"),
}
_RULES: dict[Kind, str] = {
    "tasks": "a class or a function that makes a task",
    "teachers": "a teacher's configuration with a method `start`",
    "learners": "an algorithm's configuration with a method `start`",
    "experiments": "an Experiment",
}


def plugins(kind: Kind) -> list[Plugin]:
    """What installed packages offer of this `kind`, by name; nothing of it is imported."""
    found = [
        Plugin(kind, entry.name, f"{entry.dist.name} {entry.dist.version}", entry)
        for entry in entry_points(group=f"selfpaced.{kind}")
        if entry.dist is not None
    ]
    return sorted(set(found), key=lambda plugin: (plugin.name, plugin.package))


def registered(kind: Kind, name: str, known: Mapping[str, Any]) -> Any:
    """The object called `name`: one of the `known` ones, or one that an installed package offers.

    Raise a ValueError with a suggestion if there is none, or if two packages offer the name. The
    `known` objects come first: no package can take the name of one of them.
    """
    offered = [] if name in known else plugins(kind)
    named(kind[:-1], name, [*known, *(found.name for found in offered)])
    if name in known:
        return known[name]
    chosen = [found for found in offered if found.name == name]
    if len(chosen) > 1:
        packages = " and ".join(found.package for found in chosen)
        raise ValueError(f"{kind}: {name!r} is offered by {packages}; uninstall one of them")
    return chosen[0].load()
