"""The commands that reproduce stored runs."""

import re
import shlex
from typing import Any, cast

from selfpaced.experiments import EXPERIMENTS, Experiment
from selfpaced.experiments.override import override
from selfpaced.experiments.value_sources import flat
from selfpaced.report.data import Group
from selfpaced.store.experiment_info import ExperimentInfo
from selfpaced.store.files import plain

OPTION = re.compile(r"[a-z][\w-]*")  # algorithm names that can be part of an option


def commands_of(
    members: list[Group], info: ExperimentInfo, experiment: Experiment | None
) -> list[str]:
    """The commands that reproduce these runs; comments name what no option can set.

    `members` are groups of one experiment. Without the `experiment` itself it is not
    known which fields of a configuration were changed, so the commands change none.
    """
    commands: list[str] = []
    reference = info.reference or info.name
    if reference not in EXPERIMENTS and not info.reference and experiment is None:
        return ["# These runs were made by a program of their own; no command reproduces them."]
    for group in members:
        words = ["selfpaced", "run", reference, "--algorithms", group.algorithm]
        words += ["--seeds", _seeds([run.seed for run in group.runs])]
        lengths = {int(run.result["iterations"]) for run in group.runs}
        registered = experiment.iterations_of(group.algorithm) if experiment else info.iterations
        if lengths != {registered}:
            words += ["--iterations", str(max(lengths))]
        options, others = _overrides(group, experiment)
        commands.append(shlex.join([*words, *options]))
        if others:
            commands.append(f"# and these values, which no option can set: {', '.join(others)}")
    return commands


def _overrides(group: Group, experiment: Experiment | None) -> tuple[list[str], list[str]]:
    """Options for fields that differ from the experiment's, and fields that no option can set."""
    if experiment is None or group.algorithm not in experiment.algorithms:
        return [], []
    config: Any = experiment.algorithms[group.algorithm]
    options: list[str] = []
    others: list[str] = []
    for path, value in flat(group.runs[0].spec.get("config", {})):
        if _holds(config, path, value):
            continue
        text = _as_option(value)
        changed = _changed(config, path, text)
        if _holds(changed, path, value) and OPTION.fullmatch(group.algorithm):
            config = changed
            options += [f"--{group.algorithm}.{path}", text]
        else:
            others.append(f"{path} {value!r}")
    return options, others


def _as_option(value: Any) -> str:
    """A value of a spec as the command line takes it."""
    return ",".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value)


def _holds(config: Any, path: str, value: Any) -> bool:
    """True if the field of `config` at the dotted `path` has the `value` that a spec gives."""
    known = dict(flat(plain(config)))
    return path in known and known[path] == value


def _changed(config: Any, path: str, text: str) -> Any:
    """`config` as the command line would change it; unchanged where it would refuse."""
    try:
        return override(config, path, text)
    except Exception:  # a user's own configuration may raise anything
        return config


def _seeds(seeds: list[int]) -> str:
    """Seeds as the command line takes them: a count, a range or a list."""
    ordered = sorted(seeds)
    if ordered == list(range(len(ordered))):
        return str(len(ordered))
    first, last = ordered[0], ordered[-1]
    if ordered == list(range(first, last + 1)):
        return f"{first}-{last}"
    return ",".join(str(seed) for seed in ordered)
