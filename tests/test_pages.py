"""Every code block of the README and of the documentation is executed, or says why it is not."""

import re
from pathlib import Path

import pytest

from docs.tools.code_blocks import Page, blocks, check_commands
from selfpaced.store.finding import Finding

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*/*.md"))
)
LANGUAGES = {"python", "bash", "toml"}
NEEDS = {"stable-baselines3.md": "stable_baselines3"}


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_run_or_say_why_not(page, tmp_path, recwarn):
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason="needs the extra sb3")
    with Page(page, tmp_path, small=True) as executed:
        for block in executed.blocks:
            assert block.language in LANGUAGES, f"{block}: nobody checks {block.language}"
            assert block.not_run is None or len(block.not_run) > 10, f"{block} must give a reason"
            executed.execute(block)


def test_every_health_message_has_its_cause_cure_and_picture():
    kinds = re.findall(r"^ *- ([a-z ]+):", Finding.__doc__, re.M)
    text = (ROOT / "docs" / "stuck.md").read_text()
    assert len(kinds) >= 10
    for kind in kinds:
        picture = f"images/health/{kind.replace(' ', '-')}.svg"
        assert f"\n## {kind}\n" in text, f"docs/stuck.md has no section {kind!r}"
        assert picture in text
        assert (ROOT / "docs" / picture).exists()


def test_the_command_line_is_asked_whether_it_takes_what_is_written():
    check_commands("selfpaced status runs  # and more\nls")
    with pytest.raises(ValueError, match="the command line refuses: selfpaced stats runs"):
        check_commands("selfpaced stats runs")


def test_marks_above_a_block_are_read(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n<!-- file: a.py -->\n```python\nx = 1_000\n```\n\n"
        "<!-- small: 1_000 -> 2 -->\n<!-- run -->\n```bash\necho 1_000\n```\n"
        "<!-- not run: because -->\n```toml\na = 1\n```\n"
    )
    first, second, third = blocks(page)
    assert first.file == "a.py"
    assert (second.run, second.shortened()) == (True, "echo 2\n")
    assert third.not_run == "because"
    second.small.append(("lost", "found"))
    with pytest.raises(ValueError, match=r"page\.md:10: the block does not contain 'lost'"):
        second.shortened()
