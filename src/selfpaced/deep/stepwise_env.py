"""Stepwise tasks (`tasks/stepwise_task.py`) as Gymnasium environments (extra `gym`).

Importing `selfpaced.deep.environments` registers the library's own.
"""

# Gymnasium's and Matplotlib's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.deep.stepwise_episodes import StepwiseEpisodes
from selfpaced.maths.arrays import Array
from selfpaced.tasks.contextual_pointmass import ContextualPointMass
from selfpaced.tasks.goal_reaching import GoalReaching
from selfpaced.tasks.maze import Maze
from selfpaced.tasks.pointmass import PointMass2D
from selfpaced.tasks.stepwise_task import StepwiseTask

FRAMES_PER_SECOND = 20  # frame rate of films, with one frame per step
ONLY_ROW = np.zeros(1, dtype=np.int64)  # the index of the only episode in its batch


class StepwiseEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A `StepwiseTask` as an environment: the library's own, or one that you write.

    `reset(options={"context": c})` sets the context for this episode and those after it.

    `task`: what is simulated. `context`: the context before the first such reset; the middle of
    the context space if None. `render_mode`: None or "rgb_array".
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }
    """Render modes and frame rate, where Gymnasium looks for them."""

    task: StepwiseTask
    """What is simulated."""
    return_discount: float
    """Discount of the returns that teachers are told of; `ContextualEnv` looks for it."""

    def __init__(
        self, task: StepwiseTask, context: ArrayLike | None = None, render_mode: str | None = None
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be rgb_array; got {render_mode!r}")
        self.task, self.render_mode = task, render_mode
        self.context_space = gymnasium.spaces.Box(
            task.context_space.low, task.context_space.high, dtype=np.float64
        )
        observed = task.observation_space
        self.observation_space = gymnasium.spaces.Box(
            observed.low.astype(np.float32), observed.high.astype(np.float32), dtype=np.float32
        )
        limit = task.action_limit
        self.action_space = gymnasium.spaces.Box(
            -limit, limit, (task.action_dimension,), np.float32
        )
        self.return_discount = task.discount
        self._context = self._checked(task.context_space.centre if context is None else context)
        self._episodes = self.batched_episodes(1)
        self._path: list[Array] = []
        self._steps_done = 0
        self._begin()

    def batched_episodes(self, n: int) -> StepwiseEpisodes:
        """A batch of n episodes of the same task."""
        return StepwiseEpisodes(self.task, n)

    def _begin(self) -> None:
        self._episodes.begin(ONLY_ROW, self._context)
        self._path, self._steps_done = [self._episodes.states[0, :2]], 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode, at `options["context"]` if given; return observation and `info`."""
        super().reset(seed=seed)
        self._episodes.rng = self.np_random
        if options is not None and "context" in options:
            self._context = self._checked(options["context"])
        self._begin()
        return self._observation(), self._info(False)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Simulate one step; `info` has the "context" and whether the episode "is_success" now."""
        limit = self.task.action_limit
        actions = np.clip(np.asarray(action, dtype=float), -limit, limit)[None]
        rewards, ended, solved = self._episodes.move(actions)
        self._path.append(self._episodes.states[0, :2])
        self._steps_done += 1
        truncated = bool(self._steps_done >= self.task.steps and not ended[0])
        info = self._info(bool(solved[0]))
        return self._observation(), float(rewards[0]), bool(ended[0]), truncated, info

    def render(self) -> Any:
        """A picture (400, 400, 3) of the scene and the path so far, values from 0 to 255."""
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
        return self._episodes.observe()[0].astype(np.float32)

    def _info(self, solved: bool) -> dict[str, Any]:
        return {"context": self._context[0].copy(), "is_success": solved}

    def _checked(self, context: ArrayLike) -> Array:
        return self.task.context_space.check("context", np.asarray(context, dtype=float)[None])


class PointMassEnv(StepwiseEnv):
    """`selfpaced/PointMass2D-v0`: a point mass that shall pass a gate; see `PointMass2D`.

    The context is the position and the width of the gate.
    """

    def __init__(self, context: ArrayLike | None = None, render_mode: str | None = None) -> None:
        super().__init__(PointMass2D(), context, render_mode)


class MazeEnv(StepwiseEnv):
    """`selfpaced/SparseMaze-v0`: a maze with a reward only at the goal; see `Maze`.

    The context is the position of the goal and the tolerance around it.
    """

    def __init__(self, context: ArrayLike | None = None, render_mode: str | None = None) -> None:
        super().__init__(Maze(), context, render_mode)


class ContextualPointMassEnv(StepwiseEnv):
    """The point mass of the literature; see `ContextualPointMass`.

    `selfpaced/ContextualPointMass2D-v0` has the position and the width of the gate as its context,
    `selfpaced/ContextualPointMass3D-v0` the friction, too.
    """

    def __init__(
        self,
        context: ArrayLike | None = None,
        render_mode: str | None = None,
        dimensions: Literal[2, 3] = 2,
    ) -> None:
        super().__init__(ContextualPointMass(dimensions), context, render_mode)


class GoalReachingEnv(StepwiseEnv):
    """`selfpaced/GoalReaching-v0`: goals around a square, with sparse rewards; see `GoalReaching`.

    The context is the position of the goal and the tolerance around it.
    """

    def __init__(self, context: ArrayLike | None = None, render_mode: str | None = None) -> None:
        super().__init__(GoalReaching(), context, render_mode)
