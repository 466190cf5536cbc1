"""A target with two modes: a gate far to the left or far to the right, both narrow.

python examples/two_gates.py

A Gaussian would cover everything between the modes. Here particles split, and each half goes to
its own gate when the current contexts are mastered.
"""

import numpy as np

from selfpaced import Gaussian, Mixture, Problem, experiment, train

GATE = experiment("gate-precision")  # its target is one of the two
COVARIANCE = np.diag([0.1, 0.001])
LEFT, RIGHT = Gaussian([-4.0, 0.2], COVARIANCE), Gaussian([4.0, 0.2], COVARIANCE)


def make_problem():
    """The gate task of the paper with both gates as its target, equally likely."""
    gate = GATE.problem()
    return Problem(
        gate.task,
        target=Mixture([LEFT, RIGHT]),
        initial_contexts=gate.initial_contexts,
        initial_policy=gate.initial_policy,
        value_features=gate.value_features,
    )


def main(iterations=700):
    """Train SPRL on both gates; return its success rate and the contexts that it ended with."""
    run = train(make_problem(), GATE.algorithm("sprl-mastery"), seed=0, iterations=iterations)
    contexts = np.array(run.records[-1]["context_sample"])
    print(f"{run.success:.0%} on the target; {(contexts[:, 0] > 0).mean():.0%} of contexts right")
    return run.success, contexts


if __name__ == "__main__":
    main()
