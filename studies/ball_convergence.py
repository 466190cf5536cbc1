"""Which model of Ball-in-a-Cup decides as much finer ones do, and at what price.

Rollouts of initial, half-trained and final policies are simulated in every model. Initial: the
policy and the contexts before learning. Half-trained: final policies of stored runs that do not
solve the task, on the contexts that they had reached. Final: those of runs that do, on the target.
From the project's folder, with a file of packed results or a folder of runs:

    python -m studies.ball_convergence results/ball-in-a-cup.packed --rollouts 100

It prints for every model and kind of policy: the share of rollouts with the same success as in the
reference, the median distance between the balls shortly before they first meet the cup, the share
of rollouts whose ball rests in the same place, and CPU ms per rollout. Outcomes that differ between
the two references are undecidable by refinement: they are counted apart.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from selfpaced import load
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP
from selfpaced.maths.arrays import Array
from selfpaced.maths.gaussian import Gaussian
from selfpaced.store.reading import StoredRun
from selfpaced.tasks.ball_in_a_cup import CONTROLS, BallInACup, BallRollouts, success
from selfpaced.tasks.string_models import (
    ANY_STRING,
    FAST,
    REFERENCE,
    TEN_LINKS,
    AnyString,
    Fidelity,
    equal_bending,
)
from selfpaced.tasks.threads import processors, sharing_threads


def fine(links: int, substeps: int) -> Fidelity:
    """A model whose string bends like the authors', whatever the number of its links."""
    return Fidelity(links=links, margin=0.0015, substeps=substeps, damping=equal_bending(links))


MODELS: dict[str, Fidelity | AnyString] = {
    "drawn": ANY_STRING,
    "10 links, 2 ms (fast)": FAST,
    "10 links, 1 ms, more damping": TEN_LINKS,
    "10 links, 1 ms": fine(10, 2),
    "10 links, 0.5 ms": fine(10, 4),
    "20 links, 1 ms": fine(20, 2),
    "20 links, 0.5 ms": fine(20, 4),
    "29 links, 0.5 ms": fine(29, 4),
    "40 links, 0.5 ms": fine(40, 4),
    "20 links, 0.25 ms (reference)": REFERENCE,
}
OTHER = "29 links, 0.5 ms"  # the second reference
SOLVED = 0.8  # success rate on the target from which a run counts as solved
AFTER_TOP = 25  # control steps, 50 ms
TINY = 1e-12  # variance of a scale that changes nothing
SAME_REST = 0.02  # metres between two places of rest that count as one


class Rows(NamedTuple):
    """Rollouts to simulate in every model."""

    contexts: Array
    """(n, 1): scales of the cup."""
    thetas: Array
    """(n, 15): movements."""


def rollouts_of(paths: list[str], n: int, rng: np.random.Generator) -> dict[str, Rows]:
    """n rollouts of each kind of policy; the runs of all algorithms share them out."""
    problem = BALL_IN_A_CUP.built_problem()
    box, bounds = problem.task.context_space, problem.task.theta_space
    groups = [group for members in load(*paths).values() for group in members.values()]
    runs = [run for group in groups for run in group.runs if run.policy is not None]
    runs = [run for run in runs if "context_mean" in run.records[-1]]
    contexts = problem.initial_contexts.sample(n, rng, box)
    found = {"initial": Rows(contexts, problem.initial_policy.sample(contexts, rng, bounds))}
    solved = [run for run in runs if run.result["target_success"] >= SOLVED]
    unsolved = [run for run in runs if run.result["target_success"] < SOLVED]
    for kind, members in (("half-trained", unsolved), ("final", solved)):
        parts: list[Rows] = []
        for k, run in enumerate(members):
            count = n * (k + 1) // len(members) - n * k // len(members)
            where = problem.target if kind == "final" else _last_contexts(run)
            scales = where.sample(count, rng, box)
            policy = run.policy
            assert policy is not None
            parts.append(Rows(scales, policy.sample(scales, rng, bounds)))  # pyright: ignore
        if parts:
            joined = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            found[kind] = Rows(*joined)
    return found


def _last_contexts(run: StoredRun) -> Gaussian:
    """The contexts that a run had reached in the end."""
    record = run.records[-1]
    # Contexts may have become so narrow that their variance is 0 in the file.
    return Gaussian(record["context_mean"], np.array(record["context_covariance"]) + TINY)


def simulated(fidelity: Fidelity | AnyString, rows: Rows) -> tuple[BallRollouts, float]:
    """The rollouts in a model, and CPU ms per rollout."""
    task = BallInACup(fidelity)
    task.simulate(rows.contexts[:1], rows.thetas[:1], np.random.default_rng(0))  # builds the model
    started = time.process_time()
    rollouts = task.simulate(rows.contexts, rows.thetas, np.random.default_rng(0))
    return rollouts, 1000 * (time.process_time() - started) / len(rows.contexts)


def before_contact(rollouts: BallRollouts, reference: BallRollouts) -> Array:
    """(n,): distance of the balls, in metres, as the reference's ball comes down to the cup.

    That is AFTER_TOP control steps after its highest point, before it meets the cup.
    """
    top = reference.balls[..., 2].argmax(axis=1)
    apart = np.linalg.norm(rollouts.balls - reference.balls, axis=2)
    return apart[np.arange(len(apart)), np.minimum(top + AFTER_TOP, CONTROLS)]


def main() -> None:
    """Simulate and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", help="packed results or folders of runs")
    parser.add_argument("--rollouts", type=int, default=100, help="per kind of policy")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for path in options.paths:
        if not Path(path).exists():
            parser.error(f"{path} does not exist")
    kinds = rollouts_of(options.paths, options.rollouts, np.random.default_rng(options.seed))
    found: dict[str, dict[str, tuple[BallRollouts, float]]] = {}
    with sharing_threads(processors()):
        for name, fidelity in MODELS.items():
            found[name] = {kind: simulated(fidelity, rows) for kind, rows in kinds.items()}
    names = list(MODELS)
    for kind, rows in kinds.items():
        reference = found[names[-1]][kind][0]
        won = {name: success(found[name][kind][0], rows.contexts) for name in names}
        decided = won[names[-1]] == won[OTHER]
        print(
            f"\n{kind}: {len(rows.contexts)} rollouts, the references agree on {decided.mean():.2f}"
        )
        print("| model | success | same success | where decidable | mm | same rest | CPU ms |")
        print("|---|---|---|---|---|---|---|")
        for name in names:
            rollouts, ms = found[name][kind]
            same = won[name] == won[names[-1]]
            mm = 1000 * np.median(before_contact(rollouts, reference))
            rest = np.hypot(rollouts.radii - reference.radii, rollouts.heights - reference.heights)
            print(
                f"| {name} | {won[name].mean():.2f} | {same.mean():.2f} | "
                f"{same[decided].mean():.2f} | {mm:.1f} | {(rest < SAME_REST).mean():.2f} | "
                f"{ms:.0f} |"
            )


if __name__ == "__main__":
    main()
