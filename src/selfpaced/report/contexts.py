"""Figures of contexts: where a curriculum was, and what the task looks like there."""

from typing import Any, NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.gaussian import Gaussian
from selfpaced.report.figures import new_figure, tidy
from selfpaced.spaces import Categories, Product
from selfpaced.store.experiment_info import ExperimentInfo, target_points
from selfpaced.store.reading import StoredRun
from selfpaced.types import AnyArray, Record

DEVIATIONS = 2.0  # standard deviations from the mean to an ellipse
REACH = 4.0  # standard deviations from the mean beyond which no density is drawn
POINTS = 81  # points of a curve
NARROWEST = 0.002  # least standard deviation that can be seen, as a share of the box's width
RUG = 0.035  # height of one record's row of short lines, as a share of a density's height
FRAMES = 80  # iterations that a slider shows, at most
BINS = 40  # bins of a histogram
MOST_NAMES = 12  # categories that an axis can name
PALETTE = ("#fde725", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154")  # first to last
TARGET = "#D55E00"  # colour of the target
NOT_PLAYED: dict[str, dict[str, Any]] = {  # look of contexts that cannot be played
    "cannot be played": {"color": "0.75", "markersize": 3, "markeredgewidth": 0.6},
    "refused": {"color": "0.25", "markersize": 4, "markeredgewidth": 0.9},
}
ABOVE = 1.04  # height at which they are drawn above densities, which end at 1


def ellipse(mean: Array, covariance: Array) -> tuple[Array, Array]:
    """x and y (POINTS,) of the ellipse at DEVIATIONS around a two-dimensional Gaussian."""
    angles = np.linspace(0, 2 * np.pi, POINTS)
    x, y = mean[:, None] + _axes(covariance) @ np.stack([np.cos(angles), np.sin(angles)])
    return x, y


def _axes(covariance: Array) -> Array:
    """(2, 2): the half-axes of the ellipse at DEVIATIONS around a Gaussian, as columns."""
    values, vectors = np.linalg.eigh(covariance)
    return DEVIATIONS * vectors * np.sqrt(np.maximum(values, 0))


def density(mean: float, deviation: float, low: float, high: float) -> tuple[Array, Array]:
    """x and y (POINTS,) of a Gaussian's density between `low` and `high`.

    y is a share of the density's maximum: heights differ too much to be compared, shapes do not.
    """
    deviation = max(deviation, NARROWEST * (high - low))
    x = np.clip(mean + deviation * np.linspace(-REACH, REACH, POINTS), low, high)
    return x, np.exp(-0.5 * ((x - mean) / deviation) ** 2)


def shown_records(run: StoredRun, info: ExperimentInfo) -> list[Record]:
    """The records of `run` nearest to the iterations at which figures show the contexts."""
    known = [record for record in run.records if "context_mean" in record]
    nearest = [
        min(known, key=lambda record: abs(record["iteration"] - wanted))
        for wanted in (info.evolution if known else ())
    ]
    return list({record["iteration"]: record for record in nearest}.values())


def sample_of(record: Record, dimension: int) -> Array | None:
    """(k, dimension): recorded contexts of a batch; None where a Gaussian describes them."""
    if "context_sample" not in record:
        return None
    return np.array(record["context_sample"], dtype=float).reshape(-1, dimension)


def not_played(record: Record, info: ExperimentInfo) -> dict[str, Array]:
    """Contexts (k, d) that cannot be played, by what figures call them.

    Those that the space excludes were known before; those that the task or the environment has
    refused until this `record` were found out.
    """
    refused = np.array(record.get("context_refused", []), dtype=float).reshape(-1, len(info.low))
    excluded = refused[:0] if info.infeasible is None else info.infeasible
    both = {"cannot be played": excluded, "refused": refused}
    return {name: contexts for name, contexts in both.items() if len(contexts)}


def evolution(run: StoredRun, info: ExperimentInfo, title: str) -> Any | None:
    """A figure of the contexts at some iterations, with the target; None without contexts.

    Two context dimensions are drawn as ellipses, or as points where no Gaussian describes the
    contexts. Otherwise each dimension has a panel of densities, with such points as short lines
    below them. In one or two dimensions crosses show what cannot be played.
    """
    records = shown_records(run, info)
    if not records:
        return None
    colours = [PALETTE[i * len(PALETTE) // len(records)] for i in range(len(records))]
    dimension = len(info.low)
    if dimension == 2:
        figure = new_figure(5.4 if not_played(records[-1], info) else 4.6, 3.6)
        _places(figure.subplots(), records, colours, info)
    else:
        figure = new_figure(min(9.0, 3.2 * dimension + 1.2), 3.0)
        panels = figure.subplots(1, dimension, squeeze=False)[0]
        for k, axes in enumerate(panels):
            _densities(axes, k, records, colours, info)
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside right center",
            frameon=False,
            fontsize=7,
        )
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


def _places(axes: Any, records: list[Record], colours: list[str], info: ExperimentInfo) -> None:
    """Draw contexts of two dimensions as ellipses or points, and the target as an ellipse."""
    for record, colour in zip(records, colours, strict=True):
        label = f"iteration {record['iteration']}"
        sample = sample_of(record, 2)
        if sample is not None:
            look = {"markersize": 4.5, "markeredgecolor": "0.35", "markeredgewidth": 0.4}
            axes.plot(*sample.T, "o", color=colour, label=label, **look)
            continue
        x, y = ellipse(np.array(record["context_mean"]), np.array(record["context_covariance"]))
        axes.fill(x, y, facecolor=colour, alpha=0.45, edgecolor=colour, label=label)
    crosses = not_played(records[-1], info)
    for name, contexts in crosses.items():
        axes.plot(*contexts.T, "x", label=name, zorder=0, **NOT_PLAYED[name])
    _target_place(axes, info, label="target")
    margin = 0.03 * (info.high - info.low)
    _frame(axes, info, margin)
    if crosses:  # they are everywhere, so no place inside is free
        axes.figure.legend(loc="outside right center", frameon=False, fontsize=7)
    else:
        axes.legend(frameon=False, fontsize=7, loc="best")


def _target_place(axes: Any, info: ExperimentInfo, label: str | None = None) -> None:
    """Draw a target of two dimensions: a Gaussian as an ellipse, any other as points."""
    target = info.target
    if isinstance(target, Gaussian):
        axes.plot(*ellipse(target.mean, target.covariance), color=TARGET, lw=1.6)
        axes.plot(*target.mean, "+", color=TARGET, label=label)
        return
    look = {"color": TARGET, "markersize": 2.5, "alpha": 0.5, "markeredgewidth": 0}
    axes.plot(*target_points(info).T, "o", label=label, **look)


def histogram(points: Array, low: float, high: float) -> tuple[Array, Array]:
    """x and y of a curve of steps, the share of `points` (n,) in each of BINS bins.

    y is a share of the highest bin, as `density` is of its maximum.
    """
    counts, edges = np.histogram(points, bins=BINS, range=(low, high))
    return np.repeat(edges, 2)[1:-1], np.repeat(counts / max(counts.max(), 1), 2)


def _densities(
    axes: Any, k: int, records: list[Record], colours: list[str], info: ExperimentInfo
) -> None:
    """Draw the densities of context dimension `k`, and single contexts as short lines below."""
    ends = float(info.low[k]), float(info.high[k])
    for row, (record, colour) in enumerate(zip(records, colours, strict=True)):
        x, y = density(record["context_mean"][k], record["context_covariance"][k][k] ** 0.5, *ends)
        label = f"iteration {record['iteration']}"
        sample = sample_of(record, len(info.low))
        if sample is None:
            axes.fill_between(x, y, color=colour, alpha=0.35, linewidth=0, label=label)
        else:  # not Gaussian: the curve only has the contexts' mean and variance
            axes.plot(x, y, color=colour, linewidth=1, label=label)
            axes.vlines(sample[:, k], -(row + 1) * RUG, -row * RUG, color=colour, linewidth=1.2)
    below = RUG * len(records) if any("context_sample" in record for record in records) else 0.0
    target = info.target
    if isinstance(target, Gaussian):
        curve = density(float(target.mean[k]), float(target.covariance[k, k]) ** 0.5, *ends)
    else:
        curve = histogram(target_points(info)[:, k], *ends)
    axes.plot(*curve, color=TARGET, lw=1.6, label="target")
    if len(info.low) == 1:  # with more dimensions, no single one says what cannot be played
        for name, contexts in not_played(records[-1], info).items():
            heights = np.full(len(contexts), ABOVE)
            axes.plot(contexts[:, 0], heights, "x", label=name, **NOT_PLAYED[name])
    axes.set(xlim=ends, yticks=[], ylim=(-below, 1.08))
    axes.set_xlabel(info.context_names[k], parse_math=False)
    _name_categories(axes.set_xticks, k, info)
    tidy(axes)


def _name_categories(set_ticks: Any, k: int, info: ExperimentInfo) -> None:
    """Write the names of categories at the axis of context dimension `k`, if it has a few."""
    parts = info.space.parts if isinstance(info.space, Product) else (info.space,)
    columns = [part for part in parts if part is not None for _ in range(part.dimension)]
    part = columns[k] if columns else None
    if isinstance(part, Categories) and len(part.names) <= MOST_NAMES:
        set_ticks(range(len(part.names)), labels=part.names)


def _frame(axes: Any, info: ExperimentInfo, margin: Array) -> None:
    """Set limits and labels of `axes` to the context box of two dimensions and its names."""
    low, high = info.low - margin, info.high + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_xlabel(info.context_names[0], parse_math=False)
    axes.set_ylabel(info.context_names[1], parse_math=False)
    _name_categories(axes.set_xticks, 0, info)
    _name_categories(axes.set_yticks, 1, info)
    tidy(axes)


def sample_tasks(
    contexts: Array,
    info: ExperimentInfo,
    pictures: AnyArray | None,
    task: Any,
    path: tuple[int, ...] = (1, 2),
) -> Any:
    """A figure of the task at `contexts` (k, d), by `pictures` (k, h, w, 3) or the task's `draw`.

    `draw` gets no trajectories here, but an array (0, *path), where `path` is the shape (t, d) of
    one trajectory. For two context dimensions, a first panel marks where the contexts are.
    """
    places = len(info.low) == 2
    count = len(contexts) + places
    figure = new_figure(2.6 * count, 2.8)
    panels = list(figure.subplots(1, count, squeeze=False)[0])
    if places:
        axes = panels.pop(0)
        for k, context in enumerate(contexts):
            axes.plot(*context, "x", color="0.3")
            axes.annotate(f" {k + 1}", context, fontsize=9)
        _target_place(axes, info)
        _frame(axes, info, np.zeros(2))
    for k, (axes, context) in enumerate(zip(panels, contexts, strict=True)):
        if pictures is not None:
            axes.imshow(pictures[k])
            axes.set_axis_off()
        else:
            task.draw(context, np.zeros((0, *path)), axes)
        words = ", ".join(f"{value:.3g}" for value in context)
        axes.set_title(f"{k + 1}: {words}" if places else words, fontsize=9)
    figure.suptitle(f"{info.title}: tasks", fontsize=10, parse_math=False)
    return figure


class SliderPicture(NamedTuple):
    """How a picture of a slider shows contexts: attributes of SVG, in a square of side 100."""

    transform: str
    """Moves and stretches the `outline` to the Gaussian of the contexts."""
    d: str
    """Path that marks single contexts; empty where the Gaussian describes them."""


CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
HIDDEN = "scale(0)"  # the transform that shows no outline


def outline(info: ExperimentInfo) -> str:
    """The path that `SliderPicture.transform` moves: a unit circle in 2-d, else a density."""
    return CIRCLE if len(info.low) == 2 else _hump()


def _hump() -> str:
    """exp(-z^2 / 2) as a path of cubic curves that have the exact slopes at their ends."""
    z, step = np.linspace(-REACH, REACH, 17, retstep=True)
    y = np.exp(-0.5 * z**2)
    rise = -z * y * step / 3
    xs = z[:-1] + step / 3, z[1:] - step / 3, z[1:]
    ys = y[:-1] + rise[:-1], y[1:] - rise[1:], y[1:]
    points = np.stack([np.stack(xs, axis=1), np.stack(ys, axis=1)], axis=-1)  # (16, 3, 2)
    curves = ("C" + " ".join(f"{a:.3g},{b:.3f}" for a, b in curve) for curve in points)
    return f"M{z[0]:g},{y[0]:.3f}{''.join(curves)}Z"


def frames(run: StoredRun, info: ExperimentInfo) -> list[tuple[int, list[SliderPicture]]]:
    """At most FRAMES iterations, and how the pictures of a slider show the contexts at each.

    Two context dimensions share one picture; otherwise each dimension has one.
    """
    known = [record for record in run.records if "context_mean" in record]
    places = np.linspace(0, len(known) - 1, FRAMES).round().astype(int)
    shown: list[int] = sorted({int(k) for k in places})
    return [(int(known[k]["iteration"]), _shown(known[k], info)) for k in shown]


def target_shown(info: ExperimentInfo) -> list[SliderPicture]:
    """How the pictures of a slider show the target: a Gaussian's outline, or single contexts."""
    target = info.target
    if not isinstance(target, Gaussian):
        return _marked(target_points(info), [HIDDEN] * len(info.low), info)
    return [SliderPicture(where, "") for where in _transforms(target.mean, target.covariance, info)]


def _shown(record: Record, info: ExperimentInfo) -> list[SliderPicture]:
    """How the pictures of a slider show the contexts of one record."""
    mean, covariance = np.array(record["context_mean"]), np.array(record["context_covariance"])
    transforms = _transforms(mean, covariance, info)
    sample = sample_of(record, len(mean))
    if sample is None:
        return [SliderPicture(transform, "") for transform in transforms]
    return _marked(sample, transforms, info)


def _marked(sample: Array, transforms: list[str], info: ExperimentInfo) -> list[SliderPicture]:
    """How the pictures of a slider show single contexts (k, d), beside outlines."""
    share = 100 * (sample - info.low) / (info.high - info.low)
    if len(info.low) == 2:
        return [SliderPicture(HIDDEN, "".join(f"M{x:.1f},{100 - y:.1f}h0" for x, y in share))]
    lines = ["".join(f"M{x:.1f},100v-4" for x in column) for column in share.T]
    return [SliderPicture(*both) for both in zip(transforms, lines, strict=True)]


def _transforms(mean: Array, covariance: Array, info: ExperimentInfo) -> list[str]:
    """The transform from the outline to the Gaussian, for each picture; y points down in SVG."""
    width = info.high - info.low
    places = 100 * (mean - info.low) / width
    if len(mean) == 2:
        seen = covariance / np.outer(width, width) + NARROWEST**2 * np.eye(2)
        (a, c), (b, d) = 100 * _axes(seen)
        return [_matrix(a, -b, c, -d, places[0], 100 - places[1])]
    deviations = 100 * np.maximum(np.sqrt(np.diag(covariance)) / width, NARROWEST)
    pairs = zip(deviations, places, strict=True)
    return [_matrix(deviation, 0, 0, -95, place, 100) for deviation, place in pairs]


def _matrix(*numbers: float) -> str:
    return f"matrix({' '.join(f'{number:.2f}' for number in numbers)})"
