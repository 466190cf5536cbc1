"""Environments of one task as a batch, for Stable-Baselines3 (extra `sb3`)."""

# Stable-Baselines3's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.vec_env import VecEnv

from selfpaced.deep.batched_episodes import BatchedEpisodes
from selfpaced.deep.context_queue import ContextQueue
from selfpaced.maths.arrays import IntArray


class BatchedVecEnv(VecEnv):
    """A vector of n environments that simulates all of them in one call instead of n.

    Step by step it returns the observations, rewards and ends of a `DummyVecEnv` of n
    `Monitor`s around `ContextualEnv`s.

    `episodes`: the batch of n episodes. `steps`: steps after which an episode is truncated.
    `spaces`: Gymnasium's observation and action space of one environment. `context`: the context
    of episodes for which none is queued; the middle of the context space if None.
    """

    def __init__(
        self,
        episodes: BatchedEpisodes,
        n: int,
        steps: int,
        spaces: tuple[Any, Any],
        context: ArrayLike | None,
    ) -> None:
        self._episodes, self._max_steps = episodes, steps
        self._queues = [ContextQueue(episodes.context_space, context) for _ in range(n)]
        self._steps_done = np.zeros(n, dtype=np.int64)  # of the current episodes
        self._rewards: list[list[float]] = [[] for _ in range(n)]
        self._actions = np.zeros((n, 0))
        self.render_mode = None
        super().__init__(n, *spaces)

    def __repr__(self) -> str:
        return f"BatchedVecEnv({self.num_envs} environments, {self._max_steps} steps per episode)"

    def reset(self) -> NDArray[np.float32]:
        """Begin a new episode in every environment; return the observations (n, o)."""
        if self._seeds[0] is not None:
            self._episodes.seed(self._seeds[0])
        self._begin(np.arange(self.num_envs))
        self._reset_seeds()
        self._reset_options()
        return self._observations()

    def _begin(self, rows: IntArray) -> None:
        """Begin new episodes in the environments `rows` (k,), each at its queue's next context."""
        self._episodes.begin(rows, np.array([self._queues[i].next() for i in rows]))
        self._steps_done[rows] = 0
        for i in rows:
            self._rewards[i] = []
            self.reset_infos[i] = {"context": self._queues[i].current.copy()}

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions (n, a) for `step_wait`, which simulates."""
        self._actions = np.asarray(actions, dtype=float)

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Simulate one step; episodes that end are followed by new ones, as in every `VecEnv`.

        Returns observations (n, o), rewards (n,), ends (n,) and one `info` per environment, with
        the entries that `Monitor` and `ContextualEnv` write.
        """
        space: Any = self.action_space
        outcomes = self._episodes.move(np.clip(self._actions, space.low, space.high))
        self._steps_done += 1
        timed_out = self._steps_done >= self._max_steps
        done = outcomes.ended | timed_out
        observations = self._observations()
        infos: list[dict[str, Any]] = []
        for i, reward in enumerate(outcomes.rewards.tolist()):
            self._rewards[i].append(reward)
            info: dict[str, Any] = {
                "context": self._queues[i].current.copy(),
                "is_success": bool(outcomes.solved[i]),
                "TimeLimit.truncated": bool(timed_out[i] and not outcomes.ended[i]),
            }
            if done[i]:
                total = float(sum(self._rewards[i]))
                discount = self._episodes.return_discount
                score = sum(discount**t * reward for t, reward in enumerate(self._rewards[i]))
                info["episode"] = {"r": round(total, 6), "l": int(self._steps_done[i])}
                info |= {
                    "episode_return": float(score),
                    "episode_success": float(outcomes.solved[i]),
                }
                info["terminal_observation"] = observations[i]
            infos.append(info)
        if done.any():
            self._begin(np.flatnonzero(done))
            observations = self._observations()
        return observations, outcomes.rewards.astype(np.float32), done, infos

    def _observations(self) -> NDArray[np.float32]:
        return self._episodes.observe().astype(np.float32)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the context queues, the only objects that exist once per environment."""
        chosen = [self._queues[i] for i in self._get_indices(indices)]
        return [getattr(queue, method_name)(*method_args, **method_kwargs) for queue in chosen]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each context queue, such as "bounds" or "waiting_contexts"."""
        if attr_name == "render_mode":  # VecEnv.__init__ asks for it; a queue has none
            return [None for _ in self._queues]
        return [getattr(self._queues[i], attr_name) for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of each context queue, such as "paused"."""
        for i in self._get_indices(indices):
            setattr(self._queues[i], attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """False for every environment: there are no wrappers inside the batch."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
