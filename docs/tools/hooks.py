"""What MkDocs does besides rendering pages: pages made from the code, equations, links.

Equations become MathML, which browsers draw by themselves, so that no script has to be loaded.
"""

import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

import latex2mathml.converter
from mkdocs.structure.files import File

import selfpaced
from selfpaced.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"(```.*?\n *```|`[^`\n]+`)", re.S)
DISPLAYED, INLINE = re.compile(r"\$\$(.+?)\$\$", re.S), re.compile(r"\$([^$\n]+?)\$")
OUTSIDE = re.compile(r"\]\((?:\.\./)+((?:examples/)?[\w./-]+?)(#[\w-]+)?\)")
# The page of the reference on which the public names of each module stand.
PAGES = {
    "learners": "algorithms",
    "teachers": "teachers",
    "maths.mastery_rule": "algorithms",
    "maths.schedule": "algorithms",
    "maths.box": "targets-and-spaces",
    "maths.gaussian": "targets-and-spaces",
    "spaces": "targets-and-spaces",
    "targets": "targets-and-spaces",
    "tasks": "tasks",
    "types": "tasks",
    "deep": "deep-rl",
    "training": "runs",
    "sweep": "runs",
    "experiments": "runs",
    "report": "runs",
    "store": "runs",
    "maths": "policies",
}
TITLES = {
    "algorithms": "Algorithms",
    "teachers": "Teachers",
    "targets-and-spaces": "Targets and spaces",
    "tasks": "Tasks and problems",
    "deep-rl": "Deep RL",
    "runs": "Training and results",
    "policies": "Policies, features, random numbers",
}
COPIED = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
COPIED |= {"SECURITY.md": "security.md"}


def page_of(module: str) -> str:
    """The reference page for names of `module`; the longest prefix that is known decides."""
    parts = module.split(".")
    for n in range(len(parts), 0, -1):
        if ".".join(parts[:n]) in PAGES:
            return PAGES[".".join(parts[:n])]
    raise KeyError(f"docs/tools/hooks.py: PAGES has no page for names of {module}")


def on_config(config):
    """Put documents that mkdocs.yml does not name at the end of the evidence."""
    pages = {section: names for entry in config.nav for section, names in entry.items()}
    named = {name for names in pages.values() for name in names}
    found = sorted(path.name for path in Path(config.docs_dir).glob("*.md"))
    pages["Evidence"] += [name for name in found if name not in named]
    return config


def on_files(files, config):
    """Add the pages that are made from code."""
    made = {f"reference/{page}.md": _names(page) for page in TITLES}
    made["reference/command-line.md"] = _command_line()
    made["reference/examples.md"] = _examples()
    made |= {page: _copied(name) for name, page in COPIED.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Equations and links out of the documentation, outside of code."""
    parts = CODE.split(re.sub(r"<!-- .*? -->\n?", "", markdown, flags=re.S))
    for i in range(0, len(parts), 2):
        parts[i] = DISPLAYED.sub(lambda m: _mathml(m[1], "block"), parts[i])
        parts[i] = INLINE.sub(lambda m: _mathml(m[1], "inline"), parts[i])
    here = posixpath.dirname(page.file.src_uri)
    return OUTSIDE.sub(lambda match: _inside(match, here), "".join(parts))


def _mathml(latex, display):
    return latex2mathml.converter.convert(latex.strip(), display=display)


def _inside(match, here):
    """A link to a file of the repository as a link to the page that shows it."""
    path, anchor = match[1], match[2] or ""
    if path.startswith("examples/") and (ROOT / path).exists():
        target = f"reference/examples.md#{_anchor(path)}"
    elif path in COPIED:
        target = COPIED[path] + anchor
    else:
        return match[0]
    return f"]({posixpath.relpath(target, here or '.')})"


def _copied(name):
    """A document of the repository's root, whose links point into the documentation."""
    text = (ROOT / name).read_text().replace("](README.md)", "](start.md)")
    return text.replace("](docs/", "](")


def _anchor(path):
    return re.sub(r"\W+", "-", path.removeprefix("examples/")).strip("-").lower()


def _names(page):
    names = [n for n, module in selfpaced._MODULE_OF.items() if page_of(module) == page]
    text = f"# {TITLES[page]}\n\nEvery name on this page is imported from `selfpaced`.\n"
    for name in sorted(names, key=str.lower):
        text += f"\n::: selfpaced.{name}\n"
    return text


def _command_line():
    environment = {**os.environ, "COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}
    environment["PYTHONPATH"] = str(ROOT / "src")
    text = "# The command line\n\nOptions of an algorithm's configuration are given as "
    text += "`--ALGORITHM.FIELD VALUE`, for example `--sprl.epsilon 0.3`.\n"
    for command in COMMANDS:
        words = [sys.executable, "-m", "selfpaced", command, "--help"]
        shown = subprocess.run(
            words, env=environment, capture_output=True, text=True, check=True
        ).stdout
        text += f"\n## selfpaced {command}\n\n```text\n{shown.strip()}\n```\n"
    return text


def _examples():
    text = "# Examples\n\nComplete scripts; a test runs each of them.\n"
    for path in sorted((ROOT / "examples").rglob("*")):
        name = path.relative_to(ROOT / "examples").as_posix()
        if path.suffix in (".py", ".toml") and "__" not in name and "build" not in name:
            language = path.suffix[1:].replace("py", "python")
            heading = f"\n## {name} {{#{_anchor(name)}}}\n"
            text += f"{heading}\n```{language}\n{path.read_text().strip()}\n```\n"
    return text
