"""In which settings stored runs differ from the registered configuration, or among themselves."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from selfpaced.experiments import EXPERIMENTS
from selfpaced.store.files import plain
from selfpaced.store.spec import differing_values
from selfpaced.store.status import RunStatus

LONGEST = 60  # characters of a value that are shown


class ChangedSettings(NamedTuple):
    """Settings that some seeds of one algorithm do not have in common with what they should."""

    name: str
    """Experiment and algorithm."""
    seeds: tuple[int, ...]
    """The seeds that have these settings."""
    changes: tuple[str, ...]
    """Each setting with its value and the one that it is compared with, in words."""


def changed_settings(runs: list[RunStatus]) -> list[ChangedSettings]:
    """What differs, for each experiment and algorithm, with the seeds of equal changes together.

    Runs of a registered experiment are compared with its configuration and number of iterations;
    other runs are compared with the first run of the same algorithm. No code of users is imported.
    """
    members: dict[tuple[str, str], list[RunStatus]] = {}
    for run in runs:
        if "config" in run.spec:  # a damaged spec says nothing
            name = str(run.spec["experiment"]), str(run.spec["algorithm"])
            members.setdefault(name, []).append(run)
    found: list[ChangedSettings] = []
    for name, group in members.items():
        seeds_of: dict[tuple[str, ...], list[int]] = {}
        for run, changes in zip(group, _all_changes(*name, group), strict=True):
            seeds_of.setdefault(changes, []).append(int(run.spec["seed"]))
        found += [
            ChangedSettings(" ".join(name), tuple(seeds), changes)
            for changes, seeds in seeds_of.items()
            if changes
        ]
    return found


def _all_changes(
    experiment: str, algorithm: str, runs: list[RunStatus]
) -> Iterator[tuple[str, ...]]:
    """The changes of each run."""
    listed = EXPERIMENTS.get(experiment)
    registered = None if listed is None else listed.algorithms.get(algorithm)
    if listed is None or registered is None:
        first = runs[0].spec
        whose = f"seed {first['seed']}"
        for run in runs:
            yield (
                *_changes(run.spec["config"], first["config"], whose),
                *_changes(run.spec.get("problem"), first.get("problem"), whose, "problem"),
            )
        return
    config = plain(registered)
    iterations = listed.iterations_of(algorithm)
    for run in runs:
        asked = run.iterations or iterations  # 0: nobody has said
        yield (
            *_changes(run.spec["config"], config, "registered"),
            *_changes(asked, iterations, "registered", "iterations"),
        )


def _changes(stored: Any, expected: Any, whose: str, path: str = "") -> Iterator[str]:
    """Each difference in words; of values of two types the types alone."""
    for place, here, there in differing_values(_typed(stored, expected), expected, path):
        yield f"{place} {_short(here)} ({whose}: {_short(there)})"


def _typed(stored: Any, expected: Any) -> Any:
    """`stored`, where every part of another type than in `expected` is replaced by that type."""
    whole: Any = stored
    if isinstance(stored, dict) and isinstance(expected, dict):
        mine, theirs = cast(dict[str, Any], stored), cast(dict[str, Any], expected)
        if mine.get("type") != theirs.get("type"):
            return {**theirs, "type": mine.get("type")}
        return {key: _typed(value, theirs.get(key)) for key, value in mine.items()}
    return whole


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
