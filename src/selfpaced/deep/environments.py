"""Registers the library's environments with Gymnasium when it is imported (extra `gym`).

Gymnasium imports this module by itself if the name of an environment starts with it:

    gymnasium.make("selfpaced.deep.environments:selfpaced/ReacherObstacles-v0")
"""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false

from typing import Any, NamedTuple

import gymnasium

from selfpaced.tasks.contextual_pointmass import ContextualPointMass
from selfpaced.tasks.goal_reaching import GoalReaching
from selfpaced.tasks.maze import Maze
from selfpaced.tasks.pointmass import PointMass2D
from selfpaced.tasks.reacher import STEPS


class Registration(NamedTuple):
    """How Gymnasium makes an environment."""

    entry_point: str
    """Module and class, within `selfpaced.deep`."""
    steps: int
    """Steps after which an episode is truncated."""
    arguments: dict[str, Any]
    """Keyword arguments of the class."""


REACHER, STEPWISE = "reacher_env:ReacherObstacles", "stepwise_env:"
POINT_MASS = STEPWISE + "ContextualPointMassEnv", ContextualPointMass.steps
ENVIRONMENTS = {
    "selfpaced/ReacherObstacles-v0": Registration(REACHER, STEPS, {}),
    "selfpaced/ReacherObstaclesEnding-v0": Registration(REACHER, STEPS, {"ends_at_contact": True}),
    "selfpaced/ReacherObstaclesKinematic-v0": Registration(REACHER, STEPS, {"kinematic": True}),
    "selfpaced/PointMass2D-v0": Registration(STEPWISE + "PointMassEnv", PointMass2D.steps, {}),
    "selfpaced/SparseMaze-v0": Registration(STEPWISE + "MazeEnv", Maze.steps, {}),
    "selfpaced/ContextualPointMass2D-v0": Registration(*POINT_MASS, {"dimensions": 2}),
    "selfpaced/ContextualPointMass3D-v0": Registration(*POINT_MASS, {"dimensions": 3}),
    "selfpaced/GoalReaching-v0": Registration(STEPWISE + "GoalReachingEnv", GoalReaching.steps, {}),
}
"""The registered environments by name."""

for _name, _registration in ENVIRONMENTS.items():
    if _name not in gymnasium.registry:
        gymnasium.register(
            _name,
            f"selfpaced.deep.{_registration.entry_point}",
            max_episode_steps=_registration.steps,
            kwargs=_registration.arguments,
        )
