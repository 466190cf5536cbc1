"""Which of the paper's values decide whether SPRL learns to catch: one of them changed at a time.

From the project's folder:

    selfpaced run studies.ball_values:VALUES --seeds 3 --out runs-values
    selfpaced table runs-values results/ball-in-a-cup.packed

The paper's own values are `sprl` of `ball-in-a-cup`, seeds 0 to 2.
"""

from dataclasses import replace

from selfpaced import SPRL, Alpha, FractionOfReward
from selfpaced.experiments.ball_in_a_cup import BALL_IN_A_CUP

PAPER = BALL_IN_A_CUP.algorithms["sprl"]
assert isinstance(PAPER, SPRL)
assert isinstance(PAPER.pacing, Alpha)
assert isinstance(PAPER.pacing.schedule, FractionOfReward)

VALUES = replace(
    BALL_IN_A_CUP,
    name="ball-in-a-cup-values",
    title="Ball-in-a-Cup, the paper's values",
    algorithms={
        "buffer-10": replace(PAPER, buffer_size=10),  # the authors' program, with GoalGAN
        "no-floor": replace(PAPER, pacing=replace(PAPER.pacing, variance_floor=None)),
        "zeta-1": replace(
            PAPER,
            pacing=replace(PAPER.pacing, schedule=replace(PAPER.pacing.schedule, zeta=1.0)),
        ),
    },
)
