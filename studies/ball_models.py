"""Which cheap models tell the catches that are real from those that exploit a model.

Final policies of stored runs, most of which solve Ball-in-a-Cup in the model that they were learned
in, on the target. From the project's folder, with files of packed results or folders of runs:

    python -m studies.ball_models results/studies/ball-in-a-cup-*.packed

It prints the success rate of every policy in every model. Then, for every model and for the two
that `ANY_STRING` draws from: how many policies are solved in it (in both), and how many of those
are solved in the reference; and the CPU ms of a rollout.
"""

import argparse
import time

import numpy as np

from selfpaced import load
from selfpaced.maths.arrays import Array
from studies.ball_policies import caught, movements
from studies.tables import line

REFERENCE = "20 links, 0.25 ms"
MODELS = {  # number of links, substeps of 2 ms, factor of the string's length
    "20 links, 1 ms": (20, 2, 1.0),
    "20 links, 0.5 ms": (20, 4, 1.0),
    "10 links, 1 ms": (10, 2, 1.0),
    "10 links, 0.5 ms": (10, 4, 1.0),
    "10 links, 0.5 ms, 98.5%": (10, 4, 0.985),
    "14 links, 0.5 ms, 99.2%": (14, 4, 0.992),
    REFERENCE: (20, 8, 1.0),
}
DRAWN = ("20 links, 1 ms", "10 links, 0.5 ms, 98.5%")
LEARNED, SOLVED = 0.7, 0.85  # success rates: of a run to be looked at, and in a model


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rollouts", type=int, default=16, help="of every policy in every model")
    given = parser.parse_args()
    names: list[str] = []
    drawn: list[Array] = []
    rng = np.random.default_rng(0)
    for experiment, members in load(*given.paths).items():
        for algorithm, group in members.items():
            for run in group.runs:
                if run.result["target_success"] >= LEARNED:
                    names.append(f"{experiment} {algorithm} {run.seed}")
                    drawn.append(movements(run, given.rollouts, rng))
    thetas = np.concatenate(drawn)
    rates: dict[str, Array] = {}
    cost: dict[str, float] = {}
    for name, (links, substeps, length) in MODELS.items():
        started = time.process_time()
        catches = caught(links, substeps, thetas, np.full(len(thetas), length))
        cost[name] = 1000 * (time.process_time() - started) / len(thetas)
        rates[name] = catches.reshape(len(names), given.rollouts).mean(axis=1)
    line("policy", *MODELS)
    line(*["---"] * (1 + len(MODELS)))
    for row, name in enumerate(names):
        line(name, *(f"{rates[model][row]:.2f}" for model in MODELS))
    print()
    line("model", "solved in it", "of these in the reference", "mean difference", "CPU ms")
    line(*["---"] * 5)
    real = rates[REFERENCE] >= SOLVED
    both = np.minimum(*(rates[model] for model in DRAWN))
    half = sum(cost[model] for model in DRAWN) / len(DRAWN)
    for name, rate, price in (
        *((model, rates[model], cost[model]) for model in MODELS),
        ("both of " + " and ".join(DRAWN), both, half),
    ):
        solved = rate >= SOLVED
        apart = np.abs(rate - rates[REFERENCE]).mean()
        line(name, str(solved.sum()), str((solved & real).sum()), f"{apart:.2f}", f"{price:.0f}")


if __name__ == "__main__":
    main()
