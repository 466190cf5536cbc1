"""One self-contained HTML page of stored runs: figures, tables, health and configurations."""

import io
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from selfpaced.experiments import Experiment
from selfpaced.experiments.value_sources import flat, source_of
from selfpaced.maths.archives import DAMAGE
from selfpaced.names import checked_name
from selfpaced.report.contexts import (
    TARGET,
    evolution,
    frames,
    outline,
    sample_tasks,
    target_shown,
)
from selfpaced.report.data import Group
from selfpaced.report.error_text import error_in_one_line
from selfpaced.report.figures import (
    colours,
    comparison,
    final_trajectories,
    health_curves,
    landscape,
    learning_curves,
    name_of,
)
from selfpaced.report.need import solved_alone
from selfpaced.report.page_look import INK, LOOK, SCRIPT, document, finding_block
from selfpaced.report.reproduce_commands import commands_of
from selfpaced.report.statistics import best_half
from selfpaced.report.svg import minified_svg
from selfpaced.report.tables import CAPTION, HEADERS, text_row
from selfpaced.report.volume import is_whole_space, range_curves, volume_curves
from selfpaced.store.experiment_info import ExperimentInfo
from selfpaced.store.health import as_easy, findings, summarised
from selfpaced.store.reading import StoredRun
from selfpaced.types import State

FORMATS = ("pdf", "png", "svg")  # file formats of the figures that `write_figures` saves


@dataclass(frozen=True)
class Chapter:
    """One experiment of the page."""

    info: ExperimentInfo
    """What figures must know of the experiment."""
    members: list[Group]
    """Its finished runs, one group per algorithm."""
    scene: State | None
    """What `selfpaced scene` has computed; None if it has not been run."""
    experiment: Experiment | None
    """The experiment, for its configurations; None if it cannot be imported."""
    task: Any | None
    """The experiment's task, for its `draw`; None if it cannot be made."""
    missing: list[str]
    """Sentences that say what the chapter lacks, and why."""

    def __repr__(self) -> str:
        return f"Chapter({self.info.name!r}, {len(self.members)} algorithms)"


def page(chapters: list[Chapter], missing: list[str]) -> str:
    """The whole page as HTML; the sentences in `missing` say what it lacks."""
    names = [(chapter.info.name, chapter.info.title) for chapter in chapters]
    links = "".join(f'<a href="#{escape(name)}">{escape(title)}</a>' for name, title in names)
    notes = "".join(_missing(note) for note in missing)
    body = "".join(_chapter(chapter) for chapter in chapters)
    content = f"<h1>Results</h1><nav>{links}</nav>{notes}{body}<script>{SCRIPT}</script>"
    return document("results", content)


def figures_of(chapter: Chapter) -> Iterator[tuple[str, Callable[[], Any | None]]]:
    """Names of one experiment's figures, in the page's order, and a function that makes each."""
    info, members = chapter.info, chapter.members
    title = info.title
    if members:
        published = () if chapter.experiment is None else chapter.experiment.published
        yield "curves", partial(learning_curves, members, title, published=published)
        yield "curves-rollouts", partial(learning_curves, members, title, "rollouts")
        if any(len(group.runs) > 1 for group in members):
            halves = [best_half(group) for group in members]
            best = f"{title}, best half of the seeds"
            yield "curves-best-half", partial(learning_curves, halves, best)
        if is_whole_space(info):
            yield "volume", partial(volume_curves, members, info)
            yield "ranges", partial(range_curves, members, info)
        for group in members:
            run = _moving(group)
            if run is not None:
                about = f"{name_of(group.algorithm)}: contexts, seed {run.seed}"
                yield f"contexts-{group.algorithm}", partial(evolution, run, info, about)
    yield from _scene_figures(chapter)
    if members and hasattr(chapter.task, "draw"):
        yield "trajectories", partial(final_trajectories, members, chapter.task, title)
    if members:
        yield "comparison", partial(comparison, members, title)
        yield "health", partial(health_curves, members, title)


def _scene_figures(chapter: Chapter) -> Iterator[tuple[str, Callable[[], Any | None]]]:
    scene = chapter.scene
    if scene is None:
        return
    pictures, task = scene.get("pictures"), chapter.task
    if pictures is not None or hasattr(task, "draw"):
        draw = partial(sample_tasks, pictures=pictures, task=task, path=_path_shape(chapter))
        yield "tasks", partial(draw, scene["contexts"], chapter.info)
    prefix = "landscape."
    land = {name[len(prefix) :]: scene[name] for name in scene if name.startswith(prefix)}
    if land:
        yield "landscape", partial(landscape, land)


