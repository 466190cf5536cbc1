"""What a MiniGrid agent sees, computed several times faster than MiniGrid does (extra `others`).

MiniGrid copies the part of the world in view into a new grid of objects, and turns it up to four
times. Most of a step's time goes there. Here each square in view is looked up once.
"""

# MiniGrid's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportUntypedBaseClass=false

from functools import cache
from typing import Any

import numpy as np
from minigrid.core.constants import COLOR_TO_IDX, DIR_TO_VEC, OBJECT_TO_IDX
from minigrid.minigrid_env import MiniGridEnv

Code = tuple[int, int, int]
"""MiniGrid's numbers of a square's object, colour and state."""
EMPTY: Code = (OBJECT_TO_IDX["empty"], 0, 0)
UNSEEN: Code = (0, 0, 0)
OUTSIDE: Code = (OBJECT_TO_IDX["wall"], COLOR_TO_IDX["grey"], 0)  # of what lies beyond the world


class QuickView(MiniGridEnv):
    """A MiniGrid world with MiniGrid's observations, computed faster where walls hide squares.

    It goes before the world's class: `class QuickRooms(QuickView, MultiRoomEnv)`.
    """

    def gen_obs(self) -> dict[str, Any]:
        """MiniGrid's observation: the image in view, the direction of the agent and the mission."""
        if self.see_through_walls:
            return super().gen_obs()
        size, width, height = self.agent_view_size, self.width, self.height
        cells: list[Any] = self.grid.grid
        x, y = int(self.agent_pos[0]), int(self.agent_pos[1])
        seen, image = 1 << (size // 2), [UNSEEN] * size**2
        for row, squares in enumerate(_squares_in_view(size, int(self.agent_dir))):
            codes, clear = [OUTSIDE] * size, 0
            for k, (right, down) in enumerate(squares):
                i, j = x + right, y + down
                if 0 <= i < width and 0 <= j < height:
                    cell = cells[j * width + i]
                    codes[k] = EMPTY if cell is None else cell.encode()
                    if cell is None or cell.see_behind():
                        clear |= 1 << k
            if row == 0:  # the agent's own: it sees what it carries in its own square
                codes[size // 2] = EMPTY if self.carrying is None else self.carrying.encode()
            lit, seen = _light(size, seen, clear)
            for k in range(size):
                if lit >> k & 1:
                    image[k * size + size - 1 - row] = codes[k]
            if not seen:
                break
        pixels = np.array(image, dtype=np.uint8).reshape(size, size, 3)
        return {"image": pixels, "direction": self.agent_dir, "mission": self.mission}


@cache
def _squares_in_view(size: int, direction: int) -> list[list[tuple[int, int]]]:
    """The squares in view, as (right, down) of the agent in the world, row by row away from it."""
    ahead = DIR_TO_VEC[direction]
    aside = np.array([-ahead[1], ahead[0]])  # to the right of the agent
    return [
        [tuple((row * ahead + (k - size // 2) * aside).tolist()) for k in range(size)]
        for row in range(size)
    ]


@cache
def _light(size: int, seen: int, clear: int) -> tuple[int, int]:
    """The squares of a row that the agent sees, and those of the next one that it thereby sees.

    All are bits, bit k for square k. `seen`: what the row before lets the agent see. `clear`:
    squares that do not hide what is behind them. Light spreads along a row through clear squares,
    first to the right, then to the left, and from each to the next row, straight and aslant.
    """
    following = 0
    for squares, way in ((range(size - 1), 1), (range(size - 1, 0, -1), -1)):
        for k in squares:
            if seen >> k & clear >> k & 1:
                seen |= 1 << (k + way)
                following |= 1 << k | 1 << (k + way)
    return seen, following
