"""Algorithms by the name that people type, beyond those that an experiment lists itself."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from selfpaced.experiments.plugin_registry import plugins, registered
from selfpaced.names import named
from selfpaced.teachers import TEACHERS
from selfpaced.types import Algorithm


def algorithm_called(name: str, listed: Mapping[str, Algorithm]) -> Algorithm:
    """The algorithm called `name` for an experiment that lists the algorithms `listed`.

    It is one of these; a learner that another package offers; or one of these with another teacher,
    "creps-currot" for `creps` with the teacher `currot`. Raise a ValueError with a suggestion if it
    is none of them.
    """
    if name in listed:
        return listed[name]
    learners = [offered.name for offered in plugins("learners")]
    for base, config in listed.items():
        teacher = name.removeprefix(f"{base}-")
        if teacher != name and name not in learners and _has_teacher(config):
            return _with_teacher(config, registered("teachers", teacher, TEACHERS))
    named("algorithm", name, [*listed, *learners])
    return registered("learners", name, {})


def _has_teacher(config: Any) -> bool:
    """True if the configuration has a field for the teacher that chooses contexts."""
    return dataclasses.is_dataclass(config) and hasattr(config, "teacher")


def _with_teacher(config: Any, teacher: Any) -> Any:
    return dataclasses.replace(config, teacher=teacher)
