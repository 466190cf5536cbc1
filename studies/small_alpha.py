"""The dual before the paper augments it (appendix A), for alpha from 1e-3 to 1e3.

Samples come from SPRL on the way (gate-precision and ball-in-a-cup). For every alpha both duals
are minimised on the same samples: ours by `sprl_weights`, the un-augmented one as printed, by
L-BFGS-B from the start that the authors' program uses. From the project's folder:

    python studies/small_alpha.py docs/images/small-alpha.png
"""

import sys
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.experiments.experiment import Experiment
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.learners.sprl import SPRL
from selfpaced.maths.reps import sprl_weights
from selfpaced.types import Samples

ALPHAS = np.geomspace(1e-3, 1e3, 25)
LARGEST_EXPONENT = np.log(np.finfo(float).max)  # 709.8: exp of more is infinite


class Data(NamedTuple):
    """One update's samples."""

    rewards: np.ndarray
    log_ratio: np.ndarray  # log mu(c) - log q(c)
    features: np.ndarray
    epsilon: float


class Answer(NamedTuple):
    """What came of minimising a dual."""

    exponent: float  # the largest that a soft maximum or expectation over contexts had to take
    mass: float  # of the new context distribution: 1 at the minimum
    kl: float  # of the policy's weights from uniform ones: epsilon at the minimum
    finite: bool  # and, of ours, converged


def on_the_way(experiment: Experiment, iterations: int, seed: int = 0) -> Data:
    """What the paper's SPRL looks at in the update of that iteration."""
    problem, config = experiment.problem(), experiment.algorithms["sprl"]
    assert isinstance(config, SPRL)
    learner, rng = config.learner(problem), np.random.default_rng(seed)
    batches: list[Samples] = []
    drawn_from = learner.contexts
    for _ in range(iterations + config.buffer_size - 1):
        drawn_from = learner.contexts
        contexts, thetas = learner.ask(rng)
        outcomes = problem.task.evaluate(contexts, thetas, rng)
        shifted = outcomes.rewards + problem.reward_shift
        batches = [*batches, Samples(contexts, thetas, shifted, outcomes.successes)]
        batches = batches[-config.buffer_size :]
        learner.tell(batches[-1])
    contexts = np.concatenate([batch.contexts for batch in batches])
    ratio = problem.target.log_prob(contexts) - drawn_from.log_prob(contexts)
    rewards = np.concatenate([batch.rewards for batch in batches])
    return Data(rewards, ratio, problem.value_features(contexts), config.epsilon)


def un_augmented(data: Data, alpha: float) -> Answer:
    """G(eta, V) = eta eps + eta log E[exp(A / eta)] + alpha / e E[exp(log mu / q + V / alpha)].

    Its minimum has context weights exp(log mu / q + V / alpha - 1) with mean 1. L-BFGS-B and the
    start are those of the authors' program: eta 1000, V by ridge regression of the rewards.
    """
    R, phi, eps, n = data.rewards, data.features, data.epsilon, len(data.rewards)
    largest = -np.inf

    def dual(z: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal largest
        eta, v = z[0], z[1:]
        x = (R - phi @ v) / eta
        top = x.max()
        w = np.exp(x - top)
        soft = top + np.log(w.mean())
        w /= w.sum()
        exponent = data.log_ratio + phi @ v / alpha
        largest = max(largest, float(exponent.max()))
        u = np.exp(exponent - 1.0)  # overflows where the exponent is above 709
        value = eta * eps + eta * soft + alpha * u.mean() + 1e-5 * (v @ v)
        gradient = np.r_[eps + soft - w @ x, phi.T @ (u / n - w) + 2e-5 * v]
        return value, gradient

    ridge = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(phi.shape[1]), phi.T @ R)
    bounds = [(1e-10, None), *[(None, None)] * phi.shape[1]]
    with np.errstate(over="ignore", invalid="ignore"):
        found = minimize(
            dual, np.r_[1000.0, ridge], jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 5000, "maxfun": 5000},
        )  # fmt: skip
        eta, v = found.x[0], found.x[1:]
        x = (R - phi @ v) / eta
        w = np.exp(x - x.max())
        w /= w.sum()
        mass = float(np.exp(data.log_ratio + phi @ v / alpha - 1.0).mean())
    return Answer(largest, mass, kl_of(w), bool(np.isfinite(found.fun) and np.isfinite(mass)))


def ours(data: Data, alpha: float) -> Answer:
    """Eq. 9 by Newton's method."""
    weights = sprl_weights(
        data.rewards, data.log_ratio, data.features,
        alpha=alpha, epsilon=data.epsilon, ridge=1e-5,
    )  # fmt: skip
    mass, largest = float(weights.contexts.sum()), 0.0  # soft maxima take their largest out first
    return Answer(largest, mass, kl_of(weights.policy), weights.converged)


def kl_of(w: np.ndarray) -> float:
    """KL(w || uniform) of weights that sum to 1."""
    positive = w[w > 0]
    return float(positive @ np.log(positive * len(w)))


def main(path: str) -> None:
    """Print the table and draw the figure."""
    settings = {
        'Gate "precision", iteration 1': on_the_way(GATE_PRECISION, 1),
        'Gate "precision", iteration 150': on_the_way(GATE_PRECISION, 150),
        "Ball-in-a-Cup, iteration 15": on_the_way(BALL_IN_A_CUP, 15),
    }
    figure, rows = plt.subplots(
        2, len(settings), figsize=(11, 5.2), sharex=True, layout="constrained"
    )
    for column, (title, data) in zip(rows.T, settings.items(), strict=True):
        printed = [un_augmented(data, alpha) for alpha in ALPHAS]
        augmented = [ours(data, alpha) for alpha in ALPHAS]
        print(f"\n{title}: {len(data.rewards)} samples, epsilon {data.epsilon}")
        print("   alpha   un-augmented: exponent, mass, KL      ours: mass, KL, converged")
        for alpha, p, a in zip(ALPHAS, printed, augmented, strict=True):
            left = f"{p.exponent:12.4g} {p.mass:10.3g} {p.kl:8.4f}"
            print(f"{alpha:8.3g}   {left}      {a.mass:6.3f} {a.kl:8.4f} {a.finite}")
        exponents = [max(p.exponent, 1.0) for p in printed]
        column[0].loglog(ALPHAS, exponents, "o-", ms=3, color="#D55E00")
        column[0].axhline(LARGEST_EXPONENT, color="0.4", ls=":")
        column[0].set_title(title, fontsize=10)
        kls = np.array([p.kl if p.finite else np.nan for p in printed])
        column[1].semilogx(ALPHAS, kls, "o-", ms=3, color="#D55E00", label="as printed, L-BFGS-B")
        ends = [a.kl if a.finite else np.nan for a in augmented]
        column[1].semilogx(ALPHAS, ends, "s-", ms=3, color="#0072B2", label="augmented, Newton")
        column[1].axhline(data.epsilon, color="0.4", ls=":")
        column[1].set_ylim(-0.2, 4.8)
        column[1].set_xlabel("alpha")
    rows[0, 0].set_ylabel("largest exponent over contexts")
    at = (1e3, 1.3 * LARGEST_EXPONENT)
    rows[0, 0].annotate("exp overflows above", at, ha="right", fontsize=8)
    rows[1, 0].set_ylabel("KL of the policy weights")
    at = (1e3, 1.5 * settings[next(iter(settings))].epsilon)
    rows[1, 0].annotate("epsilon; left out where infinite", at, ha="right", fontsize=8)
    rows[1, -1].legend(fontsize=8)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
