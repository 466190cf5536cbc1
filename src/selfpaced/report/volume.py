"""Figures for targets that are uniform over the whole space: which contexts, and how many of them.

A range of contexts is drawn as mean -+ sqrt(3) standard deviations, which are the ends of a uniform
distribution with that mean and standard deviation.
"""

from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.report.data import Group
from selfpaced.report.figures import band, colours, name_of, new_figure, tidy
from selfpaced.store.experiment_info import ExperimentInfo
from selfpaced.store.reading import StoredRun
from selfpaced.targets.uniform import Uniform

COLUMNS = 3  # panels in a row


def is_whole_space(info: ExperimentInfo) -> bool:
    """True if the target is uniform over all contexts: the whole domain shall be mastered."""
    target = info.target
    return (
        isinstance(target, Uniform)
        and np.array_equal(target.low, info.low)
        and np.array_equal(target.high, info.high)
    )


def context_ranges(run: StoredRun, info: ExperimentInfo) -> tuple[Array, Array, Array]:
    """Iterations (k,) with recorded contexts, and the lower and upper ends (k, d) of their range.

    Ends outside of the space are moved to its bounds.
    """
    known = [record for record in run.records if "context_mean" in record]
    iterations = np.array([record["iteration"] for record in known], dtype=float)
    means = np.array([record["context_mean"] for record in known], dtype=float)
    covariances = np.array([record["context_covariance"] for record in known], dtype=float)
    d = len(info.low)
    means, covariances = means.reshape(-1, d), covariances.reshape(-1, d, d)
    half = np.sqrt(3 * np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    low, high = (np.clip(means + side * half, info.low, info.high) for side in (-1, 1))
    return iterations, low, high


def width_practised(run: StoredRun, info: ExperimentInfo) -> tuple[Array, Array]:
    """Iterations (k,), and the share (k,) of a dimension's width that contexts cover.

    It is the geometric mean over the dimensions, so that its d-th power is the share of the volume.
    """
    iterations, low, high = context_ranges(run, info)
    shares = (high - low) / (info.high - info.low)
    with np.errstate(divide="ignore"):  # a single context has no width
        return iterations, np.exp(np.log(shares).mean(axis=1))


def volume_curves(members: list[Group], info: ExperimentInfo) -> Any | None:
    """A figure of the width practised and of the volume mastered; None without contexts.

    The volume mastered is the success rate on the target, because the target is the whole space.
    """
    figure = new_figure(9, 3.4)
    practised, mastered = figure.subplots(1, 2)
    chosen = colours([group.algorithm for group in members])
    for group in members:
        colour, label = chosen[group.algorithm], name_of(group.algorithm)
        curves = [width_practised(run, info) for run in group.runs]
        shortest = min(len(x) for x, _ in curves)
        if shortest:
            values = np.array([y[:shortest] for _, y in curves])
            band(practised, curves[0][0][:shortest], values, colour, label)
        x, values = group.curve("target_success")
        if len(x) and not np.isnan(values).all():
            band(mastered, x, values, colour, label)
    practised.set(ylabel="share of each width practised", ylim=(-0.03, 1.03))
    mastered.set(ylabel="share of the volume mastered", ylim=(-0.03, 1.03))
    for axes in (practised, mastered):
        axes.set_xlabel("iteration")
        tidy(axes)
    practised.legend(frameon=False, fontsize=7, loc="best")
    figure.suptitle(f"{info.title}: volume", fontsize=11, parse_math=False)
    return figure


def range_curves(members: list[Group], info: ExperimentInfo) -> Any:
    """A figure of the range of contexts over iterations, first seed, one panel per dimension."""
    d = len(info.low)
    rows = -(-d // COLUMNS)
    figure = new_figure(9, 2.3 * rows + 0.4)
    panels = figure.subplots(rows, min(d, COLUMNS), squeeze=False).flat
    chosen = colours([group.algorithm for group in members])
    for group in members:
        iterations, low, high = context_ranges(group.runs[0], info)
        for k, axes in enumerate(panels[:d]):
            look = {"color": chosen[group.algorithm], "linewidth": 1.3}
            axes.plot(iterations, low[:, k], label=name_of(group.algorithm), **look)
            axes.plot(iterations, high[:, k], **look)
    for k, axes in enumerate(panels):
        axes.set_visible(k < d)
        if k < d:
            margin = 0.03 * (info.high[k] - info.low[k])
            axes.set(ylim=(info.low[k] - margin, info.high[k] + margin))
            axes.set_title(info.context_names[k], fontsize=9, parse_math=False)
            tidy(axes)
    panels[0].legend(frameon=False, fontsize=7, loc="best")
    figure.suptitle(
        f"{info.title}: range of the contexts over iterations", fontsize=11, parse_math=False
    )
    return figure
