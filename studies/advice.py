"""What health says of badly chosen settings, and what following its advice gains.

From the project's folder, about five CPU minutes:

    python -m studies.advice --seeds 10

Every case is a configuration for the gate task "precision" that a user might try, beside the same
one with a thing changed that health tells to try. The table shows how many seeds end at 0.9
or more on the target, and of which kind the findings are.
"""

import argparse
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from selfpaced import SPRL, Alpha, FractionOfReward, Run, train
from selfpaced.experiments.gate import GATE_PRECISION

SOLVED = 0.9
SLOW = Alpha(schedule=FractionOfReward(zeta=1e-4, k_alpha=140, alpha_max=2.5))
BOLD = SPRL(epsilon=5.0, n_samples=20, buffer_size=5)
STARVED = SPRL(n_samples=10, buffer_size=5)


class Case(NamedTuple):
    """A configuration, and the same with the advice followed."""

    name: str
    """What is wrong, in words."""
    tried: SPRL
    """What a user might try."""
    advised: SPRL
    """What health makes of it."""
    rollouts: int
    """Rollouts of every run."""


CASES = (
    Case(
        "a schedule with a zeta of 1e-4",
        SPRL(pacing=SLOW, n_samples=100),
        SPRL(pacing=replace(SLOW, schedule=replace(SLOW.schedule, zeta=0.02)), n_samples=100),
        35_000,
    ),
    Case("epsilon 5, a buffer of 100 rollouts", BOLD, replace(BOLD, buffer_size=None), 20_000),
    Case("a buffer of 50 rollouts", STARVED, replace(STARVED, buffer_size=None), 20_000),
)


def runs(config: SPRL, rollouts: int, seeds: list[int]) -> list[Run]:
    """One run per seed."""
    problem, iterations = GATE_PRECISION.built_problem(), rollouts // config.n_samples
    return [train(problem, config, seed=seed, iterations=iterations) for seed in seeds]


def in_words(done: list[Run]) -> str:
    """How many runs are solved, and the kinds of the findings of all."""
    solved = sum(run.success >= SOLVED for run in done)
    kinds = Counter(finding.kind for run in done for finding in run.health())
    found = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return f"{solved} of {len(done)} | {found or 'none'}"


def main() -> None:
    """Run all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    seeds = list(range(options.first, options.first + options.seeds))
    print("| tried | solved | findings | what to try | solved then | findings |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        before = runs(case.tried, case.rollouts, seeds)
        found = [finding for run in before for finding in run.health()]
        kind = Counter(finding.kind for finding in found).most_common(1)[0][0]
        advice = next(finding.to_try for finding in found if finding.kind == kind)
        after = runs(case.advised, case.rollouts, seeds)
        print(f"| {case.name} | {in_words(before)} | {advice} | {in_words(after)} |", flush=True)


if __name__ == "__main__":
    main()
