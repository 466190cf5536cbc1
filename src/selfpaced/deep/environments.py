"""Gymnasium environments of the tasks (extra `gym`; importing this module registers them).

import gymnasium
gymnasium.make("selfpaced.deep.environments:selfpaced/ReacherObstacles-v0")
"""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfpaced.deep.rows import Moved
from selfpaced.maths.arrays import Array, IntArray, check_vector
from selfpaced.tasks import offscreen
from selfpaced.tasks.kinematic import KinematicReacher
from selfpaced.tasks.reacher import GOAL, STEPS, Reacher, ReacherTask, at_goal, observe

DECAY = 2.5  # of the reward per metre from the goal (appendix)
FRAMES_PER_SECOND = 25  # of simulated time
FARTHEST = 5.0  # metres and metres per second that no arm gets to
ONE = np.zeros(1, dtype=np.int64)  # the row of the only arm


class ReacherRows:
    """n episodes of the reacher, side by side."""

    def __init__(self, task: ReacherTask, n: int, ends_at_contact: bool) -> None:
        self.context_space = task.context_space
        self.arms = task.arms(np.tile(task.context_space.centre, (n, 1)))
        self._all = np.arange(n)
        self._ends_at_contact = ends_at_contact

    def begin(self, rows: IntArray, contexts: Array) -> None:
        self.arms.place(rows, contexts)
        self.arms.restart(rows)

    def move(self, actions: Array) -> Moved:
        self.arms.move(self._all, actions)
        self.touched = self.arms.touching.copy()
        if not self._ends_at_contact:
            self.arms.restart(np.flatnonzero(self.touched))
        distance = np.linalg.norm(self.arms.grips[:, :2] - GOAL[:2], axis=1)
        ended = self.touched & self._ends_at_contact
        return Moved(np.exp(-DECAY * distance), ended, at_goal(self.arms.grips))

    def observe(self) -> Array:
        return observe(self.arms)


class ReacherObstacles(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """The reacher step by step (appendix, "Reacher Experiment").

    Observations (x, vx, y, vy) of the gripper, actions in [-1, 1]^2, reward exp(-2.5 d) of the
    distance d to the goal over the table. Touching an obstacle puts the arm back to the start
    within the episode, or, with `ends_at_contact`, ends the episode. `reset(options={"context":
    sizes})` sets the sizes of the two obstacles, for this episode and those after it.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }

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
            offscreen.prepare()
        self._task = KinematicReacher() if kinematic else Reacher()
        self._ends_at_contact = ends_at_contact
        self._context = self._checked(context)
        self._rows = self.side_by_side(1)
        self._rows.begin(ONE, self._context[None])
        self._camera: Any = None
        if render_mode is not None and (kinematic or render_mode != "rgb_array"):
            raise ValueError(f"render_mode must be rgb_array, with physics; got {render_mode!r}")

    def side_by_side(self, n: int) -> ReacherRows:
        """n episodes that move together; the environment's own arm must not move any more."""
        return ReacherRows(self._task, n, self._ends_at_contact)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        if options is not None and "context" in options:
            self._context = self._checked(options["context"])
        self._rows.begin(ONE, self._context[None])
        return self._observation(), self._info()

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        moved = self._rows.move(np.clip(np.asarray(action, dtype=float), -1.0, 1.0)[None])
        info = {**self._info(), "touched": bool(self._rows.touched[0])}
        return self._observation(), float(moved.rewards[0]), bool(moved.ended[0]), False, info

    def render(self) -> Any:
        if self.render_mode is None:
            raise ValueError("render_mode must be given to make() before rendering; got None")
        if self._camera is None:
            from selfpaced.tasks.fetch_camera import FetchCamera

            self._camera = FetchCamera()
        return self._camera.picture(self._context, self._rows.arms.states[0])  # pyright: ignore

    def close(self) -> None:
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def _observation(self) -> NDArray[np.float32]:
        return self._rows.observe()[0].astype(np.float32)

    def _info(self) -> dict[str, Any]:
        success = bool(at_goal(self._rows.arms.grips)[0])
        return {"context": self._context.copy(), "is_success": success}

    def _checked(self, context: ArrayLike) -> Array:
        found = check_vector("context", context, 2)
        if not self.context_space.contains(found):
            raise ValueError(
                f"context must lie in {ReacherTask.context_space}; got {found.tolist()}"
            )
        return found


HERE = "selfpaced.deep.environments:ReacherObstacles"
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "selfpaced/ReacherObstacles-v0": {},
    "selfpaced/ReacherObstaclesEnding-v0": {"ends_at_contact": True},
    "selfpaced/ReacherObstaclesKinematic-v0": {"kinematic": True},
}
for _name, _arguments in ENVIRONMENTS.items():
    if _name not in gymnasium.registry:
        gymnasium.register(_name, HERE, max_episode_steps=STEPS, kwargs=_arguments)
