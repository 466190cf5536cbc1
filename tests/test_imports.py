"""Imports point one way, and heavy libraries stay in their rooms."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "selfpaced"
# A package may import itself and what stands to its left.
ORDER = [
    {"maths"},
    {"types", "suggest", "extras"},
    {"files"},
    {"randomness"},
    {"tasks", "teachers", "learners"},
    {"deep"},
    {"experiments"},
    {"training"},
    {"store"},
    {"packed", "logbook"},
    {"report", "engines"},
    {"sweep"},
    {"watch", "scene"},
    {"reporting"},
    {"cli"},
]
ROOMS = {
    "mujoco": {"tasks"},
    "torch": {"teachers", "deep"},
    "cma": {"learners"},
    "gymnasium": {"deep"},
    "stable_baselines3": {"deep"},
    "imageio_ffmpeg": {"report"},
    "matplotlib": {"report", "deep"},
    "ray": {"engines", "tasks"},
    "tensorboard": {"report"},
    "rich": {"cli"},
    "tyro": {"cli"},
}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def room(path):
    parts = path.relative_to(ROOT).parts
    return parts[0].removesuffix(".py")


MODULES = [path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem[0] != "_"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    rank = {name: i for i, names in enumerate(ORDER) for name in names}
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "selfpaced" and len(parts) > 1 and parts[1] != room(path):
            assert rank[parts[1]] < rank[room(path)] or {parts[1], room(path)} <= {
                "teachers",
                "learners",
            }, f"{path.relative_to(ROOT)} imports {module}"
        if parts[0] in ROOMS:
            assert room(path) in ROOMS[parts[0]], f"{path.relative_to(ROOT)} imports {module}"


def test_the_command_line_loads_no_heavy_library():
    code = "import sys, selfpaced.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"numpy", "scipy", "matplotlib"} & set(loaded.stdout.split())


def test_every_public_name_loads():
    import selfpaced

    for name in selfpaced.__all__:
        assert getattr(selfpaced, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = selfpaced.nothing
