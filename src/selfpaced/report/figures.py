"""Figures of results: arrays in, Matplotlib figures out. They never load, choose or simulate."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from selfpaced.experiments.experiment import PublishedLevel
from selfpaced.maths.arrays import Array
from selfpaced.report.data import Group, quantiles
from selfpaced.report.statistics import bootstrap, paired
from selfpaced.types import State

# One colour per algorithm in all figures: those of Okabe and Ito and, for teachers, the muted ones
# of Tol. Colour-blind people can tell them apart.
COLOURS = {
    "sprl": "#0072B2",
    "sprl-mastery": "#7B61C9",
    "creps": "#D55E00",
    "cmaes": "#009E73",
    "goalgan": "#CC79A7",
    "saggriac": "#E69F00",
    "ppo": "#56B4E9",
    "threshold": "#332288",
    "alpha": "#88CCEE",
    "mastery": "#AA4499",
    "currot": "#117733",
    "alpgmm": "#999933",
    "plr": "#882255",
    "adr": "#44AA99",
    "doraemon": "#CC6677",
    "uniform": "#AAAAAA",
    "target": "#222222",
    "none": "#DDCC77",
}
OTHER = (  # colours for algorithms that are not listed above
    *("#444444", "#8C6D31", "#7B4173", "#637939", "#C0392B", "#3182BD", "#E6550D", "#1B9E9E"),
    *("#E377C2", "#9E9E9E", "#1F3A93", "#B5BD00"),
)
FARTHEST_LEVEL = 4  # times the longest curve: a published level that lies farther is not drawn
LONGEST_LEGEND = 3  # a legend with more names goes beside the figure, where it hides no curve
NAMES = {  # what figures and tables call an algorithm
    "sprl": "SPRL",
    "sprl-mastery": "SPRL, mastery",
    "creps": "C-REPS",
    "cmaes": "CMA-ES",
    "goalgan": "GoalGAN",
    "saggriac": "SAGG-RIAC",
    "ppo": "PPO",
    "threshold": "SelfPaced threshold",
    "alpha": "SelfPaced alpha",
    "mastery": "SelfPaced mastery",
    "currot": "CurrOT",
    "alpgmm": "ALP-GMM",
    "plr": "PLR",
    "adr": "ADR",
    "doraemon": "DORAEMON",
    "uniform": "uniform contexts",
    "target": "target alone",
    "none": "one context",
}
HEALTH = {  # metrics that tell how a curriculum does, and the titles of their panels
    "success": "success on current contexts",
    "kl_to_target": "KL to the target (nats)",
    "sampled_kl_to_target": "sampled KL to the target (nats)",
    "wasserstein_to_target": "W2 to the target (share of widths)",
    "alpha": "alpha",
    "kl_policy": "realised KL of the policy",
    "ess_policy": "effective samples",
    "entropy": "policy entropy (nats)",
}
LOGARITHMIC = ("kl_to_target", "alpha", "kl_policy")  # metrics on a logarithmic axis


def new_figure(width: float, height: float) -> Any:
    """An empty Matplotlib figure of `width` by `height` inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def name_of(algorithm: str) -> str:
    """What figures and tables call an algorithm; its own name if it is not a known one."""
    return NAMES.get(algorithm, algorithm)


def colours(algorithms: Sequence[str]) -> dict[str, str]:
    """A colour for each algorithm by its name, the same in every figure.

    Where two algorithms of a figure would share a colour, the later name gets the next free one.
    """
    chosen = {name: COLOURS[name] for name in algorithms if name in COLOURS}
    for name in sorted(set(algorithms) - set(chosen)):
        first = zlib.crc32(name.encode()) % len(OTHER)
        turned = OTHER[first:] + OTHER[:first]
        chosen[name] = next((c for c in turned if c not in chosen.values()), turned[0])
    return chosen


def tidy(axes: Any) -> None:
    """Give `axes` a light grid, and remove the upper and the right border."""
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def band(axes: Any, x: Array, values: Array, colour: str, label: str) -> None:
    """Draw the median and the 10%-90% band of `values` (seeds, k) over `x` (k,)."""
    low, middle, high = quantiles(values)
    axes.plot(x, middle, color=colour, label=label, linewidth=1.8)
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def _legend(figure: Any, panels: Iterable[Any], size: float | None = None) -> None:
    """Add a legend to the first panel that has curves, or beside the figure if it is long."""
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        if len(labels) > LONGEST_LEGEND:
            figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=size)
            return
        if labels:
            axes.legend(frameon=False, loc="best", fontsize=size)
            return


