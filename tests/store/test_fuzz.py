"""Thousands of damaged files: readers return what was stored or say which file is damaged."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_damaged_files_raise_one_kind_of_error_and_are_never_taken_for_sound():
    place = os.pathsep.join([str(ROOT / "src"), *sys.path])
    words = ["benchmarks/fuzz.py", "--mutations", "300", "--pages", "0", "--seed", "1"]
    said = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": place},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert "300 mutations with seed 1: 0 faults" in said.stdout
