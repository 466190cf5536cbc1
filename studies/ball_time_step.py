"""How far the ball is from where much shorter time steps bring it, and since when.

Movements of final policies of stored runs, on the target, with 20 links. From the project's folder:

    python -m studies.ball_time_step results/ball-in-a-cup.packed --seeds 100 101

It prints, for every policy and time step, the median distance in millimetres from the ball of the
shortest time step, over a few movements, at several times; and the success rate.
"""

import argparse

import numpy as np

from selfpaced import load
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.tasks.ball_in_a_cup import BallInACup, success
from selfpaced.tasks.string_models import FREQUENCY, Fidelity, equal_bending
from selfpaced.tasks.threads import processors, sharing_threads
from studies.tables import line

LINKS, MARGIN = 20, 0.0015
SUBSTEPS = (32, 8, 4, 2)  # per control step of 2 ms; the first is what the others are compared with
TIMES = (0.6, 0.9, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)  # seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--algorithm", default="sprl-mastery")
    parser.add_argument("--rollouts", type=int, default=8, help="movements of each policy")
    given = parser.parse_args()
    space = BALL_IN_A_CUP.built_problem().task.theta_space
    steps = np.round(np.array(TIMES) * FREQUENCY).astype(int)
    (group,) = (members[given.algorithm] for members in load(given.path).values())
    line("seed", "time step, ms", *(f"{time:g} s" for time in TIMES), "success")
    line(*["---"] * (3 + len(TIMES)))
    for run in group.runs:
        if run.seed not in given.seeds:
            continue
        contexts = np.ones((given.rollouts, 1))
        assert isinstance(run.policy, LinearGaussianPolicy)
        thetas = run.policy.sample(contexts, np.random.default_rng(0), space)
        shortest = None
        for substeps in SUBSTEPS:
            task = BallInACup(Fidelity(LINKS, MARGIN, substeps, equal_bending(LINKS)))
            with sharing_threads(processors()):
                rollouts = task.simulate(contexts, thetas, np.random.default_rng(0))
            balls = rollouts.balls[:, steps]
            shortest = balls if shortest is None else shortest
            apart = 1000 * np.median(np.linalg.norm(balls - shortest, axis=2), axis=0)
            rate = success(rollouts, contexts).mean()
            length = f"{1000 / FREQUENCY / substeps:g}"
            line(str(run.seed), length, *(f"{mm:.1f}" for mm in apart), f"{rate:.2f}")


if __name__ == "__main__":
    main()
