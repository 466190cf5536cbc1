"""What the paper leaves open, measured: its SPRL with one thing changed at a time.

From the project's folder:

    selfpaced run studies.open_points:PRECISION --seeds 20 --out runs-open
    selfpaced run studies.open_points:BALL --seeds 5 --out runs-open
    selfpaced report runs-open --out open-points.html
"""

from dataclasses import dataclass, replace

import numpy as np

from selfpaced import SPRL, Experiment, FractionOfReward
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.learners.schedule import Progress
from selfpaced.types import Algorithm


@dataclass(frozen=True, kw_only=True)
class ByExactKL(FractionOfReward):
    """The paper's schedule with KL(q || mu) in closed form instead of its mean over the buffer."""

    def alpha(self, progress: Progress) -> float:
        return super().alpha(progress._replace(kl=progress.exact_kl))


def variants(experiment: Experiment, entropy: float, dimensions: int) -> Experiment:
    """The paper's SPRL, and with each change. `entropy` is that of the initial policy."""
    paper = experiment.algorithms["sprl"]
    assert isinstance(paper, SPRL)
    assert isinstance(paper.schedule, FractionOfReward)
    schedule = paper.schedule
    exact = ByExactKL(zeta=schedule.zeta, k_alpha=schedule.k_alpha, alpha_max=schedule.alpha_max)
    # The least entropy is that of the initial policy with this share of its deviations.
    bounds: dict[str, Algorithm] = {
        f"entropy-bound-{share}": replace(paper, min_entropy=entropy + dimensions * np.log(share))
        for share in (0.1, 0.03)
    }
    return replace(
        experiment,
        name=f"{experiment.name}-open-points",
        title=f"{experiment.title}, the paper's open points",
        algorithms={
            "paper": paper,
            "derived-weights": replace(paper, policy_weights="derived"),
            "exact-kl": replace(paper, schedule=exact),
            **bounds,
        },
    )


def entropy_of(variances: np.ndarray) -> float:
    """Of a Gaussian with these variances, in nats."""
    return float(0.5 * np.log(2 * np.pi * np.e * variances).sum())


PRECISION = variants(GATE_PRECISION, entropy_of(np.full(14, 100.0)), 14)
BALL = variants(BALL_IN_A_CUP, entropy_of(0.4 * np.tile([5.0, 5.0, 3.0], 5)), 15)
