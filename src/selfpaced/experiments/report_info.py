"""What reports must know of an experiment, taken from the experiment itself."""

from selfpaced.experiments.experiment import Experiment
from selfpaced.maths.box import Box
from selfpaced.names import checked_context_names
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
    names = checked_context_names(getattr(problem.task, "context_names", None), box.dimension)
    return ExperimentInfo(
        name=experiment.name,
        title=experiment.title,
        reference=reference,
        iterations=experiment.iterations,
        evolution=experiment.evolution or evenly(experiment.iterations),
        context_names=names or numbered_contexts(box.dimension),
        low=box.low,
        high=box.high,
        target=problem.target,
        space=None if type(box) is Box else box,
        infeasible=infeasible_in(box),
    )
