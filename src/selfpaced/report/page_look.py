"""How pages look and move: their style sheet, their script and their figures' settings."""

from html import escape

from selfpaced.store.finding import Finding

INK = "#010203"
"""Colour of text in figures, which the page then replaces by its own text colour."""
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
"""Matplotlib's settings for the figures of a page: text stays text, backgrounds are transparent."""
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
.slider .single, .slider .aim { stroke-width: 2; stroke-linecap: round; }
.slider input { width: 17rem; display: block; } .swatch { display: inline-block; width: .8rem;
  height: .8rem; border-radius: .2rem; margin-right: .4rem; }
"""
"""The page's style sheet, for light and dark screens."""
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
"""The page's script: moving a slider shows the contexts of another iteration."""


def document(title: str, body: str, head: str = "") -> str:
    """A whole HTML document in the page's style; `head` is added to the document's head."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'  # without it, browsers ask the server for an icon
        f"{head}<title>selfpaced: {escape(title)}</title><style>{STYLE}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def finding_block(algorithm: str, who: str, finding: Finding) -> str:
    """One thing that is wrong with runs of an algorithm, as HTML."""
    return (
        f'<p class="finding"><b>{escape(algorithm)} {finding.kind}</b>, {who}: '
        f"{escape(finding.shown_by)}. To try: {escape(finding.to_try)}.</p>"
    )
