"""What reports must know of an experiment, taken from the experiment itself."""

from collections.abc import Iterable
from typing import Any, cast

from selfpaced.experiments.experiment import Experiment
from selfpaced.maths.box import Box
from selfpaced.store.experiment_info import (
    ExperimentInfo,
    evenly,
    infeasible_in,
    numbered_contexts,
)


def info_of(experiment: Experiment, reference: str = "") -> ExperimentInfo:
    """The info of `experiment`, which can be imported by `reference`."""
    problem = experiment.built_problem()
    box = problem.task.context_space
    return ExperimentInfo(
        name=experiment.name,
        title=experiment.title,
        reference=reference,
        iterations=experiment.iterations,
        evolution=experiment.evolution or evenly(experiment.iterations),
        context_names=_context_names(problem.task, box.dimension),
        low=box.low,
        high=box.high,
        target=problem.target,
        space=None if type(box) is Box else box,
        infeasible=infeasible_in(box),
    )


def _context_names(task: Any, dimension: int) -> tuple[str, ...]:
    """The task's names of the context dimensions; numbered ones if it has no names."""
    names = getattr(task, "context_names", None)
    if names is None:
        return numbered_contexts(dimension)
    one_each = isinstance(names, Iterable) and not isinstance(names, str)
    listed: list[Any] = list(cast(Iterable[Any], names)) if one_each else []
    if len(listed) != dimension or not all(isinstance(name, str) for name in listed):
        raise ValueError(
            f"context_names must be a tuple with one name per dimension of a context, here "
            f"{dimension}; got {names!r}"
        )
    return tuple(listed)
