"""MiniGrid's worlds with integers and categories as contexts (extra `others`)."""

# MiniGrid's and Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportUntypedBaseClass=false

from typing import Any

import gymnasium
import numpy as np
from minigrid.core.constants import OBJECT_TO_IDX, STATE_TO_IDX
from minigrid.core.world_object import Lava, Wall
from minigrid.envs.crossing import CrossingEnv
from minigrid.envs.multiroom import MultiRoomEnv
from numpy.typing import NDArray

from selfpaced.deep.contextual_env import ContextualEnv
from selfpaced.deep.quick_view import QuickView
from selfpaced.spaces.discrete import Categories, Integers
from selfpaced.spaces.product import Product

ROOMS = Product(rooms=Integers(1, 4), size=Integers(4, 7))
"""Contexts of `multi_room`: how many rooms there are, and the largest size of each."""
CROSSINGS = Product(crossings=Integers(1, 3), obstacle=Categories("wall", "lava"))
"""Contexts of `crossings`: how many rows of obstacles there are, and what they are made of."""
STEPS_PER_ROOM = 20  # as MiniGrid's MultiRoom has them
SIZE = 9  # squares along a side of the crossings' world, as in MiniGrid-LavaCrossingS9N1-v0
CROSSING_STEPS = 4 * SIZE**2  # as MiniGrid's Crossing has them
OBSTACLES: dict[str, Any] = {"wall": Wall, "lava": Lava}
SUCCESS = 0.05  # MiniGrid's return is at least 0.1 if the goal was reached, and 0 otherwise
SEEN = ("wall", "door", "goal", "lava")  # objects that an observation tells apart


class GridView(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A MiniGrid world whose observations are vectors of 0 and 1, with the useful actions only.

    For each square of the agent's view there are five numbers: whether it is a wall, a closed door,
    a goal or lava, and whether it is an open door. `actions`: MiniGrid's numbers of the actions.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], actions: tuple[int, ...]) -> None:
        super().__init__(env)
        self._actions = actions
        self.action_space = gymnasium.spaces.Discrete(len(actions))
        image: Any = env.observation_space["image"]  # type: ignore[index]
        count = int(image.shape[0]) * int(image.shape[1]) * (len(SEEN) + 1)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (count,), np.float32)
        # (objects, states, 5): what is seen of a square, by MiniGrid's numbers.
        self._table = np.zeros((len(OBJECT_TO_IDX), len(STATE_TO_IDX) + 1, 5), np.float32)
        for k, name in enumerate(SEEN):
            self._table[OBJECT_TO_IDX[name], :, k] = 1.0
        door, opened = OBJECT_TO_IDX["door"], STATE_TO_IDX["open"]
        self._table[door, opened] = np.eye(5, dtype=np.float32)[4]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in a new world."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._vector(observation), info

    def step(self, action: Any) -> tuple[NDArray[np.float32], Any, bool, bool, dict[str, Any]]:
        """Do the action with the number `action` of `actions`."""
        observation, reward, ended, truncated, info = self.env.step(self._actions[int(action)])
        return self._vector(observation), reward, ended, truncated, info

    def _vector(self, observation: Any) -> NDArray[np.float32]:
        image = observation["image"]
        return self._table[image[:, :, 0], image[:, :, 2]].reshape(-1)


class QuickRooms(QuickView, MultiRoomEnv):
    """MiniGrid's MultiRoom, whose observations take less time."""


class QuickCrossings(QuickView, CrossingEnv):
    """MiniGrid's Crossing, whose observations take less time."""


def set_rooms(env: Any, context: Any) -> None:
    """Let the next world of a `MultiRoomEnv` have the number and size of rooms of `context`."""
    env.minNumRooms = env.maxNumRooms = context["rooms"]
    env.maxRoomSize = context["size"]
    env.max_steps = STEPS_PER_ROOM * context["rooms"]


def multi_room() -> ContextualEnv:
    """MiniGrid's MultiRoom: open doors, pass rooms, reach the goal in the last one."""
    most = int(ROOMS.high[0])
    world = GridView(QuickRooms(most, most), actions=(0, 1, 2, 5))  # turn, go, open
    return ContextualEnv(world, ROOMS, apply=set_rooms, success=SUCCESS)


def set_crossings(env: Any, context: Any) -> None:
    """Let the next world of a `CrossingEnv` have the obstacles of `context`."""
    env.num_crossings = context["crossings"]
    env.obstacle_type = OBSTACLES[context["obstacle"]]


def crossings() -> ContextualEnv:
    """MiniGrid's Crossing: pass rows of walls, or of lava, which ends the episode."""
    world = GridView(QuickCrossings(size=SIZE, num_crossings=1), actions=(0, 1, 2))  # turn, go
    return ContextualEnv(world, CROSSINGS, apply=set_crossings, success=SUCCESS)
