"""How exactly a learned catch needs the length of the string, in several models.

Final policies of stored runs that solve Ball-in-a-Cup, on the target. From the project's folder:

    python -m studies.string_lengths results/ball-in-a-cup.packed --seeds 100 101

It prints, for every policy and model, the success rate for each length of the string. The damping
is that with which the string bends like the authors'.
"""

import argparse

import numpy as np

from selfpaced import load
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.tasks.ball_in_a_cup import set_points, success
from selfpaced.tasks.mujoco.wam_rollouts import Arena
from selfpaced.tasks.string_models import DrawnStrings, Fidelity, equal_bending
from selfpaced.tasks.threads import processors, sharing_threads
from studies.tables import line

LENGTHS = (0.97, 0.98, 0.985, 0.99, 0.995, 1.0, 1.005, 1.01, 1.015, 1.02, 1.03)  # factors
MODELS = {"10 links, 1 ms": (10, 2), "20 links, 1 ms": (20, 2), "20 links, 0.25 ms": (20, 8)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--algorithm", default="sprl-mastery")
    parser.add_argument("--rollouts", type=int, default=16, help="for each length")
    given = parser.parse_args()
    problem = BALL_IN_A_CUP.built_problem()
    (group,) = (members[given.algorithm] for members in load(given.path).values())
    line("seed", "model", *(f"{100 * length:g}%" for length in LENGTHS))
    line(*["---"] * (2 + len(LENGTHS)))
    for run in group.runs:
        if run.seed not in given.seeds:
            continue
        contexts = np.ones((given.rollouts * len(LENGTHS), 1))
        assert isinstance(run.policy, LinearGaussianPolicy)
        rng = np.random.default_rng(0)
        thetas = run.policy.sample(contexts, rng, problem.task.theta_space)
        lengths = np.repeat(LENGTHS, given.rollouts)
        for name, (links, substeps) in MODELS.items():
            damping = equal_bending(links)
            arena = Arena([Fidelity(links, 0.0015, substeps, damping)])
            model = np.zeros(len(contexts), dtype=np.int64)
            strings = DrawnStrings(model, np.full(len(contexts), damping), lengths)
            with sharing_threads(processors()):
                rollouts = arena.simulate(contexts[:, 0], *set_points(thetas), strings)
            caught = success(rollouts, contexts).reshape(len(LENGTHS), given.rollouts)
            line(str(run.seed), name, *(f"{share:.2f}" for share in caught.mean(axis=1)))


if __name__ == "__main__":
    main()
