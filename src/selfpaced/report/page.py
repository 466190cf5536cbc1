"""One self-contained HTML page of everything that was stored: figures, tables, health, specs."""

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
from selfpaced.experiments.experiment import checked_name
from selfpaced.experiments.setting import Setting
from selfpaced.experiments.sources import flat, source_of
from selfpaced.report.commands import commands_of
from selfpaced.report.contexts import (
    TARGET,
    evolution,
    frames,
    outline,
    sample_tasks,
    target_shown,
)
from selfpaced.report.data import Group
from selfpaced.report.faults import in_a_line
from selfpaced.report.figures import (
    colours,
    comparison,
    final_trajectories,
    health_curves,
    landscape,
    learning_curves,
    name_of,
)
from selfpaced.report.health import findings, summarised
from selfpaced.report.slim import slim
from selfpaced.report.statistics import best_half
from selfpaced.report.tables import CAPTION, HEADERS, text_row
from selfpaced.store import StoredRun
from selfpaced.types import State

INK = "#010203"  # drawn with it, then replaced by the page's own text colour
FORMATS = ("pdf", "png", "svg")
LOOK = {
    "svg.fonttype": "none",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.family": "sans-serif",
}
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #f3f5f7;
  --line: #d5dae0; --link: #0060a0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ed; --paper: #14171b; --soft: #1e2328;
  --line: #3a424b; --link: #7db8e8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 72rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { margin: 2.4rem 0 .6rem; font-size: 1.3rem; }
h3 { margin: 1.4rem 0 .4rem; font-size: 1.05rem; } a { color: var(--link); }
nav a { margin-right: 1rem; } figure { margin: .8rem 0; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; }
.row { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; } caption { caption-side: bottom; text-align: left; font-size: .8rem;
  opacity: .8; padding-top: .4rem; white-space: normal; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; border-radius: .4rem; }
details { margin: .5rem 0; } summary { cursor: pointer; }
.finding { border-left: 3px solid #d55e00; padding: .2rem .8rem; margin: .5rem 0;
  background: var(--soft); }
