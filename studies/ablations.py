"""SPRL without a schedule, one part of its rule switched off at a time.

From the project's folder:

    selfpaced run studies.ablations:PRECISION studies.ablations:GLOBAL \
        studies.ablations:KINEMATIC --seeds 10 --out runs-ablations
    selfpaced run studies.ablations:BALL --algorithms without-evidence without-entropy-held \
        --seeds 6 --out runs-ablations
    selfpaced report runs-ablations --out ablations.html

A run of BALL takes eight CPU minutes; its whole rule is `sprl-mastery` of ball-in-a-cup-coarse.
"""

from dataclasses import replace

from selfpaced import SPRL, Experiment, Mastery, MasteryRule
from selfpaced.experiments.gate import GATE_GLOBAL, GATE_PRECISION
from selfpaced.experiments.reacher import REACHER_KINEMATIC
from studies.coarse_ball import COARSE

WITHOUT = {
    "whole-rule": Mastery(),
    "without-gate": Mastery(
        rule=MasteryRule(mastered_from=0.0, lost_below=0.0)
    ),  # on, whatever happens
    "without-steps": Mastery(rule=MasteryRule(step=1e9)),  # to the target at once
    "without-stepping-back": Mastery(rule=MasteryRule(lost_below=0.0)),
    "without-search": Mastery(rule=MasteryRule(search=False)),
    "without-width": Mastery(rule=MasteryRule(least_deviation=1e-9)),
    "without-entropy-held": Mastery(hold_entropy=False),
    "without-evidence": Mastery(narrow_by_evidence=False),
    "without-temperature-floor": Mastery(temperature_floor=0.0),
}


def ablated(experiment: Experiment, n_samples: int) -> Experiment:
    """The experiment with `sprl-mastery` whole and without each of its parts."""
    algorithms = {
        name: SPRL(n_samples=n_samples, pacing=pacing, buffer_size=10)
        for name, pacing in WITHOUT.items()
    }
    return replace(
        experiment,
        name=f"{experiment.name}-ablations",
        title=f"{experiment.title}, the rule without its parts",
        algorithms=algorithms,
    )


PRECISION = ablated(GATE_PRECISION, 100)
GLOBAL = ablated(GATE_GLOBAL, 100)
KINEMATIC = ablated(REACHER_KINEMATIC, 50)
BALL = replace(ablated(COARSE, 16), iterations=400)
