"""A film of one rollout of a stored policy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.experiments import EXPERIMENTS, Experiment, find_experiment
from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.policy import LinearGaussianPolicy, Policy
from selfpaced.report.film import Frames, drawn_frames
from selfpaced.store.experiment_info import read_infos
from selfpaced.store.reading import StoredRun, read_run
from selfpaced.targets.target import central_context
from selfpaced.tasks.mujoco import camera
from selfpaced.types import StepTask, TrajectoryTask


def film_of(
    folder: Path,
    context: Sequence[float] | None = None,
    seed: int = 0,
    *,
    experiment: str | Experiment | None = None,
) -> Frames:
    """Pictures of one rollout of the policy of the finished run in `folder`.

    The task's own `film` makes them, or else its `draw`. `context` is the target's mean if not
    given; `seed` is that of the rollout's randomness; `experiment` is that of the run, or its
    "module:NAME", if it is not a registered one. Raise a ValueError if there is no finished
    run with a policy, or if the task can be neither filmed nor drawn.
    """
    camera.prepare_offscreen()
    task, policy, where = stored_policy_at(folder, context, experiment)
    rng = np.random.default_rng(check_at_least("seed", seed, 0))
    if hasattr(task, "film"):
        return task.film(where, policy, rng)
    if not hasattr(task, "draw"):
        raise ValueError(f"{type(task).__name__} has neither film nor draw: nothing to watch")
    return drawn_frames(task, where, _path(task, where, policy, rng))


def stored_policy_at(
    folder: Path, context: Sequence[float] | None, experiment: str | Experiment | None = None
) -> tuple[Any, Policy, Array]:
    """Task and policy of the finished run in `folder`, and the context (d,) to show.

    The context is the target's mean if none is given. Code that only the stored files name is not
    imported: an `experiment` that is not registered must be given.
    """
    if not (folder / "result.json").exists():
        raise ValueError(f"run must be the folder of a finished run; {folder} is not")
    run = read_run(folder)
    if run.policy is None:
        raise ValueError(f"run must have a policy; the one in {folder} is kept by its own script")
    problem = _experiment_of(run, folder, experiment).built_problem()
    if context is None:
        middle = central_context(problem.target, problem.task.context_space)
        return problem.task, run.policy, middle
    where = problem.task.context_space.check("context", [context])[0]
    return problem.task, run.policy, where


def _experiment_of(run: StoredRun, folder: Path, given: str | Experiment | None) -> Experiment:
    """The experiment of `run`: the one that was `given`, or a registered one."""
    if given is None and run.experiment in EXPERIMENTS:
        return EXPERIMENTS[run.experiment]
    if given is None:
        known = read_infos(folder.absolute().parents[2], run.experiment).get(run.experiment)
        stored = known.reference if known is not None else ""
        raise ValueError(
            f"the run's experiment {run.experiment!r} is not a registered one, and code that only "
            f"a stored file names is not run; name it: --import {stored or 'module:NAME'}"
        )
    found = find_experiment(given)
    if found.name != run.experiment:
        raise ValueError(f"the run is one of {run.experiment!r}; --import names {found.name!r}")
    return found


def _path(task: Any, context: Array, policy: Policy, rng: np.random.Generator) -> Array:
    """(t, d): one trajectory of `policy` at `context` (d,)."""
    by_steps = not isinstance(policy, LinearGaussianPolicy)
    if by_steps and isinstance(task, StepTask):
        return task.simulate_policy(context[None], lambda s: policy.sample(s, rng), rng)[1][0]
    if by_steps or not isinstance(task, TrajectoryTask):
        raise ValueError(f"{type(task).__name__} has no trajectories: nothing to watch")
    theta = policy.sample(context[None], rng, task.theta_space)  # type: ignore[attr-defined]
    return task.trajectories(context[None], theta, rng)[0]
