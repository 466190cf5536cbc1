"""The rule of `studies/mastery_before.py`, one of its parts switched off at a time.

From the project's folder:

    selfpaced run studies.ablations:PRECISION studies.ablations:GLOBAL \
        studies.ablations:KINEMATIC --seeds 10 --out runs-ablations
    selfpaced run studies.ablations:BALL --algorithms without-evidence without-entropy-held \
        --seeds 6 --out runs-ablations
    selfpaced report runs-ablations --out ablations.html

A run of BALL takes eight CPU minutes; its whole rule is `sprl-mastery` of ball-in-a-cup-coarse.
"""

from dataclasses import replace

from selfpaced import Experiment, MasteryRule
from selfpaced.experiments.gate import GATE_GLOBAL, GATE_PRECISION
from selfpaced.experiments.reacher import REACHER_KINEMATIC
from studies.coarse_ball import COARSE
from studies.mastery_before import BEFORE, sprl_before

WITHOUT = {
    "whole-rule": BEFORE,
    "without-gate": replace(
        BEFORE, rule=MasteryRule(mastered_from=0.0, lost_below=0.0)
    ),  # on, whatever happens
    "without-steps": replace(BEFORE, rule=MasteryRule(step=1e9)),  # to the target at once
    "without-stepping-back": replace(BEFORE, rule=MasteryRule(lost_below=0.0)),
    "without-search": replace(BEFORE, rule=MasteryRule(search=False)),
    "without-width": replace(BEFORE, rule=MasteryRule(least_deviation=1e-9)),
    "without-entropy-held": replace(BEFORE, hold_entropy=False),
    "without-evidence": replace(BEFORE, narrow_by_evidence=False),
    "without-temperature-floor": replace(BEFORE, temperature_floor=0.0),
}


def ablated(experiment: Experiment, n_samples: int) -> Experiment:
    """The experiment with `sprl-mastery` whole and without each of its parts."""
    algorithms = {name: sprl_before(n_samples, pacing) for name, pacing in WITHOUT.items()}
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
