"""KL(q || mu) as the paper's schedule sees it, a mean over the buffer, beside the KL itself.

The buffer holds samples of the last iterations, whose contexts were drawn from where q was then,
and truncated to the box. From the project's folder (six minutes):

    python studies/sampled_kl.py docs/images/sampled-kl.png
"""

import sys
from dataclasses import dataclass, field, replace

import numpy as np

from selfpaced import SPRL, Alpha, Experiment, FractionOfReward
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.maths.randomness import streams_of
from selfpaced.maths.schedule import Progress
from selfpaced.report.figures import new_figure, tidy


@dataclass(frozen=True, kw_only=True)
class Noting(FractionOfReward):
    """The paper's schedule; keeps what it has looked at."""

    seen: list[Progress] = field(default_factory=list)

    def alpha(self, progress: Progress) -> float:
        self.seen.append(progress)
        return super().alpha(progress)


def looked_at(experiment: Experiment, iterations: int, seed: int = 0) -> list[Progress]:
    """What the schedule of the paper's SPRL has to go by, iteration by iteration."""
    paper = experiment.algorithms["sprl"]
    assert isinstance(paper, SPRL)
    assert isinstance(paper.pacing, Alpha)
    assert isinstance(paper.pacing.schedule, FractionOfReward)
    old = paper.pacing.schedule
    noting = Noting(zeta=old.zeta, k_alpha=old.k_alpha, alpha_max=old.alpha_max)
    paced = replace(paper, pacing=replace(paper.pacing, schedule=noting))
    training = paced.start(experiment.problem(), streams_of(seed))
    while len(noting.seen) < iterations:
        training.advance()
    return noting.seen


def main(path: str) -> None:
    """Print how far the two are apart and draw them."""
    figure = new_figure(9, 3.4)
    panels = figure.subplots(1, 2)
    for axes, experiment in zip(panels, (GATE_PRECISION, BALL_IN_A_CUP), strict=True):
        seen = looked_at(experiment, experiment.iterations)
        sampled, exact = (np.array([getattr(p, n) for p in seen]) for n in ("kl", "exact_kl"))
        axes.semilogy(exact, color="#0072B2", lw=1.8, label="in closed form")
        axes.semilogy(np.where(sampled > 0, sampled, np.nan), color="#D55E00", lw=1.2, label="mean")
        axes.set(xlabel="iteration", title=experiment.title)
        tidy(axes)
        far = exact > 1.0
        ratio = sampled / exact
        low, middle, high = np.quantile(ratio[far], [0.1, 0.5, 0.9])
        print(
            f"{experiment.name}: mean / closed form, KL above 1: median {middle:.2f} "
            f"[{low:.2f}, {high:.2f}], {far.sum()} iterations; below 1: "
            f"{np.median((sampled - exact)[~far]) if (~far).any() else np.nan:.3f} nats more, "
            f"at most 0 in {(sampled <= 0).sum()} iterations of {len(seen)}"
        )
    panels[0].set_ylabel("KL(q || mu), nats")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