def _path_shape(chapter: Chapter) -> tuple[int, ...]:
    """(t, d): the shape of the task's trajectories; (1, 2) where no run has any."""
    runs = [run for group in chapter.members for run in group.runs]
    shapes = [run.trajectories.shape[1:] for run in runs if run.trajectories is not None]
    return shapes[0] if shapes else (1, 2)


def svg(figure: Any, salt: str) -> str:
    """`figure` as inline SVG in the page's text colour; the same figure gives the same text."""
    buffer = io.StringIO()
    with _drawn_with({"svg.hashsalt": salt}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return minified_svg(text[text.index("<svg") :]).replace(INK, "currentColor")


def write_figures(chapters: list[Chapter], out: Path) -> int:
    """Write every figure as PDF, PNG and SVG below `out`; return the number of figures."""
    count = 0
    out.mkdir(parents=True, exist_ok=True)
    for chapter in chapters:
        for name, make in figures_of(chapter):
            salt = checked_name(f"{chapter.info.name}-{name}")
            try:
                figure = make()
                forms = {} if figure is None else {f: _saved(figure, f, salt) for f in FORMATS}
            except Exception as error:  # of a user's `draw`, which may raise anything
                warnings.warn(
                    f"{salt} could not be drawn: {error_in_one_line(error)}", stacklevel=2
                )
                continue
            for form, content in forms.items():
                (out / f"{salt}.{form}").write_bytes(content)
            count += bool(forms)
    return count


def _saved(figure: Any, form: str, salt: str) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {}
    with _drawn_with({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(buffer, format=form, dpi=200, metadata=metadata)
    return buffer.getvalue()


def look() -> Any:
    """The context manager under which the figures of a page are made."""
    return _drawn_with(LOOK)


def _drawn_with(options: Any) -> Any:
    import matplotlib

    return matplotlib.rc_context(options)  # pyright: ignore[reportUnknownMemberType]


def _moving(group: Group) -> StoredRun | None:
    """The first run of `group` whose contexts moved; None if none did."""
    for run in group.runs:
        means = [
            tuple(record["context_mean"]) for record in run.records if "context_mean" in record
        ]
        if len(set(means)) > 1:
            return run
    return None


def _chapter(chapter: Chapter) -> str:
    """One experiment as a section of the page."""
    info = chapter.info
    parts = [f'<section id="{escape(info.name)}"><h2>{escape(info.title)}</h2>']
    parts += [_missing(note) for note in chapter.missing]
    if chapter.scene is not None and "faults" in chapter.scene:
        parts += [_missing(str(fault)) for fault in chapter.scene["faults"]]
    if chapter.members:
        parts += [_table(chapter.members), _health(chapter.members)]
    sliders = [_slider(group, info) for group in chapter.members]
    if any(sliders):
        parts.append("<h3>Contexts over iterations</h3>")
        parts.append(f'<div class="row">{"".join(sliders)}</div>')
    with look():
        beside: list[str] = []  # small figures that share a row
        for name, make in figures_of(chapter):
            shown = _figure(name, make, f"{info.name}-{name}")
            if name.startswith("contexts-"):
                beside.append(shown)
                continue
            parts += [f'<div class="row">{"".join(beside)}</div>', shown] if beside else [shown]
            beside = []
    parts += [_specs(group) for group in chapter.members]
    if chapter.members:
        lines = "\n".join(commands_of(chapter.members, info, chapter.experiment))
        parts.append(f"<h3>Made by</h3><pre>{escape(lines)}</pre>")
    return "".join(parts) + "</section>"


def _missing(note: str) -> str:
    return f'<p class="missing">{escape(note)}</p>'


def _figure(name: str, make: Callable[[], Any | None], salt: str) -> str:
    """One figure as HTML; if it cannot be drawn, a sentence that says why."""
    try:
        figure = make()
        if figure is None:
            return ""
        return f'<figure class="{escape(name)}">{svg(figure, salt)}</figure>'
    except Exception as error:  # of a user's `draw`, which may raise anything
        return _missing(f"The figure {name} could not be drawn: {error_in_one_line(error)}")


def _table(members: list[Group]) -> str:
    rows = [text_row(group) for group in members]
    kept = [i for i in range(len(HEADERS)) if any(row[i] != "-" for row in rows)]
    chosen = colours([group.algorithm for group in members])
    head = "".join(f"<th>{escape(HEADERS[i])}</th>" for i in kept)
    body = ""
    for group, row in zip(members, rows, strict=True):
        swatch = f'<span class="swatch" style="background:{chosen[group.algorithm]}"></span>'
        cells = [swatch + escape(name_of(row[0])), *(escape(row[i]) for i in kept[1:])]
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return (
        f'<div class="scroll"><table><caption>{escape(CAPTION)}</caption><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _health(members: list[Group]) -> str:
    """What is wrong with the runs, in words."""
    blocks = ""
    for group in members:
        found = [
            (run.seed, finding)
            for run in group.runs
            for finding in findings(
                run.records, None if run.policy is None else run.policy.dimension
            )
        ]
        found += [(run.seed, easy) for run in group.runs if (easy := as_easy(run.records))]
        for who, finding in summarised(found):
            blocks += finding_block(name_of(group.algorithm), who, finding)
    alone = solved_alone(members)
    if alone is not None:
        blocks += finding_block("Curriculum", "all seeds", alone)
    return f"<h3>Health</h3>{blocks or '<p>No run shows one of the known problems.</p>'}"


def _slider(group: Group, info: ExperimentInfo) -> str:
    """The slider of one run's contexts, or a sentence that says why it cannot be drawn."""
    try:
        return slider(group, info)
    except DAMAGE as error:  # records that somebody else has written, of shapes that nobody knows
        name = name_of(group.algorithm)
        return _missing(f"The contexts of {name} could not be drawn: {error_in_one_line(error)}")


def slider(group: Group, info: ExperimentInfo) -> str:
    """A slider through the iterations of one run's contexts; empty text if they never move."""
    run = _moving(group)
    if run is None:
        return ""
    shown = frames(run, info)
    colour = colours([group.algorithm])[group.algorithm]
    name = f"{name_of(group.algorithm)}, seed {run.seed}"
    labels = [
        f"{label}, {low:.3g} to {high:.3g}"
        for label, low, high in zip(info.context_names, info.low, info.high, strict=True)
    ]
    targets = target_shown(info)
    middle = len(shown) // 2
    iteration, now = shown[middle]  # what a browser without scripts shows
    pictures = ""
    for k, (target, contexts) in enumerate(zip(targets, now, strict=True)):
        words = f"right: {labels[0]}; up: {labels[1]}" if len(info.low) == 2 else labels[k]
        pictures += (
            f'<div><svg viewBox="-4 -4 108 108" role="img" aria-label="{escape(words)}">'
            f'<path class="outline" d="{outline(info)}" transform="{contexts.transform}" '
            f'fill="{colour}" fill-opacity=".45" stroke="{colour}" stroke-width="1.5"/>'
            f'<path class="single" d="{contexts.d}" stroke="{colour}"/>'
            + (f'<path class="aim" d="{target.d}" stroke="{TARGET}"/>' if target.d else "")
            + f'<path d="{outline(info)}" transform="{target.transform}" fill="none" '
            f'stroke="{TARGET}" stroke-width="2"/></svg><br>'
            f"<small>{escape(words)}</small></div>"
        )
    data = json.dumps(shown).replace("<", "\\u003c")
    return (
        f'<div class="slider"><b>{escape(name)}</b>, <output>iteration {iteration}</output>'
        f'<div class="row">{pictures}</div>'
        f'<input type="range" min="0" max="{len(shown) - 1}" value="{middle}" '
        f'aria-label="iteration of {escape(name)}, {len(targets)} pictures">'
        f'<script type="application/json">{data}</script></div>'
    )


def _specs(group: Group) -> str:
    """An algorithm's configuration as a table, with the source of each value where it is known."""
    rows = ""
    for path, value in flat(group.runs[0].spec.get("config", {})):
        source = source_of(group.experiment, group.algorithm, path, value)
        cells = (path, str(value), source)
        rows += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    head = "<tr><th>field</th><th>value</th><th>source</th></tr>"
    name = escape(name_of(group.algorithm))
    return (
        f'<details><summary>Configuration of {name}</summary><div class="scroll"><table>'
        f"<thead>{head}</thead><tbody>{rows}</tbody></table></div></details>"
    )
