"""Environments of one task that move together, as Stable-Baselines3 wants them (extra `sb3`)."""

# Stable-Baselines3's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.vec_env import VecEnv

from selfpaced.deep.queue import ContextQueue
from selfpaced.deep.rows import Rows
from selfpaced.maths.arrays import IntArray


class Together(VecEnv):
    """n environments whose physics is one call, not n.

    Equal to `DummyVecEnv` of as many `Monitor`s around `ContextualEnv`s, step by step.
    """

    def __init__(
        self, rows: Rows, n: int, steps: int, spaces: tuple[Any, Any], context: ArrayLike | None
    ) -> None:
        self._rows, self._steps = rows, steps
        self._queues = [ContextQueue(rows.context_space, context) for _ in range(n)]
        self._ages = np.zeros(n, dtype=np.int64)
        self._rewards: list[list[float]] = [[] for _ in range(n)]
        self._actions = np.zeros((n, 0))
        self.render_mode = None
        super().__init__(n, *spaces)

    def reset(self) -> NDArray[np.float32]:
        self._begin(np.arange(self.num_envs))
        self._reset_seeds()
        self._reset_options()
        return self._observations()

    def _begin(self, rows: IntArray) -> None:
        self._rows.begin(rows, np.array([self._queues[i].next() for i in rows]))
        self._ages[rows] = 0
        for i in rows:
            self._rewards[i] = []
            self.reset_infos[i] = {"context": self._queues[i].current.copy()}

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = np.asarray(actions, dtype=float)

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        moved = self._rows.move(np.clip(self._actions, -1.0, 1.0))
        self._ages += 1
        late = self._ages >= self._steps
        done = moved.ended | late
        observations = self._observations()
        infos: list[dict[str, Any]] = []
        for i, reward in enumerate(moved.rewards.tolist()):
            self._rewards[i].append(reward)
            info: dict[str, Any] = {
                "context": self._queues[i].current.copy(),
                "is_success": bool(moved.solved[i]),
                "TimeLimit.truncated": bool(late[i] and not moved.ended[i]),
            }
            if done[i]:
                total = float(sum(self._rewards[i]))
                info["episode"] = {"r": round(total, 6), "l": int(self._ages[i])}
                info |= {"episode_return": total, "episode_success": float(moved.solved[i])}
                info["terminal_observation"] = observations[i]
            infos.append(info)
        if done.any():
            self._begin(np.flatnonzero(done))
            observations = self._observations()
        return observations, moved.rewards.astype(np.float32), done, infos

    def _observations(self) -> NDArray[np.float32]:
        return self._rows.observe().astype(np.float32)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Of the queues of contexts, which is all there is of a single environment."""
        chosen = [self._queues[i] for i in self._get_indices(indices)]
        return [getattr(queue, method_name)(*method_args, **method_kwargs) for queue in chosen]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "render_mode":  # asked for before anything else is there
            return [None for _ in self._queues]
        return [getattr(self._queues[i], attr_name) for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        for i in self._get_indices(indices):
            setattr(self._queues[i], attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """There is nothing to close."""