.missing { border-left: 3px solid #999; padding: .2rem .8rem; background: var(--soft); }
.slider svg { width: 17rem; height: 17rem; border: 1px solid var(--line); }
.slider path[transform] { vector-effect: non-scaling-stroke; }
.slider .single { stroke-width: 2; stroke-linecap: round; }
.slider input { width: 17rem; display: block; } .swatch { display: inline-block; width: .8rem;
  height: .8rem; border-radius: .2rem; margin-right: .4rem; }
"""
SCRIPT = """
for (const box of document.querySelectorAll(".slider")) {
  const frames = JSON.parse(box.querySelector("script").textContent);
  const range = box.querySelector("input"), label = box.querySelector("output");
  const show = () => {
    const [iteration, pictures] = frames[range.value];
    label.textContent = "iteration " + iteration;
    box.querySelectorAll("svg").forEach((svg, k) => {
      const [transform, d] = pictures[k];
      svg.querySelector(".outline").setAttribute("transform", transform);
      svg.querySelector(".single").setAttribute("d", d);
    });
  };
  range.addEventListener("input", show);
  show();
}
"""


@dataclass(frozen=True)
class Chapter:
    """One experiment of the page."""

    setting: Setting
    members: list[Group]
    scene: State | None  # what `selfpaced scene` has computed, if it has
    experiment: Experiment | None  # for its numbers, if it can be imported
    task: Any | None  # for its `draw`, if the experiment can make it
    missing: list[str]  # in words


def page(chapters: list[Chapter], missing: list[str]) -> str:
    """The whole page; `missing` says what there is not."""
    names = [(chapter.setting.name, chapter.setting.title) for chapter in chapters]
    links = "".join(f'<a href="#{escape(name)}">{escape(title)}</a>' for name, title in names)
    notes = "".join(_missing(note) for note in missing)
    body = "".join(_chapter(chapter) for chapter in chapters)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'  # or browsers ask the server for one
        f"<title>selfpaced: results</title><style>{STYLE}</style></head><body>"
        f"<h1>Results</h1><nav>{links}</nav>{notes}{body}"
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def figures_of(chapter: Chapter) -> Iterator[tuple[str, Callable[[], Any | None]]]:
    """Names of one experiment's figures, in the page's order, and what makes each."""
    setting, members = chapter.setting, chapter.members
    title = setting.title
    if members:
        yield "curves", partial(learning_curves, members, title)
        yield "curves-rollouts", partial(learning_curves, members, title, "rollouts")
        if any(len(group.runs) > 1 for group in members):
            halves = [best_half(group) for group in members]
            best = f"{title}, best half of the seeds"
            yield "curves-best-half", partial(learning_curves, halves, best)
        for group in members:
            run = _moving(group)
            if run is not None:
                about = f"{name_of(group.algorithm)}: contexts, seed {run.seed}"
                yield f"contexts-{group.algorithm}", partial(evolution, run, setting, about)
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
        places = scene["contexts"], chapter.setting
        yield "tasks", partial(sample_tasks, *places, pictures, task, _path_shape(chapter))
    prefix = "landscape."
    land = {name[len(prefix) :]: scene[name] for name in scene if name.startswith(prefix)}
    if land:
        yield "landscape", partial(landscape, land)


def _path_shape(chapter: Chapter) -> tuple[int, ...]:
    """(t, d) of the task's trajectories, as far as runs tell."""
    runs = [run for group in chapter.members for run in group.runs]
    shapes = [run.trajectories.shape[1:] for run in runs if run.trajectories is not None]
    return shapes[0] if shapes else (1, 2)


def svg(figure: Any, salt: str) -> str:
    """A figure as inline SVG, in the page's own text colour; the same figure, the same text."""
    buffer = io.StringIO()
    with _drawn_with({"svg.hashsalt": salt}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return slim(text[text.index("<svg") :]).replace(INK, "currentColor")


def write_figures(chapters: list[Chapter], out: Path) -> int:
    """Write every figure as PDF, PNG and SVG below `out`; how many figures."""
    count = 0
    out.mkdir(parents=True, exist_ok=True)
    for chapter in chapters:
        for name, make in figures_of(chapter):
            salt = checked_name(f"{chapter.setting.name}-{name}")
            try:
                figure = make()
                forms = {} if figure is None else {f: _saved(figure, f, salt) for f in FORMATS}
            except Exception as error:  # of a user's `draw`, which may raise anything
                warnings.warn(f"{salt} could not be drawn: {in_a_line(error)}", stacklevel=2)
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
    """The context in which figures of a page are made."""
    return _drawn_with(LOOK)


def _drawn_with(options: Any) -> Any:
    import matplotlib

    return matplotlib.rc_context(options)  # pyright: ignore[reportUnknownMemberType]


def _moving(group: Group) -> StoredRun | None:
    """The first run whose contexts moved at all."""
    for run in group.runs:
        means = [
            tuple(record["context_mean"]) for record in run.records if "context_mean" in record
        ]
        if len(set(means)) > 1:
            return run
    return None


def _chapter(chapter: Chapter) -> str:
    setting = chapter.setting
    parts = [f'<section id="{escape(setting.name)}"><h2>{escape(setting.title)}</h2>']
    parts += [_missing(note) for note in chapter.missing]
    if chapter.scene is not None and "faults" in chapter.scene:
        parts += [_missing(str(fault)) for fault in chapter.scene["faults"]]
    if chapter.members:
        parts += [_table(chapter.members), _health(chapter.members)]
    sliders = [slider(group, setting) for group in chapter.members]
    if any(sliders):
        parts.append("<h3>Contexts over iterations</h3>")
        parts.append(f'<div class="row">{"".join(sliders)}</div>')
    with look():
        beside: list[str] = []  # small figures that share a row
        for name, make in figures_of(chapter):
            shown = _figure(name, make, f"{setting.name}-{name}")
            if name.startswith("contexts-"):
                beside.append(shown)
                continue
            parts += [f'<div class="row">{"".join(beside)}</div>', shown] if beside else [shown]
            beside = []
    parts += [_specs(group) for group in chapter.members]
    if chapter.members:
        lines = "\n".join(commands_of(chapter.members, setting, chapter.experiment))
        parts.append(f"<h3>Made by</h3><pre>{escape(lines)}</pre>")
    return "".join(parts) + "</section>"


def _missing(note: str) -> str:
    return f'<p class="missing">{escape(note)}</p>'


def _figure(name: str, make: Callable[[], Any | None], salt: str) -> str:
    """One figure as HTML; a line that says why where it cannot be drawn."""
    try:
        figure = make()
        if figure is None:
            return ""
        return f'<figure class="{escape(name)}">{svg(figure, salt)}</figure>'
    except Exception as error:  # of a user's `draw`, which may raise anything
        return _missing(f"The figure {name} could not be drawn: {in_a_line(error)}")


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
    """What ails the runs, in words; nothing where all are well."""
    blocks = ""
    for group in members:
        found = [
            (run.seed, finding)
            for run in group.runs
            for finding in findings(
                run.records, None if run.policy is None else run.policy.dimension
            )
        ]
        for who, finding in summarised(found):
            blocks += (
                f'<p class="finding"><b>{escape(name_of(group.algorithm))} {finding.kind}</b>, '
                f"{who}: {escape(finding.shown_by)}. To try: {escape(finding.to_try)}.</p>"
            )
    return f"<h3>Health</h3>{blocks or '<p>No run shows one of the known ailments.</p>'}"


def slider(group: Group, setting: Setting) -> str:
    """The contexts of one run, iteration by iteration; nothing where they never move."""
    run = _moving(group)
    if run is None:
        return ""
    shown = frames(run, setting)
    colour = colours([group.algorithm])[group.algorithm]
    name = f"{name_of(group.algorithm)}, seed {run.seed}"
    targets = target_shown(setting.target, setting)
    labels = setting.context_names
    middle = len(shown) // 2
    iteration, now = shown[middle]  # without scripts it stays there
    pictures = ""
    for k, (target, contexts) in enumerate(zip(targets, now, strict=True)):
        words = f"{labels[0]} (right), {labels[1]} (up)" if len(setting.low) == 2 else labels[k]
        pictures += (
            f'<div><svg viewBox="0 0 100 100" role="img" aria-label="{escape(words)}">'
            f'<path class="outline" d="{outline(setting)}" transform="{contexts.transform}" '
            f'fill="{colour}" fill-opacity=".45" stroke="{colour}" stroke-width="1.5"/>'
            f'<path class="single" d="{contexts.d}" stroke="{colour}"/>'
            f'<path d="{outline(setting)}" transform="{target.transform}" fill="none" '
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
    """The numbers of an algorithm, with their sources where they are known."""
    rows = ""
    for path, value in flat(group.runs[0].spec.get("numbers", {})):
        source = source_of(group.experiment, group.algorithm, path, value)
        cells = (path, str(value), source)
        rows += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    head = "<tr><th>number</th><th>value</th><th>source</th></tr>"
    name = escape(name_of(group.algorithm))
    return (
        f'<details><summary>Numbers of {name}</summary><div class="scroll"><table>'
        f"<thead>{head}</thead><tbody>{rows}</tbody></table></div></details>"
    )
