"""A stored policy at work, as pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.network import NetworkPolicy
from selfpaced.maths.policy import Policy
from selfpaced.report.film import Frames, drawn
from selfpaced.store import read_run
from selfpaced.sweep import find_experiment
from selfpaced.tasks import offscreen
from selfpaced.types import StepTask, TrajectoryTask


def film_of(folder: Path, context: Sequence[float] | None = None, seed: int = 0) -> Frames:
    """One rollout of the policy of the finished run in `folder`, picture by picture.

    By the task's own `film`, or else by its `draw`. `context`: the target's mean if not given.
    """
    if not (folder / "result.json").exists():
        raise ValueError(f"run must be the folder of a finished run; {folder} is none")
    offscreen.prepare()
    run, rng = read_run(folder), np.random.default_rng(seed)
    problem = find_experiment(run.experiment).problem()
    task: Any = problem.task
    where = problem.target.mean
    if context is not None:
        where = task.context_space.check("context", [context])[0]
    if hasattr(task, "film"):
        return task.film(where, run.policy, rng)
    if not hasattr(task, "draw"):
        raise ValueError(f"{type(task).__name__} has neither film nor draw: nothing to watch")
    return drawn(task, where, _path(task, where, run.policy, rng))


def _path(task: Any, context: Array, policy: Policy, rng: np.random.Generator) -> Array:
    """(t, d): one trajectory of `policy`."""
    if isinstance(policy, NetworkPolicy) and isinstance(task, StepTask):
        return task.follow(context[None], lambda seen: policy.sample(seen, rng))[1][0]
    if isinstance(policy, NetworkPolicy) or not isinstance(task, TrajectoryTask):
        raise ValueError(f"{type(task).__name__} has no trajectories: nothing to watch")
    theta = policy.sample(context[None], rng, task.theta_space)  # type: ignore[attr-defined]
    return task.trajectories(context[None], theta, rng)[0]
