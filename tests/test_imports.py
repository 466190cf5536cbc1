"""Imports point one way, heavy libraries stay in their rooms, and rooms stay small."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "selfpaced"
# A room may import itself and the rooms before it. There are no exemptions.
ORDER = [
    {"maths", "names"},
    {"spaces"},
    {"targets"},
    {"types"},
    {"store"},
    {"tasks", "teachers"},
    {"learners"},
    {"deep"},
    {"experiments"},
    {"training"},
    {"engines", "report"},
    {"sweep"},
    {"cli"},
    {"testing"},  # may import everything; nothing imports it
]
RANK = {name: i for i, names in enumerate(ORDER) for name in names}
LIBRARIES = {
    "mujoco": {"tasks/mujoco"},
    "torch": {"teachers", "deep"},
    "cma": {"learners"},
    "gymnasium": {"deep"},
    "minigrid": {"deep"},
    "stable_baselines3": {"deep"},
    "imageio_ffmpeg": {"report"},
    "matplotlib": {"report", "deep", "testing"},
    "mlflow": {"report"},
    "ray": {"engines", "tasks"},
    "tensorboard": {"report"},
    "rich": {"cli"},
    "tyro": {"cli"},
}
LONGEST = 350  # lines of a module
LONGER = {"maths/reps.py"}
MODULES = [path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem[0] != "_"]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    here = path.relative_to(ROOT)
    room = here.parts[0].removesuffix(".py")
    for module in imported(path):
        library, *rest = module.split(".")
        if library == "selfpaced" and rest and rest[0] != room:
            assert RANK[rest[0]] < RANK[room], f"{here} imports {module}"
        if library in LIBRARIES:
            allowed = LIBRARIES[library]
            assert {room, here.parent.as_posix()} & allowed, f"{here} imports {module}"


def test_few_modules_lie_beside_the_rooms():
    beside = sorted(path.name for path in ROOT.glob("*.py"))
    assert len(beside) <= 6, beside


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_long(path):
    name = path.relative_to(ROOT).as_posix()
    lines = path.read_text().count("\n")
    assert lines <= LONGEST or name in LONGER, f"{name} has {lines} lines"


def test_only_the_command_line_prints():
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                prints = node.func.id == "print" and path.parent.name != "cli"
                assert not prints, f"{path.relative_to(ROOT)}, line {node.lineno}"


def test_sys_path_is_touched_in_one_place():
    found = [
        path.relative_to(ROOT).as_posix() for path in MODULES if "sys.path" in path.read_text()
    ]
    assert found == ["cli/main.py"]


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
