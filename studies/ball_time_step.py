"""How far the ball is from where much shorter time steps bring it, and since when.

Movements of final policies of stored runs, on the target, with 20 links. From the project's folder:

    python -m studies.ball_time_step results/ball-in-a-cup.packed --seeds 100 101

It prints, for every policy and time step, the median distance in millimetres from the ball of the
shortest time step, over a few movements, at several times; and the success rate.
"""

import numpy as np

from selfpaced.tasks.ball_in_a_cup import BallInACup, success
from selfpaced.tasks.string_models import FREQUENCY, Fidelity, equal_bending
from selfpaced.tasks.threads import processors, sharing_threads
from studies.ball_policies import MARGIN, arguments, chosen_runs, movements
from studies.tables import line

LINKS = 20
SUBSTEPS = (32, 8, 4, 2)  # per control step of 2 ms; the first is what the others are compared with
TIMES = (0.6, 0.9, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)  # seconds


def main() -> None:
    """Print the table."""
    given = arguments(__doc__, 8, "movements of each policy")
    steps = np.round(np.array(TIMES) * FREQUENCY).astype(int)
    line("seed", "time step, ms", *(f"{time:g} s" for time in TIMES), "success")
    line(*["---"] * (3 + len(TIMES)))
    contexts = np.ones((given.rollouts, 1))
    for run in chosen_runs(given):
        thetas = movements(run, given.rollouts, np.random.default_rng(0))
        shortest = None
        for substeps in SUBSTEPS:
            task = BallInACup(Fidelity(LINKS, MARGIN, substeps, equal_bending(LINKS)))
            with sharing_threads(processors()):
                rollouts = task.simulate(contexts, thetas, np.random.default_rng(0))
            balls = rollouts.balls[:, steps]
            shortest = balls if shortest is None else shortest
            apart = 1000 * np.median(np.linalg.norm(balls - shortest, axis=2), axis=0)
            length = f"{1000 / FREQUENCY / substeps:g}"
            rate = success(rollouts, contexts).mean()
            line(str(run.seed), length, *(f"{mm:.1f}" for mm in apart), f"{rate:.2f}")


if __name__ == "__main__":
    main()
