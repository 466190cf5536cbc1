"""What is said of where a number comes from."""

import numpy as np
import pytest

from selfpaced.experiments import EXPERIMENTS
from selfpaced.experiments.value_sources import PAPERS, SOURCES, flat, source_of
from selfpaced.store.files import plain

CASES = [(name, algorithm) for name in sorted(PAPERS) for algorithm in EXPERIMENTS[name].algorithms]


def usual(experiment, algorithm):
    return dict(flat(plain(EXPERIMENTS[experiment].algorithms[algorithm])))


@pytest.mark.parametrize(("experiment", "algorithm"), CASES)
def test_every_value_of_the_papers_algorithms_has_a_source(experiment, algorithm):
    config = usual(experiment, algorithm)
    for path, value in config.items():
        inside, dot, _ = path.rpartition(".")
        known = config.get(f"{inside}{dot}type") in SOURCES
        if known and isinstance(value, int | float | list):
            assert source_of(experiment, algorithm, path, value), path


@pytest.mark.parametrize(
    ("experiment", "algorithm", "path", "source"),
    [
        ("gate-precision", "sprl", "epsilon", "paper, Table 1"),
        ("gate-precision", "sprl", "pacing.schedule.alpha_max", "the authors' program"),
        ("reacher", "sprl", "pacing.variance_floor.until_kl", "paper, appendix"),
        ("ball-in-a-cup", "creps", "buffer_size", "paper, Table 1"),
        ("ball-in-a-cup", "goalgan", "buffer_size", "the authors' program; 5 for C-REPS"),
        ("gate-precision", "goalgan", "teacher.train_every", "paper, Table 2; 3 in the authors'"),
        ("gate-global", "goalgan", "teacher.train_every", "paper, Table 2"),
        ("gate-global", "saggriac", "teacher.window", "paper, Table 2, columns exchanged"),
        ("reacher", "cmaes", "n_samples", "as many rollouts as SPRL has"),
        ("reacher", "goalgan", "teacher.steps", "the authors' program"),
        ("reacher", "ppo", "steps", "paper, appendix"),
        ("reacher-easy", "ppo", "clip", "the authors' program"),
    ],
)
def test_the_source_is_that_of_the_comment_beside_the_value(experiment, algorithm, path, source):
    found = source_of(experiment, algorithm, path, usual(experiment, algorithm)[path])
    assert found.startswith(source)


def test_a_value_that_differs_was_set_by_hand():
    assert source_of("gate-precision", "sprl", "epsilon", 0.3) == "set by hand (usually 0.4)"
    said = source_of("reacher", "sprl", "pacing.schedule.type", "FractionOfGain")
    assert said == "set by hand (usually FractionOfReward)"


def test_nothing_is_said_of_what_is_not_the_papers():
    assert source_of("reacher-kinematic", "sprl", "epsilon", 0.5) == ""
    assert source_of("throw", "sprl", "epsilon", 0.4) == ""
    assert source_of("gate-precision", "mine", "epsilon", 0.4) == ""
    assert source_of("gate-precision", "sprl", "no_such_number", np.pi) == ""
