"""Which uncertainty of a robot's world costs learned catches: each of `ROBOT` alone, and all.

Final policies of stored runs that solve Ball-in-a-Cup, on the target, with strings that are drawn
as in learning. From the project's folder:

    python -m studies.ball_worlds results/ball-in-a-cup.packed --seeds 100 101 102

It prints the success rate of every policy in worlds that differ in one quantity, and the medians.
"""

from dataclasses import asdict

import numpy as np

from selfpaced.tasks.ball_in_a_cup import ROBOT, BallInACup
from selfpaced.tasks.randomisation import Randomisation
from selfpaced.tasks.string_models import ANY_STRING
from studies.ball_policies import arguments, chosen_runs, movements
from studies.tables import line

WORLDS = {
    "model": Randomisation(),
    **{name: Randomisation(**{name: size}) for name, size in asdict(ROBOT).items()},
    "all": ROBOT,
}


def main() -> None:
    """Print the table."""
    given = arguments(__doc__, 32, "in each kind of world")
    tasks = {name: BallInACup(ANY_STRING, world) for name, world in WORLDS.items()}
    contexts = np.ones((given.rollouts, 1))
    line("seed", *WORLDS)
    line(*["---"] * (1 + len(WORLDS)))
    rates: list[list[float]] = []
    for run in chosen_runs(given):
        thetas = movements(run, given.rollouts, np.random.default_rng(0))
        rates.append(
            [
                float(task.evaluate(contexts, thetas, np.random.default_rng(1)).successes.mean())
                for task in tasks.values()
            ]
        )
        line(str(run.seed), *(f"{rate:.2f}" for rate in rates[-1]))
    line("median", *(f"{rate:.2f}" for rate in np.median(rates, axis=0)))


if __name__ == "__main__":
    main()
