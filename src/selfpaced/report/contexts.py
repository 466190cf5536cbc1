"""Figures of contexts: where a curriculum was, and what tasks look like there."""

from typing import Any, NamedTuple

import numpy as np

from selfpaced.experiments.setting import Setting
from selfpaced.maths.arrays import Array
from selfpaced.maths.gaussian import Gaussian
from selfpaced.report.figures import new_figure, tidy
from selfpaced.store import StoredRun
from selfpaced.training import Record
from selfpaced.types import AnyArray

DEVIATIONS = 2.0  # that an ellipse reaches
REACH = 4.0  # deviations beyond which a density is flat
POINTS = 81  # of a curve
NARROWEST = 0.002  # deviation, in widths of the box, that can still be seen
RUG = 0.035  # height of one record's row of lines, in heights of a density
FRAMES = 80  # of a slider, at most
PALETTE = ("#fde725", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154")
TARGET = "#D55E00"


def ellipse(mean: Array, covariance: Array) -> tuple[Array, Array]:
    """x and y (POINTS,) of the curve DEVIATIONS around a Gaussian over two dimensions."""
    angles = np.linspace(0, 2 * np.pi, POINTS)
    x, y = mean[:, None] + _axes(covariance) @ np.stack([np.cos(angles), np.sin(angles)])
    return x, y


def _axes(covariance: Array) -> Array:
    """(2, 2): the half-axes of the ellipse DEVIATIONS around a Gaussian, as columns."""
    values, vectors = np.linalg.eigh(covariance)
    return DEVIATIONS * vectors * np.sqrt(np.maximum(values, 0))


def density(mean: float, deviation: float, low: float, high: float) -> tuple[Array, Array]:
    """x and y of a Gaussian's density within the box, where it is not flat.

    As a share of its own maximum: shapes compare, heights cannot.
    """
    deviation = max(deviation, NARROWEST * (high - low))
    x = np.clip(mean + deviation * np.linspace(-REACH, REACH, POINTS), low, high)
    return x, np.exp(-0.5 * ((x - mean) / deviation) ** 2)


def shown_records(run: StoredRun, setting: Setting) -> list[Record]:
    """The records nearest to the iterations that figures show."""
    known = [record for record in run.records if "context_mean" in record]
    nearest = [
        min(known, key=lambda record: abs(record["iteration"] - wanted))
        for wanted in (setting.evolution if known else ())
    ]
    return list({record["iteration"]: record for record in nearest}.values())


def sample_of(record: Record, dimension: int) -> Array | None:
    """(k, dimension): some contexts of a batch, where they are not drawn from a Gaussian."""
    if "context_sample" not in record:
        return None
    return np.array(record["context_sample"], dtype=float).reshape(-1, dimension)


def evolution(run: StoredRun, setting: Setting, title: str) -> Any | None:
    """The contexts at some iterations, with the target.

    Two dimensions as ellipses, or as points where they are no Gaussian; others as the densities
    of each, with such points as short lines below.
    """
    records = shown_records(run, setting)
    if not records:
        return None
    colours = [PALETTE[i * len(PALETTE) // len(records)] for i in range(len(records))]
    dimension = len(setting.low)
    if dimension == 2:
        figure = new_figure(4.6, 3.6)
        _places(figure.subplots(), records, colours, setting)
    else:
        figure = new_figure(min(9.0, 3.2 * dimension + 1.2), 3.0)
        panels = figure.subplots(1, dimension, squeeze=False)[0]
        for k, axes in enumerate(panels):
            _densities(axes, k, records, colours, setting)
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside right center",
            frameon=False,
            fontsize=7,
        )
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


def _places(axes: Any, records: list[Record], colours: list[str], setting: Setting) -> None:
    for record, colour in zip(records, colours, strict=True):
        label = f"iteration {record['iteration']}"
        sample = sample_of(record, 2)
        if sample is not None:
            look = {"markersize": 4.5, "markeredgecolor": "0.35", "markeredgewidth": 0.4}
            axes.plot(*sample.T, "o", color=colour, label=label, **look)
            continue
        x, y = ellipse(np.array(record["context_mean"]), np.array(record["context_covariance"]))
        axes.fill(x, y, facecolor=colour, alpha=0.45, edgecolor=colour, label=label)
    axes.plot(*ellipse(setting.target.mean, setting.target.covariance), color=TARGET, lw=1.6)
    axes.plot(*setting.target.mean, "+", color=TARGET, label="target")
    margin = 0.03 * (setting.high - setting.low)
    _frame(axes, setting, margin)
    axes.legend(frameon=False, fontsize=7, loc="best")


def _densities(
    axes: Any, k: int, records: list[Record], colours: list[str], setting: Setting
) -> None:
    ends = float(setting.low[k]), float(setting.high[k])
    for row, (record, colour) in enumerate(zip(records, colours, strict=True)):
        x, y = density(record["context_mean"][k], record["context_covariance"][k][k] ** 0.5, *ends)
        label = f"iteration {record['iteration']}"
        sample = sample_of(record, len(setting.low))
        if sample is None:
            axes.fill_between(x, y, color=colour, alpha=0.35, linewidth=0, label=label)
        else:  # the Gaussian is only their mean and variance
            axes.plot(x, y, color=colour, linewidth=1, label=label)
            axes.vlines(sample[:, k], -(row + 1) * RUG, -row * RUG, color=colour, linewidth=1.2)
    below = RUG * len(records) if any("context_sample" in record for record in records) else 0.0
    target = setting.target
    curve = density(float(target.mean[k]), float(target.covariance[k, k]) ** 0.5, *ends)
    axes.plot(*curve, color=TARGET, lw=1.6, label="target")
    axes.set(xlim=ends, yticks=[], ylim=(-below, 1.08))
    axes.set_xlabel(setting.context_names[k], parse_math=False)
    tidy(axes)


def _frame(axes: Any, setting: Setting, margin: Array) -> None:
    """Limits and names of the context box, of two dimensions."""
    low, high = setting.low - margin, setting.high + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_xlabel(setting.context_names[0], parse_math=False)
    axes.set_ylabel(setting.context_names[1], parse_math=False)
    tidy(axes)


def sample_tasks(
    contexts: Array,
    setting: Setting,
    pictures: AnyArray | None,
    task: Any,
    path: tuple[int, ...] = (1, 2),
) -> Any:
    """Tasks at `contexts` (k, d), by pictures (k, h, w, 3) or the task's `draw`.

    `draw` gets no trajectories here: an array (0, *path), `path` being the shape of one. Where
    there are two dimensions, the first panel marks the contexts' places.
    """
    places = len(setting.low) == 2
    count = len(contexts) + places
    figure = new_figure(2.6 * count, 2.8)
    panels = list(figure.subplots(1, count, squeeze=False)[0])
    if places:
        axes = panels.pop(0)
        for k, context in enumerate(contexts):
            axes.plot(*context, "x", color="0.3")
            axes.annotate(f" {k + 1}", context, fontsize=9)
        target = setting.target
        axes.plot(*ellipse(target.mean, target.covariance), color=TARGET, lw=1.6)
        _frame(axes, setting, np.zeros(2))
    for k, (axes, context) in enumerate(zip(panels, contexts, strict=True)):
        if pictures is not None:
            axes.imshow(pictures[k])
            axes.set_axis_off()
        else:
            task.draw(context, np.zeros((0, *path)), axes)
        words = ", ".join(f"{value:.3g}" for value in context)
        axes.set_title(f"{k + 1}: {words}" if places else words, fontsize=9)
    figure.suptitle(f"{setting.title}: tasks", fontsize=10, parse_math=False)
    return figure


class Shown(NamedTuple):
    """Contexts in one picture of a slider, a square of side 100, as attributes of SVG."""

    transform: str  # of the `outline`, to where the Gaussian is
    d: str  # path of single contexts; empty where the Gaussian says it all


CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
HIDDEN = "scale(0)"


def outline(setting: Setting) -> str:
    """What `Shown.transform` moves and stretches: a unit circle, or a unit density."""
    return CIRCLE if len(setting.low) == 2 else _hump()


def _hump() -> str:
    """exp(-z^2 / 2) as a path of cubic curves, each with the slopes of its ends."""
    z, step = np.linspace(-REACH, REACH, 17, retstep=True)
    y = np.exp(-0.5 * z**2)
    rise = -z * y * step / 3
    xs = z[:-1] + step / 3, z[1:] - step / 3, z[1:]
    ys = y[:-1] + rise[:-1], y[1:] - rise[1:], y[1:]
    points = np.stack([np.stack(xs, axis=1), np.stack(ys, axis=1)], axis=-1)  # (16, 3, 2)
    curves = ("C" + " ".join(f"{a:.3g},{b:.3f}" for a, b in curve) for curve in points)
    return f"M{z[0]:g},{y[0]:.3f}{''.join(curves)}Z"


def frames(run: StoredRun, setting: Setting) -> list[tuple[int, list[Shown]]]:
    """Iterations, and what a slider shows of the contexts then.

    One picture for two dimensions, else one per dimension.
    """
    known = [record for record in run.records if "context_mean" in record]
    places = np.linspace(0, len(known) - 1, FRAMES).round().astype(int)
    shown: list[int] = sorted({int(k) for k in places})
    return [(int(known[k]["iteration"]), _shown(known[k], setting)) for k in shown]


def target_shown(target: Gaussian, setting: Setting) -> list[Shown]:
    """The target as `frames` shows contexts."""
    return [Shown(where, "") for where in _transforms(target.mean, target.covariance, setting)]


def _shown(record: Record, setting: Setting) -> list[Shown]:
    mean, covariance = np.array(record["context_mean"]), np.array(record["context_covariance"])
    transforms = _transforms(mean, covariance, setting)
    sample = sample_of(record, len(mean))
    if sample is None:
        return [Shown(transform, "") for transform in transforms]
    share = 100 * (sample - setting.low) / (setting.high - setting.low)
    if len(mean) == 2:
        return [Shown(HIDDEN, "".join(f"M{x:.1f},{100 - y:.1f}h0" for x, y in share))]
    lines = ["".join(f"M{x:.1f},100v-4" for x in column) for column in share.T]
    return [Shown(*both) for both in zip(transforms, lines, strict=True)]


def _transforms(mean: Array, covariance: Array, setting: Setting) -> list[str]:
    """What makes the outline the Gaussian's, in each picture; y points down there."""
    width = setting.high - setting.low
    places = 100 * (mean - setting.low) / width
    if len(mean) == 2:
        seen = covariance / np.outer(width, width) + NARROWEST**2 * np.eye(2)
        (a, c), (b, d) = 100 * _axes(seen)
        return [_matrix(a, -b, c, -d, places[0], 100 - places[1])]
    deviations = 100 * np.maximum(np.sqrt(np.diag(covariance)) / width, NARROWEST)
    pairs = zip(deviations, places, strict=True)
    return [_matrix(deviation, 0, 0, -95, place, 100) for deviation, place in pairs]


def _matrix(*numbers: float) -> str:
    return f"matrix({' '.join(f'{number:.2f}' for number in numbers)})"
