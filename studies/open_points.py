"""What the paper leaves open, measured: its SPRL with one thing changed at a time.

From the project's folder:

    selfpaced run studies.open_points:PRECISION --seeds 20 --out runs-open
    selfpaced run studies.open_points:BALL --seeds 3 --out runs-open
    python -m studies.open_points docs/images/open-points.png runs-open \
        results/studies/ball-in-a-cup-coarse.packed

The last draws them. Ours are in `results/studies`, where the runs of the coarse Ball-in-a-Cup's
`sprl` are the variant "paper".
"""

import sys
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from selfpaced import SPRL, Alpha, Experiment, FractionOfReward, load
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.maths.schedule import Progress
from selfpaced.report.data import Group
from selfpaced.report.figures import new_figure, tidy
from selfpaced.types import Algorithm
from studies.coarse_ball import COARSE


@dataclass(frozen=True, kw_only=True)
class ByExactKL(FractionOfReward):
    """The paper's schedule with KL(q || mu) in closed form instead of its mean over the buffer."""

    def alpha(self, progress: Progress) -> float:
        return super().alpha(progress._replace(kl=progress.exact_kl))


def variants(experiment: Experiment, entropy: float, dimensions: int) -> Experiment:
    """The paper's SPRL, and with each change. `entropy` is that of the initial policy."""
    paper = experiment.algorithms["sprl"]
    assert isinstance(paper, SPRL)
    assert isinstance(paper.pacing, Alpha)
    assert isinstance(paper.pacing.schedule, FractionOfReward)
    pacing, schedule = paper.pacing, paper.pacing.schedule
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
            "derived-weights": replace(paper, pacing=replace(pacing, policy_weights="derived")),
            "exact-kl": replace(paper, pacing=replace(pacing, schedule=exact)),
            **bounds,
        },
    )


def entropy_of(variances: np.ndarray) -> float:
    """Of a Gaussian with these variances, in nats."""
    return float(0.5 * np.log(2 * np.pi * np.e * variances).sum())


PRECISION = variants(GATE_PRECISION, entropy_of(np.full(14, 100.0)), 14)
BALL = variants(COARSE, entropy_of(0.4 * np.tile([5.0, 5.0, 3.0], 5)), 15)


POINTS = {
    "policy weights": {"derived-weights": "derived (appendix A)"},
    "KL in the schedule": {"exact-kl": "in closed form"},
    "entropy bound": {
        "entropy-bound-0.1": "10% of the deviations",
        "entropy-bound-0.03": "3% of the deviations",
    },
}
LOOK = {
    "paper": "0.35",
    "derived-weights": "#D55E00",
    "exact-kl": "#0072B2",
    "entropy-bound-0.1": "#009E73",
    "entropy-bound-0.03": "#CC79A7",
}


def stored(paths: list[str]) -> dict[str, dict[str, Group]]:
    """Variants by experiment; what is stored of the paper's own experiment is its "paper"."""
    known = load(*paths)
    found = {}
    for experiment in (PRECISION, BALL):
        own = known.get(experiment.name, {})
        plain = known.get(experiment.name.removesuffix("-open-points"), {})
        found[experiment.name] = {**({"paper": plain["sprl"]} if "sprl" in plain else {}), **own}
    return found


def draw(paths: list[str]) -> Figure:
    """Success on the target and the policy's entropy, each open point beside the paper's choice."""
    figure = new_figure(11, 9)
    rows = figure.subplots(4, len(POINTS), sharex="row", sharey="row")
    tasks = [(PRECISION, 14), (BALL, 15)]
    found = stored(paths)
    for pair, (experiment, dimensions) in zip(rows.reshape(2, 2, -1), tasks, strict=True):
        members = found[experiment.name]
        for column, (point, names) in zip(pair.T, POINTS.items(), strict=True):
            for name, label in {"paper": "paper's SPRL", **names}.items():
                group = members[name]
                for axes, metric, unit in (
                    (column[0], "target_success", 1),
                    (column[1], "entropy", dimensions),
                ):
                    x, values = group.curve(metric)
                    thin = 0.25 if len(group.runs) > 10 else 0.5
                    axes.plot(x, values.T / unit, color=LOOK[name], lw=0.6, alpha=thin)
                    middle = np.median(values, axis=0) / unit
                    label = f"{label}, {len(group.runs)} seeds" if metric == "entropy" else label
                    axes.plot(x, middle, color=LOOK[name], lw=2.2, label=label)
            title = experiment.title.removesuffix(", the paper's open points")
            column[0].set_title(f"{title}: {point}", fontsize=10)
            column[1].legend(fontsize=8, frameon=False, loc="best")
            for axes in column:
                tidy(axes)
        pair[0, 0].set_ylabel("success on the target")
        pair[1, 0].set_ylabel("policy entropy,\nnats per dimension")
    for axes in rows[-1]:
        axes.set_xlabel("iteration")
    return figure


if __name__ == "__main__":
    draw(sys.argv[2:]).savefig(sys.argv[1], dpi=130)
