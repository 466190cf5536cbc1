"""The step-based reacher of the paper's PPO experiment as a Gymnasium environment (extra `gym`).

Importing `selfpaced.deep.environments` registers its variants.
"""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.deep.batched_episodes import StepOutcomes
from selfpaced.maths.arrays import Array, BoolArray, IntArray, check_vector
from selfpaced.maths.box import Box
from selfpaced.tasks.kinematic import KinematicReacher
from selfpaced.tasks.mujoco import camera
from selfpaced.tasks.reacher import GOAL, Arms, Reacher, ReacherTask, at_goal, observe

DECAY = 2.5  # decay of the reward per metre from the goal (appendix, "Reacher Experiment")
FRAMES_PER_SECOND = 25  # of simulated time
FARTHEST = 5.0  # bound of observations, in metres and m/s, which no gripper reaches
ONLY_ROW = np.zeros(1, dtype=np.int64)  # the index of the only episode in its batch


class ReacherEpisodes:
    """n episodes of the reacher in one batch (`BatchedEpisodes`)."""

    context_space: Box
    """Which contexts exist: the sizes of the two obstacles, in metres."""
    return_discount: float = 1.0
    """Discount of the returns that teachers are told of: none."""
    arms: Arms
    """The n simulated arms."""
    touched: BoolArray
    """(n,): True where the last step touched an obstacle."""

    def __init__(self, task: ReacherTask, n: int, ends_at_contact: bool) -> None:
        self.context_space = task.context_space
        self.arms = task.arms(np.tile(task.context_space.centre, (n, 1)))
        self._all = np.arange(n)
        self._ends_at_contact = ends_at_contact

    def begin(self, rows: IntArray, contexts: Array) -> None:
        """Begin new episodes in `rows` (k,) at `contexts` (k, 2); the other rows continue."""
        self.arms.place(rows, contexts)
        self.arms.restart(rows)

    def move(self, actions: Array) -> StepOutcomes:
        """Simulate one step of every episode, with actions (n, 2) in [-1, 1].

        An arm that touches an obstacle starts again, unless contact ends the episode.
        """
        self.arms.move(self._all, actions)
        self.touched = self.arms.touching.copy()
        if not self._ends_at_contact:
            self.arms.restart(np.flatnonzero(self.touched))
        distance = np.linalg.norm(self.arms.grips[:, :2] - GOAL[:2], axis=1)
        ended = self.touched & self._ends_at_contact
        return StepOutcomes(np.exp(-DECAY * distance), ended, at_goal(self.arms.grips))

    def observe(self) -> Array:
        """(n, 4): x, vx, y, vy of the grippers, in metres and metres per second."""
        return observe(self.arms)

    def seed(self, seed: int) -> None:
        """Do nothing: the arms have no noise."""


class ReacherObstacles(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """The reacher, one action per step (appendix, "Reacher Experiment").

    Observations are (x, vx, y, vy) of the gripper; actions lie in [-1, 1]^2; the reward of a step
    is exp(-2.5 d) for the distance d, in metres, to the goal over the table. Touching an obstacle
    puts the arm back to the start within the episode. `reset(options={"context": sizes})` sets the
    sizes of the two obstacles for this episode and those after it.

    `context`: the sizes before the first such reset. `ends_at_contact`: touching an obstacle ends
    the episode. `kinematic`: a moving rectangle instead of MuJoCo's arm. `render_mode`: None or
    "rgb_array", which needs MuJoCo's arm.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }
    """Render modes and frame rate, where Gymnasium looks for them."""

    def __init__(
        self,
        context: ArrayLike = (0.08, 0.08),
        *,
        ends_at_contact: bool = False,
        kinematic: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.context_space = gymnasium.spaces.Box(
            ReacherTask.context_space.low, ReacherTask.context_space.high, dtype=np.float64
        )
        self.observation_space = gymnasium.spaces.Box(-FARTHEST, FARTHEST, (4,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.render_mode = render_mode
        if render_mode is not None:
            camera.prepare_offscreen()
        self._task = KinematicReacher() if kinematic else Reacher()
        self._ends_at_contact = ends_at_contact
        self._context = self._checked(context)
        self._episodes = self.batched_episodes(1)
        self._episodes.begin(ONLY_ROW, self._context[None])
        self._camera: Any = None
        if render_mode is not None and (kinematic or render_mode != "rgb_array"):
            raise ValueError(
                "render_mode must be None, or 'rgb_array' with kinematic=False; "
                f"got {render_mode!r}, kinematic={kinematic}"
            )

    def batched_episodes(self, n: int) -> ReacherEpisodes:
        """A batch of n episodes.

        MuJoCo's arms share models with this environment's own episode, which must not be stepped
        any more.
        """
        return ReacherEpisodes(self._task, n, self._ends_at_contact)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode, at `options["context"]` if given; return observation and `info`."""
        super().reset(seed=seed)
        if options is not None and "context" in options:
            self._context = self._checked(options["context"])
        self._episodes.begin(ONLY_ROW, self._context[None])
        return self._observation(), self._info()

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Simulate one step; `info` says whether it "touched" an obstacle and "is_success"."""
        outcomes = self._episodes.move(np.clip(np.asarray(action, dtype=float), -1.0, 1.0)[None])
        info = {**self._info(), "touched": bool(self._episodes.touched[0])}
        return self._observation(), float(outcomes.rewards[0]), bool(outcomes.ended[0]), False, info

    def render(self) -> Any:
        """A picture of the scene as it is now, (height, width, 3), values from 0 to 255."""
        if self.render_mode is None:
            raise ValueError("render_mode must be given to make() before rendering; got None")
        if self._camera is None:
            from selfpaced.tasks.mujoco.fetch_camera import FetchCamera

            self._camera = FetchCamera()
        return self._camera.picture(self._context, self._episodes.arms.states[0])  # pyright: ignore

    def close(self) -> None:
        """Close the camera, if a picture has been rendered."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def _observation(self) -> NDArray[np.float32]:
        return self._episodes.observe()[0].astype(np.float32)

    def _info(self) -> dict[str, Any]:
        success = bool(at_goal(self._episodes.arms.grips)[0])
        return {"context": self._context.copy(), "is_success": success}

    def _checked(self, context: ArrayLike) -> Array:
        found = check_vector("context", context, 2)
        if not self.context_space.contains(found):
            raise ValueError(
                f"context must lie in {ReacherTask.context_space}; got {found.tolist()}"
            )
        return found
