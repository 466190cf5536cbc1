"""Figures: arrays in, Matplotlib axes out. They never load, choose or simulate."""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.report.data import Group, quantiles

# Okabe and Ito's colours, which colour-blind people can tell apart; one per algorithm, everywhere.
COLOURS = {
    "sprl": "#0072B2",
    "creps": "#D55E00",
    "cmaes": "#009E73",
    "goalgan": "#CC79A7",
    "saggriac": "#E69F00",
    "ppo": "#56B4E9",
}
OTHER = "#444444"
NAMES = {
    "sprl": "SPRL",
    "creps": "C-REPS",
    "cmaes": "CMA-ES",
    "goalgan": "GoalGAN",
    "saggriac": "SAGG-RIAC",
    "ppo": "PPO",
}


def band(axes: Any, x: Array, values: Array, algorithm: str) -> None:
    """Median and 10%-90% band of `values` (seeds, k) over x (k,)."""
    low, middle, high = quantiles(values)
    colour = COLOURS.get(algorithm, OTHER)
    axes.plot(x, middle, color=colour, label=NAMES.get(algorithm, algorithm), linewidth=1.8)
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def learning_curves(members: list[Group], title: str) -> Any:
    """A figure of success and reward on the target over the iterations of one experiment."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(9, 3.4), layout="constrained")
    success, reward = figure.subplots(1, 2)
    for group in members:
        for axes, name in ((success, "target_success"), (reward, "target_reward")):
            x, values = group.curve(name)
            if len(x) and not np.isnan(values).all():
                band(axes, x, values, group.algorithm)
    success.set(xlabel="iteration", ylabel="success rate on the target", ylim=(-0.03, 1.03))
    reward.set(xlabel="iteration", ylabel="reward on the target")
    for axes in (success, reward):
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    if success.get_legend_handles_labels()[0]:
        success.legend(frameon=False, loc="best")
    seeds = sorted({len(group.runs) for group in members})
    count = " and ".join(str(n) for n in seeds)
    figure.suptitle(f"{title}: median and 10%-90% of {count} seeds", fontsize=11)
    return figure


def final_trajectories(members: list[Group], task: Any, title: str) -> Any | None:
    """A figure of what each algorithm's first run does in the end, drawn by the task's `draw`.

    None where no run has trajectories.
    """
    from matplotlib.figure import Figure

    shown = [
        (group, run) for group in members for run in group.runs if run.trajectories is not None
    ]
    first = {group.algorithm: (group, run) for group, run in reversed(shown)}
    if not first:
        return None
    ordered = [first[group.algorithm] for group in members if group.algorithm in first]
    figure: Any = Figure(figsize=(2.6 * len(ordered) + 0.4, 4.2), layout="constrained")
    panels = figure.subplots(1, len(ordered), squeeze=False)[0]
    for axes, (group, run) in zip(panels, ordered, strict=True):
        task.draw(run.contexts.mean(axis=0), run.trajectories, axes)
        name = NAMES.get(group.algorithm, group.algorithm)
        success = run.result["target_success"]
        note = "" if np.isnan(success) else f"\nsuccess {success:.2f}"
        axes.set_title(f"{name}, seed {run.seed}{note}", fontsize=9)
    figure.suptitle(f"{title}: final trajectories on the target", fontsize=11)
    return figure
