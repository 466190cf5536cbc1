"""Tasks: each scores rows of contexts and parameters. There is one task per file.

A new task is a new file here and a line in `TASKS`; `tests/contracts/test_tasks.py` then covers
it. Tasks that need MuJoCo import it when they first simulate, so this package loads without it.
"""

from collections.abc import Callable
from functools import partial

from selfpaced.tasks.ball_in_a_cup import ROBOT, BallInACup
from selfpaced.tasks.ball_in_any_world import BallInAnyWorld
from selfpaced.tasks.contextual_pointmass import ContextualPointMass
from selfpaced.tasks.gate import Gate
from selfpaced.tasks.goal_reaching import GoalReaching
from selfpaced.tasks.kinematic import KinematicReacher
from selfpaced.tasks.maze import Maze
from selfpaced.tasks.pointmass import PointMass2D
from selfpaced.tasks.reacher import Reacher
from selfpaced.tasks.string_models import FAST
from selfpaced.types import Task

TASKS: dict[str, Callable[[], Task]] = {
    "gate": Gate,
    "reacher": Reacher,
    "reacher-kinematic": KinematicReacher,
    "ball-in-a-cup": BallInACup,
    "ball-in-a-cup-randomised": partial(BallInACup, FAST, ROBOT),
    "ball-in-any-world": partial(BallInAnyWorld, FAST),
    "pointmass": PointMass2D,
    "maze": Maze,
    "pointmass-2d": ContextualPointMass,
    "pointmass-3d": partial(ContextualPointMass, 3),
    "goal-reaching": GoalReaching,
}
"""What makes each task of the library, by the task's name."""
