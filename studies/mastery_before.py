"""The mastery rule as it was before it searched faster, followed successes and narrowed contexts.

Stored runs of that rule, and its ablations, are under results/studies. From the project's folder:

    selfpaced run studies.mastery_before:PRECISION --seeds 20 --out runs-before
"""

from dataclasses import replace

from selfpaced import SPRL, Experiment, Mastery
from selfpaced.experiments.gate import GATE_GLOBAL, GATE_PRECISION
from selfpaced.experiments.reacher import REACHER, REACHER_KINEMATIC

BEFORE = Mastery(
    decide_by=1,
    search_epsilon=None,
    follow_successes=False,
    wait_for_successes=False,
    narrow_contexts=False,
    attempts=1,
    measure_noise=False,
    narrowing=3.0,
)
"""The pacing; its policy had a buffer of ten batches."""


def sprl_before(n_samples: int = 50, pacing: Mastery = BEFORE) -> SPRL:
    """`SPRL()` of that time."""
    return SPRL(n_samples=n_samples, pacing=pacing, buffer_size=10)


def before(experiment: Experiment, n_samples: int) -> Experiment:
    """The experiment with the rule of that time alone."""
    return replace(
        experiment,
        name=f"{experiment.name}-mastery-before",
        title=f"{experiment.title}, the rule of before",
        algorithms={"sprl-mastery": sprl_before(n_samples)},
    )


PRECISION = before(GATE_PRECISION, 100)
GLOBAL = before(GATE_GLOBAL, 100)
KINEMATIC = before(REACHER_KINEMATIC, 50)
MUJOCO = before(REACHER, 50)
