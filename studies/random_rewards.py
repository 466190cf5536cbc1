"""What happens to a policy on rewards that mean nothing.

Every rollout gets a random reward, so there is nothing to learn, and whatever the covariance does
is chance: a Gaussian fitted to few weighted samples is too narrow on average, too narrow in some
directions and too wide in others, and the next samples come from it. With the batches of the
paper's SPRL on each task, ten of them in the buffer, with and without asking for evidence. From the
project's folder:

    python studies/random_rewards.py docs/images/random-rewards.png
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from selfpaced import SPRL, Experiment, Mastery, MasteryRule, Problem, Samples
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.experiments.reacher import REACHER_KINEMATIC
from selfpaced.maths.arrays import solve_lower
from selfpaced.maths.policy import LinearGaussianPolicy

UPDATES, SEEDS = 100, 5
WAITING = MasteryRule(search=False, mastered_from=1.0, lost_below=0.0)  # contexts stay
RULES = {
    "the fit of appendix B alone": ("#D55E00", Mastery(rule=WAITING, narrow_by_evidence=False)),
    "narrowed only by evidence": ("#0072B2", Mastery(rule=WAITING)),
}


def gained_and_spread(problem: Problem, config: SPRL, seed: int, updates: int) -> np.ndarray:
    """(updates, 2), in nats: entropy gained per dimension; how unequally, over directions."""
    learner, rng = config.learner(problem), np.random.default_rng(seed)
    found: list[tuple[float, float]] = []
    while len(found) < updates:
        contexts, thetas = learner.ask(rng)
        rewards = rng.random(len(thetas))
        successes = (rng.random(len(thetas)) < 0.5).astype(float)
        if learner.tell(Samples(contexts, thetas, rewards, successes)):
            gains = _log_deviations(problem.initial_policy, learner.policy)
            found.append((gains.mean(), gains.std()))
    return np.array(found)


def _log_deviations(old: LinearGaussianPolicy, new: LinearGaussianPolicy) -> np.ndarray:
    """(d,): by how many nats the deviations have grown, direction by direction."""
    white = solve_lower(old.chol, solve_lower(old.chol, new.covariance).T)
    return np.asarray(0.5 * np.log(np.linalg.eigvalsh(white)))


def draw(column: np.ndarray, experiment: Experiment) -> None:
    """Curves of one task; prints what is lost per update."""
    problem, config = experiment.problem(), experiment.algorithms["sprl"]
    assert isinstance(config, SPRL)
    for name, (color, pacing) in RULES.items():
        made = SPRL(n_samples=config.n_samples, buffer_size=10, pacing=pacing)
        runs = [gained_and_spread(problem, made, seed, UPDATES) for seed in range(SEEDS)]
        curves = np.moveaxis(np.array(runs), -1, 0)  # (2, seeds, updates)
        for axes, lines in zip(column, curves, strict=True):
            axes.plot(lines.T, color=color, lw=0.8, alpha=0.5)
            axes.plot(np.median(lines, axis=0), color=color, lw=2, label=name)
        gained, spread = curves
        rates = (gained[:, -1] - gained[:, UPDATES // 4]) / (0.75 * UPDATES)
        print(
            f"{experiment.name}, {name}: {np.median(rates):.4f} nats per dimension and update, "
            f"spread {np.median(spread[:, -1]):.2f} after {UPDATES}"
        )
    column[0].set_title(experiment.title, fontsize=10)
    column[1].set_xlabel("updates on random rewards")


def main(path: str) -> None:
    """Print the rates and draw the figure."""
    tasks = (GATE_PRECISION, REACHER_KINEMATIC, BALL_IN_A_CUP)
    figure, rows = plt.subplots(
        2, 3, figsize=(11, 5), sharex=True, sharey="row", layout="constrained"
    )
    for column, experiment in zip(rows.T, tasks, strict=True):
        draw(column, experiment)
    rows[0, 0].set_ylabel("entropy gained,\nnats per dimension")
    rows[1, 0].set_ylabel("spread over directions,\nnats")
    rows[1, 0].legend(fontsize=8, loc="upper left")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
