"""Whether a curriculum was needed: runs on the target alone beside runs with a curriculum."""

from typing import Any

import numpy as np

from selfpaced.experiments.value_sources import flat
from selfpaced.report.data import Group
from selfpaced.report.statistics import bootstrap
from selfpaced.store.health import SOLVED, Finding

AS_GOOD = 0.05  # success rate by which a curriculum must be better to count as a help


def solved_alone(members: list[Group]) -> Finding | None:
    """A finding that says that no curriculum was needed; None if one helped, or if nobody knows.

    `members` are the groups of one experiment. Those whose teacher is a `TargetTeacher` have no
    curriculum, and all others are compared with them.
    """
    alone = [group for group in members if _teacher(group) == "TargetTeacher"]
    taught = [group for group in members if _teacher(group) not in ("", "TargetTeacher")]
    if not alone or not taught:
        return None
    mean, low, high = bootstrap(alone[0].success)
    best = max((float(np.mean(group.success)), group.algorithm) for group in taught)
    if not mean >= SOLVED or not best[0] - mean <= AS_GOOD:
        return None
    return Finding(
        "unneeded",
        f"training on the target alone ends at a success rate of {mean:.2f} "
        f"(95% interval {low:.2f} to {high:.2f}), and the best curriculum, {best[1]}, at "
        f"{best[0]:.2f}: the other contexts are no easier to learn from than the target",
        "no curriculum, or a harder target",
    )


def _teacher(group: Group) -> str:
    """The name of the class of an algorithm's teacher; empty if it has none."""
    fields: dict[str, Any] = dict(flat(group.runs[0].spec.get("config", {})))
    return str(fields.get("teacher.type", ""))
