"""PPO with teachers on environments that others wrote (extra `others`): MiniGrid, Box2D, MuJoCo.

No value here comes from a paper on curricula. Teachers have the defaults of `TEACHERS`. PPO has the
same settings for all teachers of an experiment, chosen on seeds 500 and 501 before the runs of
docs/others-tasks.md, which also says what budgets cost.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from selfpaced.deep.gym_task import GymTask
from selfpaced.deep.stepwise_ppo import StepwisePPO
from selfpaced.experiments.experiment import Experiment
from selfpaced.experiments.optional_packages import require
from selfpaced.maths.gaussian import Gaussian
from selfpaced.targets.categorical import Categorical
from selfpaced.targets.uniform import Uniform
from selfpaced.teachers import TEACHERS, FixedTeacher
from selfpaced.types import Problem, TeacherConfig

PLACE = "selfpaced.deep.others_environments:selfpaced/"
TO_A_TARGET = {name: TEACHERS[name] for name in ("target", "uniform", "mastery", "currot")}
EVERYWHERE: dict[str, TeacherConfig] = {
    "doraemon": TEACHERS["doraemon"],
    "adr": TEACHERS["adr"],
    "mastery": TEACHERS["mastery"],
    "uniform": TEACHERS["uniform"],
    "none": FixedTeacher(),  # all factors are 1: the robot as it was made
}
DEFAULTS = StepwisePPO(
    environments=16,
    steps=160,
    minibatches=10,  # of 256 steps: fewer and larger ones than by default, which costs less
    epochs=4,
    hidden=(64, 64),
    gamma=0.99,
    gae_lambda=0.95,
    entropy_weight=0.01,  # 0 by default, which gives up early where rewards are rare
    learning_rate=1e-3,  # 3e-4 by default, for more and smaller minibatches
    value_weight=0.5,
    max_gradient_norm=0.5,
)

LONG = replace(  # for episodes of up to a thousand steps
    DEFAULTS,
    steps=128,
    minibatches=32,  # of 64 steps
    epochs=6,
    learning_rate=5e-4,
    normalise=True,  # not for the zeros and ones of MiniGrid: what has not been seen yet is rare
)


def with_teachers(
    ppo: StepwisePPO, teachers: Mapping[str, TeacherConfig]
) -> dict[str, StepwisePPO]:
    """`ppo` with each of the `teachers`."""
    return {name: replace(ppo, teacher=teacher) for name, teacher in teachers.items()}


def rooms_problem() -> Problem:
    """Four rooms of at most 6 squares a side: MiniGrid-MultiRoom-N4-S5 is a little smaller."""
    require("minigrid")
    task = GymTask(PLACE + "MultiRoom-v0", context_names=["rooms", "size of a room"])
    return Problem(task, Gaussian([4.0, 6.0], np.diag([0.01, 0.01])))


MULTI_ROOM = Experiment(
    name="minigrid-rooms",
    title="MiniGrid MultiRoom, PPO",
    problem=rooms_problem,
    algorithms=with_teachers(DEFAULTS, TO_A_TARGET),
    iterations=50,  # of 2,560 steps: 128,000 steps
    measure_rollouts=30,
    final_rollouts=200,
)


def crossings_problem() -> Problem:
    """Three rows of lava, of which a single wrong step ends the episode."""
    require("minigrid")
    task = GymTask(PLACE + "Crossings-v0", context_names=["crossings", "obstacle"])
    points = [[rows, kind] for rows in (1.0, 2.0, 3.0) for kind in (0.0, 1.0)]
    return Problem(task, Categorical([0.0, 0.0, 0.0, 0.0, 0.0, 1.0], points))


CROSSINGS = Experiment(
    name="minigrid-crossings",
    title="MiniGrid crossings, PPO",
    problem=crossings_problem,
    algorithms=with_teachers(
        replace(DEFAULTS, steps=324, minibatches=18),  # of 288 steps
        TO_A_TARGET,
    ),
    iterations=40,  # of 5,184 steps: 207,000 steps
    measure_rollouts=20,
    final_rollouts=200,
)


def lander_problem() -> Problem:
    """Strong gravity, wind and turbulence."""
    require("Box2D")
    names = ["gravity (m/s^2)", "wind", "turbulence"]
    task = GymTask(PLACE + "WindyLander-v0", context_names=names)
    return Problem(task, Gaussian([-10.0, 17.0, 1.7], np.diag([0.3**2, 0.6**2, 0.06**2])))


LANDER = Experiment(
    name="windy-lander",
    title="LunarLander in the wind, PPO",
    problem=lander_problem,
    algorithms=with_teachers(LONG, TO_A_TARGET),
    iterations=125,  # of 2,048 steps: 256,000 steps
    measure_rollouts=5,
    final_rollouts=100,
)


def hopper_problem() -> Problem:
    """The widest physics: every context of the ranges counts alike."""
    require("mujoco")
    from selfpaced.deep.others_environments import PHYSICS

    task = GymTask(PLACE + "RandomHopper-v0", context_names=list(PHYSICS))
    return Problem(task, Uniform(task.context_space))


HOPPER = Experiment(
    name="random-hopper",
    title="Hopper with random physics, PPO",
    problem=hopper_problem,
    algorithms=with_teachers(
        replace(LONG, minibatches=16, entropy_weight=0.0),  # of 128 steps
        EVERYWHERE,
    ),
    iterations=200,  # of 2,048 steps: 410,000 steps
    measure_rollouts=3,
    final_rollouts=100,
)

OTHERS = (MULTI_ROOM, CROSSINGS, LANDER, HOPPER)
"""The experiments on environments that others wrote."""
