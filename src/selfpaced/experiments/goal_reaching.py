"""Sparse goal reaching with goals that cannot be reached, "maze" of CURROT (Klink et al., 2022).

Values are those of the authors' program, unless a comment says otherwise; `value_sources.py` knows
the source of each. The threshold form needs a target with a density, which this one has not.
docs/benchmarks.md says what differs from the published experiment.
"""

from dataclasses import replace

from selfpaced.deep.stepwise_sac import StepwiseSAC
from selfpaced.experiments.experiment import Experiment, PublishedLevel
from selfpaced.targets.uniform import Uniform
from selfpaced.tasks.goal_reaching import NARROWEST, PLANE, GoalReaching
from selfpaced.teachers import ALPGMM, CurrOT, SelfPacedMastery
from selfpaced.teachers.target import TargetTeacher
from selfpaced.teachers.uniform import UniformTeacher
from selfpaced.types import Problem, TeacherConfig

# One gradient step after every five steps, as the authors; their steps are of one environment.
MAZE_SAC = StepwiseSAC(
    environments=5,
    steps=10_000,
    hidden=(128, 128, 128),
    gamma=0.995,
    learning_rate=3e-4,
    buffer_size=200_000,
    random_steps=1_000,
    batch_size=512,
)
TEACHERS: dict[str, TeacherConfig] = {
    "mastery": SelfPacedMastery(),  # defaults of the library: no value for this task
    "currot": CurrOT(
        threshold=0.8,
        radius=1.5 / 18.0 / 3.0**0.5,  # epsilon = 1.5 in a box that is 18 wide
        update_every=50,
        particles=500,
    ),
    "alpgmm": ALPGMM(judged_by="success"),  # defaults of the library
    "uniform": UniformTeacher(),
    "target": TargetTeacher(),
}


def _problem() -> Problem:
    """Goals anywhere in the plane, walls included; measurements leave out those in walls."""
    everywhere = Uniform(low=[-PLANE, -PLANE, NARROWEST], high=[PLANE, PLANE, NARROWEST])
    return Problem(GoalReaching(), everywhere)


MAZE_CURROT = Experiment(
    name="maze-currot",
    title="Sparse goal reaching of CURROT",
    problem=_problem,
    algorithms={name: replace(MAZE_SAC, teacher=teacher) for name, teacher in TEACHERS.items()},
    iterations=400,
    measure_rollouts=100,
    final_rollouts=500,
    published=(  # read from a figure of the authors' repository
        PublishedLevel("published: CURROT", 75, 0.75, "target_success"),
        PublishedLevel("published: CURROT", 400, 0.96, "target_success"),
        PublishedLevel("published: CURROT, ICML version", 400, 0.79, "target_success"),
    ),
)
