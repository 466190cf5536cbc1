"""How exactly a learned catch needs the length of the string, in several models.

Final policies of stored runs that solve Ball-in-a-Cup, on the target. From the project's folder:

    python -m studies.string_lengths results/ball-in-a-cup.packed --seeds 100 101

It prints, for every policy and model, the success rate for each length of the string. The damping
is that with which the string bends like the authors'.
"""

import numpy as np

from studies.ball_policies import arguments, caught, chosen_runs, movements
from studies.tables import line

LENGTHS = (0.97, 0.98, 0.985, 0.99, 0.995, 1.0, 1.005, 1.01, 1.015, 1.02, 1.03)  # factors
MODELS = {"10 links, 1 ms": (10, 2), "20 links, 1 ms": (20, 2), "20 links, 0.25 ms": (20, 8)}


def main() -> None:
    """Print the table."""
    given = arguments(__doc__, 16, "for each length")
    line("seed", "model", *(f"{100 * length:g}%" for length in LENGTHS))
    line(*["---"] * (2 + len(LENGTHS)))
    lengths = np.repeat(LENGTHS, given.rollouts)
    for run in chosen_runs(given):
        thetas = movements(run, len(lengths), np.random.default_rng(0))
        for name, (links, substeps) in MODELS.items():
            rates = caught(links, substeps, thetas, lengths).reshape(len(LENGTHS), -1).mean(axis=1)
            line(str(run.seed), name, *(f"{rate:.2f}" for rate in rates))


if __name__ == "__main__":
    main()
