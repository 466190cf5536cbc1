"""Collects from folders of runs and packed files what each chapter of a page shows."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from selfpaced.experiments import EXPERIMENTS, Experiment, find_experiment
from selfpaced.report.data import groups, infos, stored_runs
from selfpaced.report.error_text import error_in_one_line, headline
from selfpaced.report.page import Chapter
from selfpaced.report.scene import SUFFIX, read_scene
from selfpaced.store.experiment_info import ExperimentInfo
from selfpaced.store.files import DamageWarning
from selfpaced.store.status import status
from selfpaced.types import State


def chapters_of(
    paths: Sequence[Path], imports: Sequence[str] = (), damaged: list[str] | None = None
) -> tuple[list[Chapter], list[str]]:
    """One chapter per experiment in `paths`, and sentences that say what is missing.

    `paths` are folders of runs or packed files. A path that does not exist, a run that is not
    finished or has damaged results, and a damaged scene are no errors: the sentences name them.
    Of experiments that are not registered, only those that `imports` names as "module:NAME" are
    imported: stored files never decide which code runs. What is damaged is also added to
    `damaged`.
    """
    missing = [f"{path} does not exist." for path in paths if not path.exists()]
    there = [path for path in paths if path.exists()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # of packages that a task loads
        runs = stored_runs(*there)
        known = infos(runs, *there)
        unfinished = _unfinished(there)
    missing += dict.fromkeys(str(warning.message) for warning in caught)
    if damaged is not None:
        kinds = {str(w.message): w.category for w in caught}
        damaged += [text for text, kind in kinds.items() if issubclass(kind, DamageWarning)]
    members = groups(runs)
    imported = _imported(imports, missing)
    chapters: list[Chapter] = []
    for name in dict.fromkeys(group.experiment for group in members):
        if name not in known:
            continue  # nothing says what its contexts are, and a warning has said so
        notes = unfinished.pop(name, [])
        scene = _scene(name, there, missing)
        experiment, task = _made(known[name], imported, imports, notes)
        chapters.append(
            Chapter(
                info=known[name],
                members=[group for group in members if group.experiment == name],
                scene=scene,
                experiment=experiment,
                task=task,
                missing=notes,
            )
        )
    missing += [f"{name}: {note}" for name, notes in unfinished.items() for note in notes]
    if not chapters:
        missing.append("There are no finished runs here yet.")
    return chapters, missing


def _unfinished(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Sentences about runs that were asked for and are not finished, by experiment."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for run in status(path) if path.is_dir() else []:
            if run.state != "done":
                where = f"iteration {run.iteration} of {run.iterations}"
                why = f": {headline(run.error)}" if run.error else ""
                name = f"{run.spec['algorithm']} seed {run.spec['seed']}"
                note = f"{name} is {run.state}, {where}{why}"
                found.setdefault(str(run.spec["experiment"]), []).append(note)
    return found


def _scene(name: str, paths: Sequence[Path], missing: list[str]) -> State | None:
    """The scene stored beside the results of an experiment, if any; damage goes to `missing`."""
    for path in paths:
        file = (path if path.is_dir() else path.parent) / f"{name}{SUFFIX}"
        if file.exists():
            try:
                return read_scene(file)
            except ValueError as error:
                missing.append(f"{error}; compute it again with selfpaced scene.")
    return None


def _imported(references: Sequence[str], missing: list[str]) -> dict[str, Experiment]:
    """The experiments that `references` name, by their names; errors go to `missing`."""
    found: dict[str, Experiment] = {}
    for reference in references:
        try:
            experiment = find_experiment(reference)
            found[experiment.name] = experiment
        except (Exception, SystemExit) as error:  # a user's module may raise anything
            missing.append(f"{reference} could not be imported: {error_in_one_line(error)}")
    return found


def _made(
    info: ExperimentInfo,
    imported: dict[str, Experiment],
    tried: Sequence[str],
    notes: list[str],
) -> tuple[Experiment | None, Any | None]:
    """The experiment and its task; None for what cannot be made, and the reason goes to `notes`."""
    experiment = imported.get(info.name, EXPERIMENTS.get(info.name))
    if experiment is None:
        if info.reference and info.reference not in tried:
            notes.append(
                f"Its task is not drawn: that needs the code of {info.reference}, which is only "
                f"run if you ask for it with --import {info.reference}"
            )
        return None, None
    try:
        return experiment, experiment.built_problem().task
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        notes.append(
            f"{info.reference} could not be made, so that its task is not drawn: "
            f"{error_in_one_line(error)}"
        )
        return experiment, None
