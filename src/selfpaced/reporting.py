"""From stores and packed files to the chapters of a page."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from selfpaced.experiments import Experiment
from selfpaced.experiments.setting import Setting
from selfpaced.report.data import groups, settings, stored_runs
from selfpaced.report.faults import in_a_line
from selfpaced.report.page import Chapter
from selfpaced.scene import SUFFIX, read_scene
from selfpaced.sweep import find_experiment, status
from selfpaced.types import State


def chapters_of(paths: Sequence[Path]) -> tuple[list[Chapter], list[str]]:
    """A chapter for each experiment in `paths`, and in words what is missing."""
    missing = [f"There is no {path}." for path in paths if not path.exists()]
    there = [path for path in paths if path.exists()]
    with warnings.catch_warnings(record=True) as damaged:
        warnings.simplefilter("always")
        runs = stored_runs(*there)
        known = settings(runs, *there)
    missing += [str(warning.message) for warning in damaged]
    members = groups(runs)
    unfinished = _unfinished(there)
    chapters: list[Chapter] = []
    for name in dict.fromkeys(group.experiment for group in members):
        notes = unfinished.pop(name, [])
        chapters.append(
            Chapter(
                known[name],
                [group for group in members if group.experiment == name],
                _scene(name, there, missing),
                *_imported(known[name], notes),
                notes,
            )
        )
    missing += [f"{name}: {note}" for name, notes in unfinished.items() for note in notes]
    if not chapters:
        missing.append("There are no finished runs here yet.")
    return chapters, missing


def _unfinished(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Runs that were asked for and are not done, in words, by experiment."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for run in status(path) if path.is_dir() else []:
            if run.state != "done":
                where = f"iteration {run.iteration} of {run.iterations}"
                why = f": {(run.error or '').strip().splitlines()[-1]}" if run.error else ""
                name = f"{run.spec['algorithm']} seed {run.spec['seed']}"
                note = f"{name} is {run.state}, {where}{why}"
                found.setdefault(str(run.spec["experiment"]), []).append(note)
    return found


def _scene(name: str, paths: Sequence[Path], missing: list[str]) -> State | None:
    """The scene of an experiment beside its results, if somebody has computed it."""
    for path in paths:
        file = (path if path.is_dir() else path.parent) / f"{name}{SUFFIX}"
        if file.exists():
            try:
                return read_scene(file)
            except ValueError as error:
                missing.append(f"{error}; compute it again with selfpaced scene.")
    return None


def _imported(setting: Setting, notes: list[str]) -> tuple[Experiment | None, Any | None]:
    """The experiment and its task, where they can be had; `notes` learn why not."""
    experiment = task = None
    if setting.reference:
        try:
            experiment = find_experiment(setting.reference)
            task = experiment.problem().task
        except (Exception, SystemExit) as error:  # somebody else's module may do anything
            what = "imported" if experiment is None else "made"
            notes.append(
                f"{setting.reference} could not be {what}, so that its task is not drawn: "
                f"{in_a_line(error)}"
            )
    return experiment, task