def _mark(axes: Any, level: PublishedLevel, *, above: bool) -> None:
    """Draw a published level as a diamond, with its label to the left."""
    place = level.iteration, level.value
    axes.plot(*place, "D", color="black", markerfacecolor="none", markersize=5)
    axes.annotate(
        f"{level.label}: {level.value:g}",
        place,
        (-6, 2 if above else -2),
        textcoords="offset points",
        ha="right",
        va="bottom" if above else "top",
        fontsize=7,
        parse_math=False,
    )


def learning_curves(
    members: list[Group],
    title: str,
    over: str = "iteration",
    published: Sequence[PublishedLevel] = (),
) -> Any:
    """A figure of success rate and reward on the target over iterations, or over "rollouts".

    Levels that others have `published` are marks over iterations.
    """
    figure = new_figure(9 if len(members) <= LONGEST_LEGEND else 11, 3.4)
    success, reward = figure.subplots(1, 2)
    chosen = colours([group.algorithm for group in members])
    for group in members:
        for axes, name in ((success, "target_success"), (reward, "target_reward")):
            x, values = group.curve(name)
            if over == "rollouts" and len(x):
                iterations, rollouts = group.curve("rollouts")
                x = np.interp(x, iterations, np.median(rollouts, axis=0))
            if len(x) and not np.isnan(values).all():
                band(axes, x, values, chosen[group.algorithm], name_of(group.algorithm))
    longest = max((int(run.result["iterations"]) for g in members for run in g.runs), default=0)
    near = [level for level in published if level.iteration <= FARTHEST_LEVEL * longest]
    for i, level in enumerate(near):
        _mark(success if level.metric == "target_success" else reward, level, above=i % 2 == 1)
    success.set(xlabel=over, ylabel="success rate on the target", ylim=(-0.03, 1.03))
    reward.set(xlabel=over, ylabel="reward on the target")
    for axes in (success, reward):
        tidy(axes)
    _legend(figure, (success, reward))
    seeds = sorted({len(group.runs) for group in members})
    if seeds == [1]:
        figure.suptitle(f"{title}: one seed", fontsize=11, parse_math=False)
    else:
        count = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
        figure.suptitle(
            f"{title}: median and 10%-90% of {count} seeds", fontsize=11, parse_math=False
        )
    return figure


