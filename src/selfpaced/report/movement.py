"""A learned movement as a file of set points for a robot."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from selfpaced.experiments import Experiment
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.report.watch import stored_policy_at
from selfpaced.store.files import write_atomically
from selfpaced.store.reading import read_run

HOLDS = 0.1  # a movement holds in another model if its success rate falls by no more than this


class Movement(NamedTuple):
    """Summary of a movement that was written for a robot."""

    set_points: int
    """Set points in the file, one per line."""
    fastest_joint: str
    """Name of the joint that moves fastest."""
    speed: float
    """Its largest speed, in rad/s."""
    success: float
    """The run's success rate on the target."""
    rescored: dict[str, float]
    """The same in each of the problem's `final_tasks`, by name."""
    model: str
    """The model in which the movement was learned: the task's name."""

    def warnings(self) -> list[str]:
        """One sentence for each of the `final_tasks` in which the movement does not hold."""
        return [
            f"the movement does not hold in {name}: success {rate:.2f} there, {self.success:.2f} "
            f"in the model it was learned in, {self.model}"
            for name, rate in self.rescored.items()
            if not rate >= self.success - HOLDS
        ]


def write_movement(
    folder: Path,
    out: Path,
    *,
    context: Sequence[float] | None = None,
    frequency: float = 500.0,
    speed: float = 1.0,
    experiment: str | Experiment | None = None,
) -> Movement:
    """Write the mean movement that the run in `folder` has learned to the CSV file `out`.

    Lines that begin with "#" name the model in which the movement was learned and the run's
    success rates; then comes a line of column names. Then one line per set point: the time in
    seconds, then position and velocity of every joint.
    `context` is the target's mean if not given, `frequency` is in set points per second, and a
    `speed` of 0.5 is half as fast as learned. `experiment` is that of the run, if it is not a
    registered one. A missing folder is made. Raise a ValueError if the policy's parameters at
    `context` are outside the bounds of what may be tried.
    """
    task, policy, where = stored_policy_at(folder, context, experiment)
    if not hasattr(task, "movement") or not isinstance(policy, LinearGaussianPolicy):
        raise ValueError(f"{type(task).__name__} has no movement to write")
    theta = policy.mean(where)
    if not task.theta_space.contains(theta):
        raise ValueError(
            f"context must be one where the policy stays in the bounds of theta; at "
            f"{where.tolist()} it extrapolates to {np.abs(theta).max():.3g}"
        )
    times, positions, velocities = task.movement(theta, frequency, speed)
    names = [f"{kind}_{joint}" for kind in ("position", "velocity") for joint in task.joint_names]
    run = read_run(folder)
    model = str(run.spec.get("problem", {}).get("task", type(task).__name__))
    success = float(run.result.get("target_success", np.nan))
    ends = ("rescored_", "_success")
    rescored = {
        key.removeprefix(ends[0]).removesuffix(ends[1]): float(value)
        for key, value in run.result.items()
        if key.startswith(ends[0]) and key.endswith(ends[1])
    }
    text = io.StringIO()
    text.write(f"# learned in {model}; success {success:.2f}\n")
    for name, rate in rescored.items():
        text.write(f"# {name}: success {rate:.2f}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", *names])
    for row in np.column_stack([times, positions, velocities]):
        writer.writerow([f"{value:.9g}" for value in row])
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, text.getvalue().encode())
    speeds = np.abs(velocities).max(axis=0)
    fastest = int(speeds.argmax())
    return Movement(
        set_points=len(times),
        fastest_joint=task.joint_names[fastest],
        speed=float(speeds[fastest]),
        success=success,
        rescored=rescored,
        model=model,
    )
