"""Code blocks of Markdown pages: which there are, and what happens when they run.

All Python blocks of a page run in one namespace and in one folder, one after the other. Comments on
the lines above a block change that:

    <!-- not run: the reason -->        the block is not executed
    <!-- file: name.py -->              it is written to this file, for others to import
    <!-- small: 400_000 -> 2_000 -->    what a test replaces, so that it takes seconds
    <!-- run -->                        a bash block that is executed; others are only parsed

`python -m docs.tools.code_blocks docs/tutorials/x.md` executes a page as it stands and writes what
its blocks print below them; pictures that they save go to the page's folder.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

FENCE = re.compile(
    r"(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)\n(?P=indent)```\n", re.S
)
MARK = re.compile(r"<!-- (not run|file|small|run)(?:: ([^\n]*?))? -->\s*\Z")
OUTPUT = re.compile(r"\n<!-- output -->\n```text\n.*?\n```\n", re.S)
PICTURE = re.compile(r"!\[[^\]]*\]\((?P<path>[\w./-]+)\)")
LONGEST_OUTPUT = 40  # lines


@dataclass
class Block:
    """One code block of a page."""

    page: Path
    line: int
    language: str
    code: str
    end: int  # where it ends in the page's text
    not_run: str | None = None
    file: str | None = None
    run: bool = False
    small: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self):
        return f"{self.page.name}:{self.line}"

    def shortened(self):
        """The code as a test executes it."""
        code = self.code
        for long, short in self.small:
            if long not in code:
                raise ValueError(f"{self}: the block does not contain {long!r}")
            code = code.replace(long, short)
        return code


def blocks(page: Path) -> list[Block]:
    """The code blocks of `page` with a language, in their order."""
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        if match["language"] == "text":
            continue
        lines = [line.removeprefix(match["indent"]) for line in match["code"].split("\n")]
        line = text[: match.start()].count("\n") + 1
        block = Block(page, line, match["language"], "\n".join(lines) + "\n", match.end())
        before = text[: match.start()].rstrip()
        while mark := MARK.search(before):
            word, value = mark.groups()
            if word == "small":
                block.small.insert(0, tuple(value.split(" -> ")))
            elif word == "run":
                block.run = True
            else:
                setattr(block, word.replace(" ", "_"), value)
            before = before[: mark.start()].rstrip()
        found.append(block)
    return found


class Page:
    """The blocks of one page, and the folder and the namespace in which they run."""

    def __init__(self, path: Path, folder: Path, *, small: bool):
        self.blocks, self.folder, self.small = blocks(path), folder, small
        self._module = ModuleType(f"page_{path.stem.replace('-', '_')}")
        (folder / "bin").mkdir()
        for name, words in (("python", ""), ("selfpaced", "-m selfpaced")):
            script = folder / "bin" / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
            script.chmod(0o755)

    def __enter__(self):
        self._before = Path.cwd(), sys.path[:], set(sys.modules)
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        sys.modules[self._module.__name__] = self._module  # dataclasses look their module up
        return self

    def __exit__(self, *_):
        folder, path, modules = self._before
        os.chdir(folder)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(self.folder)) or name == self._module.__name__:
                del sys.modules[name]

    def execute(self, block: Block) -> str:
        """Execute or check one block; return what it prints."""
        code = block.shortened() if self.small else block.code
        if block.not_run is not None:
            return ""
        if block.file is not None:
            (self.folder / block.file).write_text(code)
            return ""
        if block.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(block), "exec"), self._module.__dict__)
            return printed.getvalue()
        if block.language == "bash":
            return self._run_commands(code) if block.run else check_commands(code)
        if block.language == "toml":
            tomllib.loads(code)
        return ""

    def _run_commands(self, code):
        paths = os.pathsep.join((str(self.folder / "bin"), os.environ["PATH"]))
        environment = {**os.environ, "PATH": paths, "COLUMNS": "100"}
        words = ["bash", "-euo", "pipefail", "-c", code]
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{code}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


def check_commands(code: str) -> str:
    """Parse every line that calls `selfpaced`, as the command line would; execute nothing."""
    import tyro

    from selfpaced.cli.main import COMMANDS, split_overrides

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["selfpaced"]:
            (name, *options), _ = split_overrides(words[1:])
            try:
                tyro.cli(COMMANDS[name], args=[o for o in options if o not in (">", "|")])
            except (KeyError, SystemExit) as error:
                raise ValueError(f"the command line refuses: {line}") from error
    return ""


def fill(path: Path) -> None:
    """Execute `path` as it stands; write what its blocks print, and their pictures, into it."""
    path = path.resolve()
    text = OUTPUT.sub("", path.read_text())
    path.write_text(text)
    parts, end = [], 0
    with tempfile.TemporaryDirectory() as name, Page(path, Path(name), small=False) as page:
        for block in page.blocks:
            printed = page.execute(block).rstrip().splitlines()
            if len(printed) > LONGEST_OUTPUT:
                printed = [*printed[: LONGEST_OUTPUT - 1], "..."]
            parts.append(text[end : block.end])
            end = block.end
            if printed:
                shown = "\n".join(line.rstrip() for line in printed)
                parts.append(f"\n<!-- output -->\n```text\n{shown}\n```\n")
        path.write_text("".join(parts) + text[end:])
        for match in PICTURE.finditer(text):
            made = Path(name, Path(match["path"]).name)
            if made.exists():
                (path.parent / match["path"]).parent.mkdir(exist_ok=True)
                shutil.copy(made, path.parent / match["path"])


if __name__ == "__main__":
    for word in sys.argv[1:]:
        fill(Path(word))