def health_curves(members: list[Group], title: str) -> Any | None:
    """A figure of medians of the HEALTH metrics over iterations; None if none was recorded."""
    recorded = {name: [(group, *group.curve(name)) for group in members] for name in HEALTH}
    several = {
        name: [(group, x, values) for group, x, values in curves if len(x) > 1]
        for name, curves in recorded.items()
    }
    # The entropy of CMA-ES's policy, a point, is constant and would squeeze all other curves.
    several["entropy"] = [curve for curve in several["entropy"] if np.ptp(curve[2]) != 0]
    shown = {name: curves for name, curves in several.items() if curves}
    if not shown:
        return None
    columns = 3
    rows = -(-len(shown) // columns)
    figure = new_figure(9 if len(members) <= LONGEST_LEGEND else 10.5, 2.3 * rows + 0.4)
    panels = figure.subplots(rows, columns, squeeze=False)
    chosen = colours([group.algorithm for group in members])
    for axes in panels.flat[len(shown) :]:
        axes.set_visible(False)
    for axes, (name, curves) in zip(panels.flat, shown.items(), strict=False):
        for group, x, values in curves:
            known = ~np.isnan(values).all(axis=0)
            middle = np.nanmedian(values[:, known], axis=0)
            if name in LOGARITHMIC:  # contexts that have arrived have a KL of 0
                middle = np.where(middle > 0, middle, np.nan)
            if np.isnan(middle).all():
                continue
            label = name_of(group.algorithm)
            axes.plot(x[known], middle, color=chosen[group.algorithm], label=label, linewidth=1.4)
        if name in LOGARITHMIC:
            axes.set_yscale("log")
        axes.set_title(HEALTH[name], fontsize=9)
        axes.tick_params(which="both", labelsize=8)
        tidy(axes)
    _legend(figure, panels.flat[: len(shown)], size=7)
    figure.suptitle(
        f"{title}: health of the curriculum, medians over iterations", fontsize=11, parse_math=False
    )
    return figure


def comparison(members: list[Group], title: str) -> Any:
    """A figure of final success rates and rewards, and paired differences to the first group.

    All have 95% bootstrap intervals over the seeds.
    """
    figure = new_figure(9, 0.5 * len(members) + 1.6)
    panels = figure.subplots(1, 3)
    chosen = colours([group.algorithm for group in members])
    places = -np.arange(len(members))
    heads = ("success on the target", "reward on the target", "reward: difference to the first")
    for axes, head in zip(panels, heads, strict=True):
        axes.set_title(head, fontsize=9)
        axes.set_yticks(places, [name_of(group.algorithm) for group in members], fontsize=8)
        axes.set_ylim(-len(members) + 0.4, 0.6)
        axes.tick_params(labelsize=8)
        tidy(axes)
    for place, group in zip(places.tolist(), members, strict=True):
        colour = chosen[group.algorithm]
        for axes, values in zip(panels, (group.success, group.reward), strict=False):
            _interval(axes, place, *bootstrap(values), colour)
            axes.plot(values, np.full(len(values), place - 0.2), "|", color=colour, alpha=0.5)
        if group is not members[0]:
            shared, mean, low, high = paired(group, members[0], "target_reward")
            if shared:
                _interval(panels[2], place, mean, low, high, colour)
    panels[0].set_xlim(-0.03, 1.03)
    panels[2].axvline(0, color="0.6", linewidth=0.8)
    panels[2].set_visible(len(members) > 1)
    for axes in panels[1:]:
        axes.set_yticklabels([])
    figure.suptitle(
        f"{title}: means and 95% bootstrap intervals over seeds", fontsize=11, parse_math=False
    )
    return figure


def _interval(axes: Any, y: float, mean: float, low: float, high: float, colour: str) -> None:
    """Draw a mean as a point, and its interval from `low` to `high` as a bar, at height `y`."""
    axes.plot([low, high], [y, y], color=colour, linewidth=2.5, solid_capstyle="butt")
    axes.plot(mean, y, "o", color=colour, markersize=5)


def final_trajectories(members: list[Group], task: Any, title: str) -> Any | None:
    """A figure of what each algorithm's first run does after training; None without trajectories.

    The task's `draw` draws the trajectories.
    """
    firsts = [
        (group, next((run for run in group.runs if run.trajectories is not None), None))
        for group in members
    ]
    ordered = [(group, run) for group, run in firsts if run is not None]
    if not ordered:
        return None
    figure = new_figure(2.6 * len(ordered) + 0.4, 4.2)
    panels = figure.subplots(1, len(ordered), squeeze=False)[0]
    for axes, (group, run) in zip(panels, ordered, strict=True):
        task.draw(run.contexts.mean(axis=0), run.trajectories, axes)
        success = run.result["target_success"]
        note = "" if np.isnan(success) else f"\nsuccess {success:.2f}"
        axes.set_title(f"{name_of(group.algorithm)}, seed {run.seed}{note}", fontsize=9)
    # Every trajectory has its own context, but only the scene of the mean context is drawn: where
    # the target is broad, a trajectory may pass through a gate that the figure does not show.
    head = (
        f"{title}: final trajectories\nat ten contexts of the target, over the scene of their mean"
    )
    figure.suptitle(head, fontsize=10, parse_math=False)
    return figure


def landscape(land: State) -> Any:
    """A figure of how a reward depends on one quantity, and of what happens there.

    It has a column for each of the "heads" (c,): above, "paths" (c, k, t, 2); below, "rewards"
    (c, m) over the quantity "varied" (m,), which "label" names. A task may add marks above:
    "points" (n, 2), "lines" (c, n, 2, 2) from one point to another, and "limits" (2, 2) of x and y.
    """
    heads = [str(head) for head in land["heads"]]
    figure = new_figure(9, 4.6)
    panels = figure.subplots(2, len(heads), sharey="row", squeeze=False)
    for column, head in enumerate(heads):
        above, below = panels[:, column]
        for path in land["paths"][column]:
            above.plot(path[:, 0], path[:, 1], linewidth=0.8, color="#0072B2", alpha=0.6)
        for line in land["lines"][column] if "lines" in land else ():
            above.plot(*line.T, linewidth=2, color="0.35", solid_capstyle="butt")
        for point in land.get("points", ()):
            above.plot(*point, "x", color="crimson")
        if "limits" in land:
            above.set(xlim=land["limits"][0], ylim=land["limits"][1])
        above.set_title(head, fontsize=9, parse_math=False)
        below.plot(land["varied"], land["rewards"][column], color="#D55E00", linewidth=1.4)
        below.set_xlabel(str(land["label"]), fontsize=9, parse_math=False)
        for axes in (above, below):
            axes.tick_params(labelsize=8)
            tidy(axes)
    panels[0, 0].set_ylabel("trajectories", fontsize=9)
    panels[1, 0].set_ylabel("reward", fontsize=9)
    return figure
