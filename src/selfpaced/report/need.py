"""Whether a curriculum was needed: runs on the target alone beside runs with a curriculum."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from selfpaced.experiments.value_sources import flat
from selfpaced.maths.arrays import Array
from selfpaced.report.data import Group
from selfpaced.report.statistics import bootstrap
from selfpaced.store.health import SOLVED, Finding
from selfpaced.store.status import RunStatus

AS_GOOD = 0.05  # success rate by which a curriculum must be better to count as a help
SEEDS = 3  # that an algorithm must have, to be compared with another where nothing is solved


class Taught(NamedTuple):
    """The finished runs of one algorithm, as far as they are compared here."""

    algorithm: str
    """The algorithm's name."""
    teacher: str
    """The name of the class of its teacher; empty if it has none."""
    success: Array
    """(seeds,): final success rate on the target."""


def solved_alone(members: list[Group]) -> Finding | None:
    """A finding that says that no curriculum was needed; None if one helped, or if nobody knows.

    `members` are the groups of one experiment. Those whose teacher is a `TargetTeacher` have no
    curriculum, and all others are compared with them.
    """
    return unneeded([Taught(g.algorithm, _teacher(g.runs[0].spec), g.success) for g in members])


def unneeded_curricula(runs: list[RunStatus]) -> list[tuple[str, Finding]]:
    """The names of experiments that need no curriculum, judged by finished `runs`, and findings."""
    known: dict[str, dict[str, list[RunStatus]]] = {}
    for run in runs:
        if run.state == "done" and not np.isnan(run.final_success):
            algorithms = known.setdefault(run.spec["experiment"], {})
            algorithms.setdefault(run.spec["algorithm"], []).append(run)
    found = {
        experiment: unneeded(
            [
                Taught(name, _teacher(done[0].spec), np.array([run.final_success for run in done]))
                for name, done in algorithms.items()
            ]
        )
        for experiment, algorithms in known.items()
    }
    return [(name, finding) for name, finding in found.items() if finding is not None]


def unneeded(members: Sequence[Taught]) -> Finding | None:
    """A finding that says that no curriculum was needed by the algorithms of one experiment.

    Either training on the target alone solves it about as well as the best curriculum, or it is
    ahead of every curriculum by more than chance, even though nothing is solved.
    """
    alone = [one for one in members if one.teacher == "TargetTeacher"]
    taught = [one for one in members if one.teacher not in ("", "TargetTeacher")]
    if not alone or not taught:
        return None
    mean, low, high = bootstrap(alone[0].success)
    best = max(taught, key=lambda one: float(np.mean(one.success)))
    other = float(np.mean(best.success))
    shown = (
        f"training on the target alone ends at a success rate of {mean:.2f} "
        f"(95% interval {low:.2f} to {high:.2f}), and the best curriculum, {best.algorithm}, at "
        f"{other:.2f}: "
    )
    if mean >= SOLVED and other - mean <= AS_GOOD:
        return Finding(
            "unneeded",
            shown + "the other contexts are no easier to learn from than the target",
            "no curriculum, or a harder target",
        )
    if low > other and min(len(one.success) for one in (alone[0], *taught)) >= SEEDS:
        return Finding(
            "unneeded",
            shown + "the time that other contexts take is better spent on the target",
            "no curriculum, contexts in which something is easier, or more iterations for all",
        )
    return None


def _teacher(spec: dict[str, Any]) -> str:
    """The name of the class of the teacher in a run's `spec`; empty if it has none."""
    return str(dict(flat(spec.get("config", {}))).get("teacher.type", ""))
