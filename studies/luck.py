"""How fast a policy narrows on rewards that mean nothing.

Every rollout gets a random reward, so there is nothing to learn, and whatever entropy goes is lost
to chance: a Gaussian fitted to few weighted samples is too narrow on average, and the next samples
come from it. With the batch and buffer of `sprl-ready` on each task, with and without asking for
evidence. From the project's folder:

    python studies/luck.py docs/images/luck.png
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from selfpaced import SPRL, Experiment, Problem, Readiness, Ready, Samples
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.experiments.reacher import REACHER_KINEMATIC

UPDATES, SEEDS = 100, 5
WAITING = Readiness(search=False, mastered=1.0, lost=0.0)  # contexts stay where they are
RULES = {
    "fitted as in the paper": ("#D55E00", Ready(pace=WAITING, narrow_by_evidence=False)),
    "narrowed by evidence": ("#0072B2", Ready(pace=WAITING)),
}


def entropies(problem: Problem, numbers: SPRL, seed: int) -> np.ndarray:
    """Nats per dimension, after each update on random rewards."""
    learner, rng = numbers.learner(problem), np.random.default_rng(seed)
    found = []
    while len(found) < UPDATES:
        contexts, thetas = learner.ask(rng)
        rewards = rng.random(len(thetas))
        successes = (rng.random(len(thetas)) < 0.5).astype(float)
        if learner.tell(Samples(contexts, thetas, rewards, successes)):
            found.append(learner.policy.entropy / learner.policy.dimension)
    return np.array(found)


def draw(axes: plt.Axes, experiment: Experiment) -> None:
    """Curves of one task; prints what is lost per update."""
    problem, numbers = experiment.problem(), experiment.algorithms["sprl-ready"]
    assert isinstance(numbers, SPRL)
    start = problem.initial_policy.entropy / problem.initial_policy.dimension
    for name, (color, ready) in RULES.items():
        made = SPRL(n_samples=numbers.n_samples, ready=ready)
        lost = np.array([entropies(problem, made, seed) - start for seed in range(SEEDS)])
        axes.plot(lost.T, color=color, lw=0.8, alpha=0.5)
        axes.plot(np.median(lost, axis=0), color=color, lw=2, label=name)
        rates = np.diff(lost[:, [UPDATES // 4, UPDATES - 1]])[:, 0] / (0.75 * UPDATES)
        print(f"{experiment.name}, {name}: {np.median(rates):.4f} nats per dimension and update")
    axes.set_title(experiment.title, fontsize=10)
    axes.set_xlabel("updates on random rewards")


def main(path: str) -> None:
    """Print the rates and draw the figure."""
    figure, row = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
    for axes, experiment in zip(
        row, (GATE_PRECISION, REACHER_KINEMATIC, BALL_IN_A_CUP), strict=True
    ):
        draw(axes, experiment)
    row[0].set_ylabel("entropy gained, nats per dimension")
    row[0].legend(fontsize=8, loc="lower left")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
