"""Figures of contexts: where a curriculum was, and what tasks look like there."""

from typing import Any

import numpy as np

from selfpaced.experiments.setting import Setting
from selfpaced.maths.arrays import Array
from selfpaced.maths.gaussian import Gaussian
from selfpaced.report.figures import new_figure, tidy
from selfpaced.store import StoredRun
from selfpaced.training import Record
from selfpaced.types import AnyArray

DEVIATIONS = 2.0  # that an ellipse reaches
POINTS = 120  # of a curve
FRAMES = 80  # of a slider, at most
PALETTE = ("#fde725", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154")


def ellipse(mean: Array, covariance: Array) -> tuple[Array, Array]:
    """x and y (POINTS,) of the curve DEVIATIONS around a Gaussian over two dimensions."""
    values, vectors = np.linalg.eigh(covariance)
    angles = np.linspace(0, 2 * np.pi, POINTS)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    around = vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * circle)
    x, y = mean[:, None] + DEVIATIONS * around
    return x, y


def density(mean: float, variance: float, x: Array) -> Array:
    """Of a Gaussian at x, as a share of its own maximum: shapes compare, heights cannot."""
    return np.exp(-0.5 * (x - mean) ** 2 / max(variance, 1e-300))


def shown_records(run: StoredRun, setting: Setting) -> list[Record]:
    """The records nearest to the iterations that figures show."""
    known = [record for record in run.records if "context_mean" in record]
    nearest = [
        min(known, key=lambda record: abs(record["iteration"] - wanted))
        for wanted in (setting.evolution if known else ())
    ]
    return list({record["iteration"]: record for record in nearest}.values())


def evolution(run: StoredRun, setting: Setting, title: str) -> Any | None:
    """The context distribution at some iterations, with the target.

    Two dimensions as ellipses, others as the densities of each.
    """
    records = shown_records(run, setting)
    if not records:
        return None
    colours = [PALETTE[i * len(PALETTE) // len(records)] for i in range(len(records))]
    dimension = len(setting.low)
    if dimension == 2:
        figure = new_figure(4.6, 3.6)
        _ellipses(figure.subplots(), records, colours, setting)
    else:
        figure = new_figure(min(9.0, 3.2 * dimension + 1.2), 3.0)
        panels = figure.subplots(1, dimension, squeeze=False)[0]
        for k, axes in enumerate(panels):
            _densities(axes, k, records, colours, setting)
    figure.suptitle(title, fontsize=10)
    return figure


def _ellipses(axes: Any, records: list[Record], colours: list[str], setting: Setting) -> None:
    for record, colour in zip(records, colours, strict=True):
        x, y = ellipse(np.array(record["context_mean"]), np.array(record["context_covariance"]))
        label = f"iteration {record['iteration']}"
        axes.fill(x, y, facecolor=colour, alpha=0.45, edgecolor=colour, label=label)
        if "context_sample" in record:
            axes.plot(*np.array(record["context_sample"]).T, ".", color=colour, markersize=3)
    axes.plot(*ellipse(setting.target.mean, setting.target.covariance), color="#D55E00", lw=1.6)
    axes.plot(*setting.target.mean, "+", color="#D55E00", label="target")
    margin = 0.03 * (setting.high - setting.low)
    low, high = setting.low - margin, setting.high + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set(xlabel=setting.context_names[0], ylabel=setting.context_names[1])
    axes.legend(frameon=False, fontsize=7, loc="best")
    tidy(axes)


def _densities(
    axes: Any, k: int, records: list[Record], colours: list[str], setting: Setting
) -> None:
    x = np.linspace(float(setting.low[k]), float(setting.high[k]), 4 * POINTS)
    for record, colour in zip(records, colours, strict=True):
        y = density(record["context_mean"][k], record["context_covariance"][k][k], x)
        label = f"iteration {record['iteration']}"
        axes.fill_between(x, y, color=colour, alpha=0.35, linewidth=0, label=label)
    target = setting.target
    axes.plot(x, density(target.mean[k], target.covariance[k, k], x), color="#D55E00", lw=1.6)
    axes.set(xlabel=setting.context_names[k], yticks=[], ylim=(0, 1.08))
    if k == 0:
        axes.legend(frameon=False, fontsize=7)
    tidy(axes)


def sample_tasks(contexts: Array, setting: Setting, pictures: AnyArray | None, task: Any) -> Any:
    """Tasks at `contexts` (k, d), by pictures (k, h, w, 3) or the task's `draw`.

    Where there are two dimensions, the first panel marks their places.
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
        axes.plot(*ellipse(target.mean, target.covariance), color="#D55E00", lw=1.6)
        axes.set(xlim=(setting.low[0], setting.high[0]), ylim=(setting.low[1], setting.high[1]))
        axes.set(xlabel=setting.context_names[0], ylabel=setting.context_names[1])
        tidy(axes)
    for k, (axes, context) in enumerate(zip(panels, contexts, strict=True)):
        if pictures is not None:
            axes.imshow(pictures[k])
            axes.set_axis_off()
        else:
            task.draw(context, np.zeros((0, 1, 2)), axes)
        words = ", ".join(f"{value:.3g}" for value in context)
        axes.set_title(f"{k + 1}: {words}" if places else words, fontsize=9)
    figure.suptitle(f"{setting.title}: tasks", fontsize=10, parse_math=False)
    return figure


def frames(run: StoredRun, setting: Setting) -> list[tuple[int, list[str]]]:
    """Iterations, and SVG paths of the contexts then in a unit square, for a slider."""
    known = [record for record in run.records if "context_mean" in record]
    places = np.linspace(0, len(known) - 1, FRAMES).round().astype(int)
    shown: list[int] = sorted({int(k) for k in places})
    found: list[tuple[int, list[str]]] = []
    for k in shown:
        mean, covariance = known[k]["context_mean"], known[k]["context_covariance"]
        paths = svg_paths(np.array(mean), np.array(covariance), setting)
        found.append((int(known[k]["iteration"]), paths))
    return found


def target_paths(target: Gaussian, setting: Setting) -> list[str]:
    """The target as `frames` shows contexts."""
    return svg_paths(target.mean, target.covariance, setting)


def svg_paths(mean: Array, covariance: Array, setting: Setting) -> list[str]:
    """One closed path for two dimensions, else one per dimension, in a square of side 100."""
    width = setting.high - setting.low
    if len(mean) == 2:
        x, y = ellipse(mean, covariance)
        points = np.stack([(x - setting.low[0]) / width[0], 1 - (y - setting.low[1]) / width[1]])
        return [_path(100 * points.T)]
    paths: list[str] = []
    for k in range(len(mean)):
        x = np.linspace(float(setting.low[k]), float(setting.high[k]), POINTS)
        # at least a pixel wide, or a narrow distribution falls between two points
        variance = max(float(covariance[k, k]), (0.5 * width[k] / POINTS) ** 2)
        y = density(float(mean[k]), variance, x)
        curve = np.stack([(x - setting.low[k]) / width[k], 1 - 0.95 * y], axis=1)
        paths.append(_path(100 * np.concatenate([[[0, 1]], curve, [[1, 1]]])))
    return paths


def _path(points: Array) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) + "Z"
