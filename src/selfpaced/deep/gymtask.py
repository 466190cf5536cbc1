"""A Gymnasium environment with a context as a task (extra `gym`): for sweeps, tables and pages."""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from selfpaced.maths.arrays import Array, IntArray, check_rows
from selfpaced.maths.box import Box
from selfpaced.tasks.batch import checked_batch
from selfpaced.tasks.stepwise import affine_controllers, controller_space
from selfpaced.types import Outcomes

AT_ONCE = 16  # environments that are stepped side by side


class GymTask:
    """`environment`: the name under which a `ContextualEnv` is registered with Gymnasium, with its
    module ("my_module:Mine-v0"), or another environment with a `context_space` that takes a context
    through its reset options.

    A rollout's reward is the return of an episode, its success what the environment says at the end
    ("is_success" in `info`). Episode i of a batch is seeded with i. As for `PPO`, observations are
    vectors and actions lie in [-1, 1] (`gymnasium.wrappers.RescaleAction`).
    """

    needs: ClassVar[tuple[str, ...]] = ("gymnasium",)

    def __init__(self, environment: str, context_names: Sequence[str] | None = None) -> None:
        from selfpaced.deep.wrapper import made_contextual

        self.name = environment
        first = made_contextual(environment)
        self._first, self._rest = first, list[Any]()
        self.context_space: Box = first.get_wrapper_attr("bounds")
        if context_names is not None:
            self.context_names = tuple(context_names)
        inputs, outputs = _sizes(environment, first.observation_space, first.action_space)
        self._outputs = outputs
        self.theta_space = controller_space(inputs, outputs)

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        return self._controlled(contexts, thetas)[0]

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, t, o): observations, the last one repeated where an episode is over."""
        return self._controlled(contexts, thetas)[1]

    def follow(self, contexts: Array, act: Callable[[Array], Array]) -> tuple[Outcomes, Array]:
        """Outcomes and observations over time of a policy that sees every observation."""
        return self._play(contexts, lambda seen, rows: act(seen))

    def _controlled(self, contexts: Array, thetas: Array) -> tuple[Outcomes, Array]:
        contexts, thetas = checked_batch(self, contexts, thetas)
        return self._play(contexts, affine_controllers(thetas, self._outputs))

    def _play(
        self, contexts: Array, act: Callable[[Array, IntArray], Array]
    ) -> tuple[Outcomes, Array]:
        contexts = check_rows("contexts", contexts, self.context_space.dimension)
        parts = [
            self._play_some(contexts, np.arange(first, min(first + AT_ONCE, len(contexts))), act)
            for first in range(0, len(contexts), AT_ONCE)
        ]
        longest = max(len(path) for _, _, paths in parts for path in paths)
        paths = [
            np.concatenate([path, np.repeat(path[-1:], longest - len(path), axis=0)])
            for _, _, paths in parts
            for path in paths
        ]
        returns, successes = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return Outcomes(returns, successes), np.array(paths)

    def _play_some(
        self, contexts: Array, rows: IntArray, act: Callable[[Array, IntArray], Array]
    ) -> tuple[Array, Array, list[Array]]:
        """Returns, successes and observations of the episodes `rows` (k,) of a batch."""
        environments = self._environments(len(rows))
        seen = [
            env.reset(seed=int(row), options={"context": contexts[row]})[0]
            for env, row in zip(environments, rows, strict=True)
        ]
        paths = [[observation] for observation in seen]
        returns, successes = np.zeros(len(rows)), np.zeros(len(rows))
        going = np.arange(len(rows))
        while going.size:
            observations = np.array([seen[k] for k in going], dtype=float)
            actions = np.clip(act(observations, rows[going]), -1.0, 1.0).astype(np.float32)
            over = np.zeros(len(going), dtype=bool)
            for j, k in enumerate(going):
                seen[k], _, ended, truncated, info = environments[k].step(actions[j])
                paths[k].append(seen[k])
                over[j] = ended or truncated
                if over[j]:
                    returns[k], successes[k] = info["episode_return"], info["episode_success"]
            going = going[~over]
        return returns, successes, [np.array(path, dtype=float) for path in paths]

    def _environments(self, n: int) -> list[Any]:
        from selfpaced.deep.wrapper import made_contextual

        while 1 + len(self._rest) < n:
            self._rest.append(made_contextual(self.name))
        return [self._first, *self._rest[: n - 1]]


def _sizes(name: str, observations: Any, actions: Any) -> tuple[int, int]:
    """Dimensions of observations and actions, or a ValueError that says what must change."""
    import gymnasium

    if not isinstance(observations, gymnasium.spaces.Box) or len(observations.shape) != 1:
        raise ValueError(
            f"observations of {name} must be vectors (gymnasium.wrappers.FlattenObservation); "
            f"got {observations}"
        )
    if not isinstance(actions, gymnasium.spaces.Box) or len(actions.shape) != 1:
        raise ValueError(f"actions of {name} must be vectors; got {actions}")
    if not ((actions.low == -1).all() and (actions.high == 1).all()):
        raise ValueError(
            f"actions of {name} must lie in [-1, 1] (gymnasium.wrappers.RescaleAction); "
            f"got {actions}"
        )
    return observations.shape[0], actions.shape[0]
