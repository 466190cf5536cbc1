"""The tables of docs/benchmarks.md are made from stored runs, and only from them."""

from pathlib import Path

import numpy as np

from selfpaced.report.data import Group
from studies.benchmark_tables import filled, kept, lowest, table

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
NAMES = ("pointmass-spdl", "pointmass-spdl-3d", "pointmass-currot", "maze-currot")


class Stored:
    """What a table reads of a stored run."""

    def __init__(self, seed, reward, success, best):
        self.seed, self.cpu_seconds = seed, 10.0 * (seed + 1)
        self.teacher_seconds = 0.2
        self.result = {"target_reward": reward, "target_success": success}
        measured = [best, success]
        self.records = [{"iteration": i, "target_success": s} for i, s in enumerate(measured)]


def group(teacher, *runs):
    return Group("pointmass-spdl", teacher, tuple(Stored(i, *run) for i, run in enumerate(runs)))


def test_runs_that_had_the_target_and_lost_it_are_counted():
    found = group("mastery", (9.0, 1.0, 1.0), (0.4, 0.0, 0.95), (0.5, 0.0, 0.3))
    assert kept(found) == (2, 1)
    assert lowest(found) == "0.00 (seed 1, update 1)"
    assert lowest(group("target", (0.5, 0.0, 0.3))) == "never reached"


def test_a_table_has_every_seed_and_the_difference_of_shared_seeds():
    members = {
        "mastery": group("mastery", (9.0, 1.0, 1.0), (10.0, 1.0, 1.0)),
        "threshold": group("threshold", (8.0, 1.0, 1.0), (9.0, 1.0, 1.0)),
    }
    text = table("pointmass-spdl", members)
    scores = "| mastery | 2 | 9.50 | 9.50 [9.00, 10.00] | 9.00, 10.00 | 1.00 | 2, 0"
    assert f"{scores} | 1.00 (seed 0, update 0) | 15 | 1.0% to 2.0% |" in text
    assert "Mastery minus threshold, 2 shared seeds: +1.00 [+1.00, +1.00]." in text


def test_the_document_has_a_place_for_every_experiment():
    document = DOCUMENT.read_text(encoding="utf-8")
    members = {"mastery": group("mastery", (9.0, 1.0, 1.0))}
    for name in NAMES:
        made = filled(document, {name: members})
        assert table(name, members) in made
        again = filled(made, {name: members})  # and it is replaced, not added
        assert again == made
    assert np.all([f"`{name}`" in document for name in NAMES])
