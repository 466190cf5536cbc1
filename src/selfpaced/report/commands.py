"""The commands that make stored runs again."""

import re
import shlex
from typing import Any, cast

from selfpaced.experiments import Experiment
from selfpaced.experiments.override import override
from selfpaced.experiments.setting import Setting
from selfpaced.experiments.sources import flat
from selfpaced.files import plain
from selfpaced.report.data import Group

OPTION = re.compile(r"[a-z][\w-]*")  # names of algorithms that the command line takes in options


def commands_of(members: list[Group], setting: Setting, experiment: Experiment | None) -> list[str]:
    """The commands that make these runs again, and as comments what they leave out.

    Without the `experiment` nobody knows which numbers were changed.
    """
    commands: list[str] = []
    reference = setting.reference or setting.name
    for group in members:
        words = ["selfpaced", "run", reference, "--algorithms", group.algorithm]
        words += ["--seeds", _seeds([run.seed for run in group.runs])]
        lengths = {int(run.result["iterations"]) for run in group.runs}
        if lengths != {setting.iterations}:
            words += ["--iterations", str(max(lengths))]
        options, others = _overrides(group, experiment)
        commands.append(shlex.join([*words, *options]))
        if others:
            commands.append(f"# and what no option sets: {', '.join(others)}")
    return commands


def _overrides(group: Group, experiment: Experiment | None) -> tuple[list[str], list[str]]:
    """Options for the numbers that differ from the experiment's, and those no option can set."""
    if experiment is None or group.algorithm not in experiment.algorithms:
        return [], []
    numbers: Any = experiment.algorithms[group.algorithm]
    options: list[str] = []
    others: list[str] = []
    for path, value in flat(group.runs[0].spec.get("numbers", {})):
        if _holds(numbers, path, value):
            continue
        text = _as_option(value)
        changed = _changed(numbers, path, text)
        if _holds(changed, path, value) and OPTION.fullmatch(group.algorithm):
            numbers = changed
            options += [f"--{group.algorithm}.{path}", text]
        else:
            others.append(f"{path} {value!r}")
    return options, others


def _as_option(value: Any) -> str:
    """A number of a spec as the command line takes it."""
    return ",".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)


def _holds(numbers: Any, path: str, value: Any) -> bool:
    """Whether the number at the dotted `path` is `value`, as a spec has it."""
    known = dict(flat(plain(numbers)))
    return path in known and known[path] == value


def _changed(numbers: Any, path: str, text: str) -> Any:
    """`numbers` as the command line would change them; as they are where it would refuse."""
    try:
        return override(numbers, path, text)
    except Exception:  # a user's own numbers may refuse in any way
        return numbers


def _seeds(seeds: list[int]) -> str:
    """Seeds as the command line takes them: a count, or ranges."""
    ordered = sorted(seeds)
    if ordered == list(range(len(ordered))):
        return str(len(ordered))
    first, last = ordered[0], ordered[-1]
    if ordered == list(range(first, last + 1)):
        return f"{first}-{last}"
    return ",".join(str(seed) for seed in ordered)
