"""Experiments as they were when stored runs under results/studies were made.

Ball-in-a-Cup with one string of ten links, with strings of 10, 14 and 20 links, and of 20 links;
the rule of `SPRL()` when it narrowed policies more slowly (`narrowing=3`). From the project's
folder:

    selfpaced run studies.earlier_runs:TEN_LINKS_BALL --algorithms sprl --seeds 20 --out runs-ten

With ten links policies narrowed at 3 nats per nat of evidence, whatever the buffer. Its
buffer holds 0.32 of the rollouts that are needed now, so that new runs narrow at 0.96.
"""

from dataclasses import replace
from functools import partial

from selfpaced import SPRL, Experiment, Mastery
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP, BALL_IN_A_CUP_ROBUST, ball_problem
from selfpaced.experiments.gate import GATE_GLOBAL, GATE_PRECISION
from selfpaced.experiments.reacher import REACHER_KINEMATIC
from selfpaced.tasks.ball_in_a_cup import ROBOT
from selfpaced.tasks.string_models import TEN_LINKS, AnyString

THREE_STRINGS = AnyString(links=(10, 14, 20), damping=(0.5, 2.0), margin=0.0015, substeps=2)
TWENTY_LINKS = AnyString(
    links=(20,), damping=(0.7, 1.4), margin=0.0015, substeps=2, length_spread=0.005
)
SLOWER = Mastery(narrowing=3.0)
SLOWER_BALL = SPRL(n_samples=16, buffer_size=10, pacing=SLOWER)
AS_ELSEWHERE = {"sprl-mastery": SPRL(n_samples=16, buffer_size=10)}  # contexts move on from 70%


def slower(experiment: Experiment) -> Experiment:
    """The experiment with the slower rule alone."""
    return replace(
        experiment,
        name=f"{experiment.name}-narrowing-3",
        title=f"{experiment.title}, narrowing at 3",
        algorithms={"sprl-mastery": SPRL(pacing=SLOWER)},
    )


def with_strings(name: str, links: str, strings: AnyString) -> Experiment:
    """Ball-in-a-Cup with these strings, whose rule is that of the other experiments."""
    return replace(
        BALL_IN_A_CUP,
        name=f"ball-in-a-cup-{name}",
        title=f"Ball-in-a-Cup, strings of {links}",
        problem=partial(ball_problem, strings),
        algorithms={**BALL_IN_A_CUP.algorithms, **AS_ELSEWHERE},
    )


PRECISION, GLOBAL, KINEMATIC = map(slower, (GATE_PRECISION, GATE_GLOBAL, REACHER_KINEMATIC))
TEN_LINKS_BALL = replace(
    BALL_IN_A_CUP,
    name="ball-in-a-cup-ten-links",
    title="Ball-in-a-Cup, ten links",
    problem=partial(ball_problem, TEN_LINKS),
    algorithms={**BALL_IN_A_CUP.algorithms, "sprl-mastery": SLOWER_BALL},
)
TEN_LINKS_ROBUST = replace(
    BALL_IN_A_CUP_ROBUST,
    name="ball-in-a-cup-robust-ten-links",
    title="Ball-in-a-Cup, robust, ten links",
    problem=partial(ball_problem, TEN_LINKS, ROBOT),
    algorithms={**BALL_IN_A_CUP_ROBUST.algorithms, "sprl-mastery": SLOWER_BALL},
)
THREE_STRINGS_BALL = with_strings("three-strings", "10, 14 and 20 links", THREE_STRINGS)
TWENTY_LINKS_BALL = with_strings("twenty-links", "20 links", TWENTY_LINKS)
