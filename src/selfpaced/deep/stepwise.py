"""Gymnasium environments of stepwise tasks (extra `gym`; importing this module registers them).

import gymnasium
gymnasium.make("selfpaced.deep.stepwise:selfpaced/PointMass2D-v0")
"""

# Gymnasium's and Matplotlib's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.deep.rows import Moved
from selfpaced.maths.arrays import Array, IntArray
from selfpaced.tasks.maze import Maze
from selfpaced.tasks.pointmass import PointMass2D
from selfpaced.tasks.stepwise import StepwiseTask

FRAMES_PER_SECOND = 20
ONE = np.zeros(1, dtype=np.int64)  # the row of the only episode


class StepwiseRows:
    """n episodes of a stepwise task, side by side."""

    def __init__(self, task: StepwiseTask, n: int) -> None:
        self.context_space = task.context_space
        self.contexts = np.tile(task.context_space.centre, (n, 1))
        self.states = task.begin(self.contexts)
        self._task = task

    def begin(self, rows: IntArray, contexts: Array) -> None:
        self.contexts[rows] = contexts
        self.states[rows] = self._task.begin(contexts)

    def move(self, actions: Array) -> Moved:
        step = self._task.move(self.contexts, self.states, actions)
        self.states = step.states
        return Moved(step.rewards, step.ended, step.solved)

    def observe(self) -> Array:
        return self._task.observe(self.contexts, self.states)


class StepwiseEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A stepwise task as an environment; also for a task of your own.

    `reset(options={"context": c})` sets the context, for this episode and those after it; the
    first is `context`, or the middle of the context space.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self, task: StepwiseTask, context: ArrayLike | None = None, render_mode: str | None = None
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be rgb_array; got {render_mode!r}")
        self.task, self.render_mode = task, render_mode
        self.context_space = gymnasium.spaces.Box(
            task.context_space.low, task.context_space.high, dtype=np.float64
        )
        seen = task.observation_space
        self.observation_space = gymnasium.spaces.Box(
            seen.low.astype(np.float32), seen.high.astype(np.float32), dtype=np.float32
        )
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float32)
        self._context = self._checked(task.context_space.centre if context is None else context)
        self._rows = self.side_by_side(1)
        self._path: list[Array] = []
        self._age = 0
        self._begin()

    def side_by_side(self, n: int) -> StepwiseRows:
        """n episodes that move together."""
        return StepwiseRows(self.task, n)

    def _begin(self) -> None:
        self._rows.begin(ONE, self._context)
        self._path, self._age = [self._rows.states[0, :2]], 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        if options is not None and "context" in options:
            self._context = self._checked(options["context"])
        self._begin()
        return self._observation(), self._info(False)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        actions = np.clip(np.asarray(action, dtype=float), -1.0, 1.0)[None]
        rewards, ended, solved = self._rows.move(actions)
        self._path.append(self._rows.states[0, :2])
        self._age += 1
        late = self._age >= self.task.steps and not ended[0]
        return (
            *(self._observation(), float(rewards[0]), bool(ended[0]), bool(late)),
            self._info(bool(solved[0])),
        )

    def render(self) -> Any:
        """The scene and the way so far, (400, 400, 3)."""
        if self.render_mode is None:
            raise ValueError("render_mode must be given to make() before rendering; got None")
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure: Any = Figure(figsize=(4, 4), dpi=100, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        self.task.draw(self._context[0], np.array([self._path]), figure.add_subplot())
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()

    def _observation(self) -> NDArray[np.float32]:
        return self._rows.observe()[0].astype(np.float32)

    def _info(self, solved: bool) -> dict[str, Any]:
        return {"context": self._context[0].copy(), "is_success": solved}

    def _checked(self, context: ArrayLike) -> Array:
        return self.task.context_space.check("context", np.asarray(context, dtype=float)[None])


class PointMassEnv(StepwiseEnv):
    """`selfpaced/PointMass2D-v0`: through a gate of any place and width."""

    def __init__(self, context: ArrayLike | None = None, render_mode: str | None = None) -> None:
        super().__init__(PointMass2D(), context, render_mode)


class MazeEnv(StepwiseEnv):
    """`selfpaced/SparseMaze-v0`: to a goal of any place and size, with a reward only there."""

    def __init__(self, context: ArrayLike | None = None, render_mode: str | None = None) -> None:
        super().__init__(Maze(), context, render_mode)


ENVIRONMENTS: dict[str, tuple[str, int]] = {
    "selfpaced/PointMass2D-v0": ("PointMassEnv", PointMass2D.steps),
    "selfpaced/SparseMaze-v0": ("MazeEnv", Maze.steps),
}
for _name, (_class, _steps) in ENVIRONMENTS.items():
    if _name not in gymnasium.registry:
        gymnasium.register(_name, f"selfpaced.deep.stepwise:{_class}", max_episode_steps=_steps)
