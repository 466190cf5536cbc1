"""What the studies of Ball-in-a-Cup's models share: final policies, and what they catch."""

import argparse
from collections.abc import Iterator

import numpy as np

from selfpaced import load
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.maths.arrays import Array
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.store.reading import StoredRun
from selfpaced.tasks.ball_in_a_cup import set_points, success
from selfpaced.tasks.mujoco.wam_rollouts import Arena
from selfpaced.tasks.string_models import DrawnStrings, Fidelity, equal_bending
from selfpaced.tasks.threads import processors, sharing_threads

MARGIN = 0.0015  # metres, as of the models that learning uses


def arguments(description: str | None, rollouts: int, of_what: str) -> argparse.Namespace:
    """The arguments of a study of single policies; `rollouts` is the default number of them."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("path")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--algorithm", default="sprl-mastery")
    parser.add_argument("--rollouts", type=int, default=rollouts, help=of_what)
    return parser.parse_args()


def chosen_runs(given: argparse.Namespace) -> Iterator[StoredRun]:
    """The runs of the seeds and the algorithm that were asked for."""
    (group,) = (members[given.algorithm] for members in load(given.path).values())
    return (run for run in group.runs if run.seed in given.seeds)


def movements(run: StoredRun, n: int, rng: np.random.Generator) -> Array:
    """(n, 15): what the final policy of a run draws for the real cup."""
    assert isinstance(run.policy, LinearGaussianPolicy)
    space = BALL_IN_A_CUP.built_problem().task.theta_space
    return run.policy.sample(np.ones((n, 1)), rng, space)


def caught(links: int, substeps: int, thetas: Array, lengths: Array) -> Array:
    """(n,): 1 where a movement catches the ball with the real cup, else 0.

    `lengths` (n,) are factors of the string's length. Its damping is that of `equal_bending`.
    """
    n, damping = len(thetas), equal_bending(links)
    arena = Arena([Fidelity(links, MARGIN, substeps, damping)])
    strings = DrawnStrings(np.zeros(n, dtype=np.int64), np.full(n, damping), lengths)
    with sharing_threads(processors()):
        rollouts = arena.simulate(np.ones(n), *set_points(thetas), strings)
    return success(rollouts, np.ones((n, 1)))
