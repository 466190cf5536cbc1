"""One teacher, two kinds of learner: C-REPS on the gate, and PPO on the point mass.

A teacher knows the box of contexts and the target; who learns is not its business.

    python examples/same_teacher.py
"""

from dataclasses import replace

import numpy as np

from selfpaced import CREPS, SelfPacedThreshold, experiment, train

TEACHER = SelfPacedThreshold(threshold=0.6)


def main(iterations=200, steps=10):
    gate = experiment("gate-precision")
    run = train(gate.problem(), CREPS(n_samples=100, teacher=TEACHER), iterations=iterations)
    print(f"C-REPS, gate: {run.success:.0%} on the target, {_where(run)}")
    ppo = replace(experiment("pointmass-ppo").algorithm("threshold"), teacher=TEACHER)
    run = train(experiment("pointmass-ppo").problem(), ppo, iterations=steps)
    print(f"PPO, point mass, after {steps} iterations: {run.success:.0%}, {_where(run)}")


def _where(run):
    last = run.records[-1]
    spread = np.sqrt(np.diagonal(last["context_covariance"]))
    return f"contexts at {np.round(last['context_mean'], 2)}, deviations {np.round(spread, 2)}"


if __name__ == "__main__":
    main()
