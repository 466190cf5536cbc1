"""A Gymnasium environment with a context as a task (extra `gym`).

A task is what sweeps, tables and reports need: it scores policies on contexts.
"""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from selfpaced.maths.arrays import Array, IntArray, check_rows
from selfpaced.maths.box import Box
from selfpaced.names import checked_context_names
from selfpaced.tasks.batch import checked_batch, task_repr
from selfpaced.tasks.stepwise_task import affine_controllers, controller_space
from selfpaced.types import Outcomes

# Environments that a policy is called for at once; more need fewer calls and more memory.
ENVIRONMENTS_AT_ONCE = 16
TRAJECTORY_COLUMNS = 24  # a grid's observations have hundreds of numbers, which no figure shows


class GymTask:
    """A task that scores policies by episodes of a registered Gymnasium environment.

    A rollout's reward is the return of an episode; its success is the last
    "is_success" in `info`. Episode i of a batch is seeded with i. As for `PPO`, observations
    are vectors, and actions lie in [-1, 1] (`gymnasium.wrappers.RescaleAction`) or are one of a
    finite number. Policy parameters are those of an affine controller, action = K observation + k;
    of a finite number of actions it takes the one with the largest score. Trajectories keep the
    first 24 numbers of the observations.

    `environment`: the name of the environment, with the module that registers it
    ("my_module:Mine-v0"). It is a `ContextualEnv`, or has a `context_space` and takes a context
    through its reset options. `context_names`: a name per context dimension, for figures.
    """

    needs: ClassVar[tuple[str, ...]] = ("gymnasium",)
    """Packages that must be installed."""
    noisy: ClassVar[bool] = True
    """True: resets of an environment may be random, so training seeds them."""

    name: str
    """The name of the environment."""
    context_space: Box
    """Which contexts exist."""
    theta_space: Box
    """Which parameters of the affine controller may be tried."""
    context_names: tuple[str, ...] | None
    """A name for each dimension of a context, for figures; None for numbered ones."""
    outputs: int
    """The number of dimensions of an action, or of discrete actions."""
    discrete: bool
    """True if an action is one of a finite number."""
    steps: int | None
    """Steps of an episode at most; None if the environment is registered without them."""

    def __init__(self, environment: str, context_names: Sequence[str] | None = None) -> None:
        import gymnasium

        from selfpaced.deep.contextual_env import make_contextual

        self.name = environment
        first = make_contextual(environment)
        self._made: list[Any] = [first]  # environments, which later batches use again
        self.context_space = first.get_wrapper_attr("bounds")
        self.context_names = checked_context_names(context_names, self.context_space.dimension)
        inputs, outputs = _sizes(environment, first.observation_space, first.action_space)
        self.outputs = outputs
        self.discrete = not isinstance(first.action_space, gymnasium.spaces.Box)
        self.steps = None if first.spec is None else first.spec.max_episode_steps
        self.theta_space = controller_space(inputs, outputs)

    def __repr__(self) -> str:
        return task_repr(self, self.name)

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Score one episode for every row of `contexts` (n, d_c) and `thetas` (n, d_theta).

        `rng` is not used: episode i is seeded with i.
        """
        return self._controlled(contexts, thetas)[0]

    def trajectories(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Array:
        """(n, t, o): the observations of every episode; the last one repeats after its end."""
        return self._controlled(contexts, thetas)[1]

    def simulate_policy(
        self,
        contexts: Array,
        act: Callable[[Array], Array],
        rng: np.random.Generator | None = None,
    ) -> tuple[Outcomes, Array]:
        """Outcomes and trajectories (n, t, o) of one episode per context.

        `act` maps the observations (k, o) of the k episodes still running to actions (k, a).
        `rng` is not used: episode i is seeded with i.
        """
        return self._simulate(contexts, lambda observations, rows: act(observations))

    def _controlled(self, contexts: Array, thetas: Array) -> tuple[Outcomes, Array]:
        """Outcomes and trajectories, every episode with its own affine controller."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        scores = affine_controllers(thetas, self.outputs)
        if not self.discrete:
            return self._simulate(contexts, scores)
        return self._simulate(contexts, lambda seen, rows: scores(seen, rows).argmax(1)[:, None])

    def _simulate(
        self, contexts: Array, act: Callable[[Array, IntArray], Array]
    ) -> tuple[Outcomes, Array]:
        contexts = check_rows("contexts", contexts, self.context_space.dimension)
        parts = [
            self._simulate_some(
                contexts, np.arange(first, min(first + ENVIRONMENTS_AT_ONCE, len(contexts))), act
            )
            for first in range(0, len(contexts), ENVIRONMENTS_AT_ONCE)
        ]
        longest = max(len(path) for _, _, paths in parts for path in paths)
        paths = [
            np.concatenate([path, np.repeat(path[-1:], longest - len(path), axis=0)])
            for _, _, paths in parts
            for path in paths
        ]
        returns, successes = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return Outcomes(returns, successes), np.array(paths)

    def _simulate_some(
        self, contexts: Array, rows: IntArray, act: Callable[[Array, IntArray], Array]
    ) -> tuple[Array, Array, list[Array]]:
        """Returns, successes and observations of the episodes `rows` (k,) of a batch.

        Every round steps all running episodes once, so that `act` answers for them in one call.
        """
        environments = self._environments(len(rows))
        latest = [
            env.reset(seed=int(row), options={"context": contexts[row]})[0]
            for env, row in zip(environments, rows, strict=True)
        ]
        paths = [[observation[:TRAJECTORY_COLUMNS]] for observation in latest]
        returns, successes = np.zeros(len(rows)), np.zeros(len(rows))
        running = np.arange(len(rows))
        while running.size:
            observations = np.array([latest[k] for k in running], dtype=float)
            actions = self.natural_actions(act(observations, rows[running]))
            over = np.zeros(len(running), dtype=bool)
            for j, k in enumerate(running):
                latest[k], _, ended, truncated, info = environments[k].step(actions[j])
                paths[k].append(latest[k][:TRAJECTORY_COLUMNS])
                over[j] = ended or truncated
                if over[j]:
                    returns[k], successes[k] = info["episode_return"], info["episode_success"]
            running = running[~over]
        return returns, successes, [np.array(path, dtype=float) for path in paths]

    def natural_actions(self, actions: Array) -> Any:
        """(n, a): `actions` clipped to [-1, 1]; (n,): their numbers, if there are finitely many."""
        if self.discrete:
            return actions[:, 0].astype(np.int64)
        return np.clip(actions, -1.0, 1.0).astype(np.float32)

    def new_environments(self, n: int) -> list[Any]:
        """n environments in which nothing has happened yet."""
        from selfpaced.deep.contextual_env import make_contextual

        return [make_contextual(self.name) for _ in range(n)]

    def _environments(self, n: int) -> list[Any]:
        """n environments; new ones are made only if there are fewer."""
        self._made += self.new_environments(max(n - len(self._made), 0))
        return self._made[:n]


def _sizes(name: str, observations: Any, actions: Any) -> tuple[int, int]:
    """The numbers of observation dimensions, and of action dimensions or of discrete actions.

    Raise a ValueError unless observations are vectors, and actions are vectors in [-1, 1] or one
    of a finite number.
    """
    import gymnasium

    if not isinstance(observations, gymnasium.spaces.Box) or len(observations.shape) != 1:
        raise ValueError(
            f"observations of {name} must be vectors (gymnasium.wrappers.FlattenObservation); "
            f"got {observations}"
        )
    if isinstance(actions, gymnasium.spaces.Discrete) and actions.start == 0:
        return observations.shape[0], int(actions.n)
    if not isinstance(actions, gymnasium.spaces.Box) or len(actions.shape) != 1:
        raise ValueError(f"actions of {name} must be vectors, or numbers from 0; got {actions}")
    if not ((actions.low == -1).all() and (actions.high == 1).all()):
        raise ValueError(
            f"actions of {name} must lie in [-1, 1] (gymnasium.wrappers.RescaleAction); "
            f"got {actions}"
        )
    return observations.shape[0], actions.shape[0]
