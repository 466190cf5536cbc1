"""Ball-in-a-Cup in the coarse model, in which the first runs were made.

Its time step of 2 ms is too long: most of the catches that are learned in it exist in no finer
model (docs/reproduction.md). Its runs are kept because the ablations and the open points of
docs/beyond-the-paper.md were measured in it, and because what went wrong is worth knowing. From
the project's folder:

    selfpaced run studies.coarse_ball:COARSE --algorithms sprl --seeds 20 --out runs-coarse
"""

from dataclasses import replace

from selfpaced import Problem
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP, ball_problem
from selfpaced.tasks.ball_in_a_cup import BallInACup
from selfpaced.tasks.string_models import FAST, Fidelity
from studies.mastery_before import sprl_before

FAITHFUL = Fidelity(links=20, margin=0.0015, substeps=2)
"""The model in which final policies of the coarse one were scored again."""


def coarse_problem() -> Problem:
    """The problem as it was before the model was refined."""
    problem = ball_problem(FAST)
    return Problem(
        problem.task,
        problem.target,
        initial_contexts=problem.initial_contexts,
        initial_policy=problem.initial_policy,
        value_features=problem.value_features,
        final_tasks={"faithful": BallInACup(FAITHFUL)},
    )


COARSE = replace(
    BALL_IN_A_CUP,
    name="ball-in-a-cup-coarse",
    title="Ball-in-a-Cup, coarse model",
    problem=coarse_problem,
    algorithms={**BALL_IN_A_CUP.algorithms, "sprl-mastery": sprl_before(16)},
)
