"""A stored policy at work: as pictures, and as a movement for a robot."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from selfpaced.files import write_atomically
from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.network import NetworkPolicy
from selfpaced.maths.policy import Policy
from selfpaced.report.film import Frames, drawn
from selfpaced.store import read_run, read_settings
from selfpaced.sweep import find_experiment
from selfpaced.tasks import offscreen
from selfpaced.types import StepTask, TrajectoryTask


def film_of(folder: Path, context: Sequence[float] | None = None, seed: int = 0) -> Frames:
    """One rollout of the policy of the finished run in `folder`, picture by picture.

    By the task's own `film`, or else by its `draw`. `context`: the target's mean if not given.
    """
    offscreen.prepare()
    task, policy, where = _opened(folder, context)
    rng = np.random.default_rng(check_at_least("seed", seed, 0))
    if hasattr(task, "film"):
        return task.film(where, policy, rng)
    if not hasattr(task, "draw"):
        raise ValueError(f"{type(task).__name__} has neither film nor draw: nothing to watch")
    return drawn(task, where, _path(task, where, policy, rng))


class Movement(NamedTuple):
    """What was written for a robot."""

    set_points: int
    fastest_joint: str
    speed: float  # the largest of that joint, in rad/s
    success: float  # of the run, on the target
    rescored: float | None  # in the task's truer version, if it has one


def write_movement(
    folder: Path,
    out: Path,
    *,
    context: Sequence[float] | None = None,
    frequency: float = 500.0,
    speed: float = 1.0,
) -> Movement:
    """Write the mean movement that the run in `folder` has learned as CSV.

    One line per set point: the time, then position and velocity of every joint. The folder of
    `out` is made if need be. A movement unlike all that were ever tried is an error.
    """
    task, policy, where = _opened(folder, context)
    if not hasattr(task, "movement") or isinstance(policy, NetworkPolicy):
        raise ValueError(f"{type(task).__name__} has no movement to write")
    theta = policy.mean(where)
    if not task.theta_space.contains(theta):
        raise ValueError(
            f"context must be one where the policy stays in the bounds of theta; at "
            f"{where.tolist()} it extrapolates to {np.abs(theta).max():.3g}"
        )
    times, positions, velocities = task.movement(theta, frequency, speed)
    names = [f"{kind}_{joint}" for kind in ("position", "velocity") for joint in task.joint_names]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", *names])
    for row in np.column_stack([times, positions, velocities]):
        writer.writerow([f"{value:.9g}" for value in row])
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, text.getvalue().encode())
    speeds, result = np.abs(velocities).max(axis=0), read_run(folder).result
    fastest = int(speeds.argmax())
    return Movement(
        *(len(times), task.joint_names[fastest], float(speeds[fastest])),
        *(float(result.get("target_success", np.nan)), result.get("rescored_success")),
    )


def _opened(folder: Path, context: Sequence[float] | None) -> tuple[Any, Policy, Array]:
    """Task and policy of the finished run in `folder`, and the context to show."""
    if not (folder / "result.json").exists():
        raise ValueError(f"run must be the folder of a finished run; {folder} is none")
    run = read_run(folder)
    if run.policy is None:
        raise ValueError(f"run must have a policy; the one in {folder} is kept by its own script")
    known = read_settings(folder.absolute().parents[2]).get(run.experiment)
    reference = run.experiment if known is None else known.reference or run.experiment
    problem = find_experiment(reference).problem()
    if context is None:
        return problem.task, run.policy, problem.target.mean
    where = problem.task.context_space.check("context", [context])[0]
    return problem.task, run.policy, where


def _path(task: Any, context: Array, policy: Policy, rng: np.random.Generator) -> Array:
    """(t, d): one trajectory of `policy`."""
    if isinstance(policy, NetworkPolicy) and isinstance(task, StepTask):
        return task.follow(context[None], lambda seen: policy.sample(seen, rng))[1][0]
    if isinstance(policy, NetworkPolicy) or not isinstance(task, TrajectoryTask):
        raise ValueError(f"{type(task).__name__} has no trajectories: nothing to watch")
    theta = policy.sample(context[None], rng, task.theta_space)  # type: ignore[attr-defined]
    return task.trajectories(context[None], theta, rng)[0]
