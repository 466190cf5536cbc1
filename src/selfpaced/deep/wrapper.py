"""Any Gymnasium environment with a context that a teacher chooses (extra `gym`)."""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from selfpaced.deep.queue import ContextQueue
from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian

HARMLESS = (
    gymnasium.wrappers.TimeLimit,
    gymnasium.wrappers.OrderEnforcing,
    gymnasium.wrappers.PassiveEnvChecker,
)
Apply = str | Callable[[Any, Array], None] | None
Succeeded = str | Callable[[Mapping[str, Any]], bool]


class ContextualEnv(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Takes the next context from its queue at every reset, whoever calls it.

    Vector environments reset their environments by themselves and drop reset options on the way,
    so contexts wait here, where the reset happens. `queue_contexts` appends some; with an empty
    queue that has once been filled, a reset is an error rather than a context nobody chose.
    `reset(options={"context": c})` plays one episode at c and leaves the queue alone.

    To evaluate on the contexts you care about, make another environment with `context=target`.

    `context_space`: bounds of the contexts; the environment's own `context_space` if not given.
    `apply`: how a context reaches the environment: the name of an attribute, which is set, or of a
    method, which is called; a function of (environment, context); or None, for `reset(options=
    {"context": c})`. A scalar attribute gets a number. `context`: where to play when no teacher
    queues contexts: one, or a `Gaussian` to draw from; the middle if not given. `observe_context`:
    append the context to observations, scaled to [-1, 1]. `success`: the entry of `info` that says
    so at the end of an episode, or a function of every step's `info`, of which the last counts.

    Every `info` has the "context" of its episode, float64, exactly what was applied; that of a
    step also has "episode_return" and "episode_success" so far (nan where nothing says). The last
    one counts, whoever ends the episode, be it a time limit around this wrapper.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        context_space: Box | gymnasium.spaces.Box | None = None,
        *,
        apply: Apply = None,
        context: ArrayLike | Gaussian | None = None,
        observe_context: bool = False,
        success: Succeeded = "is_success",
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(  # so that a spec can make it again
            self,
            context_space=context_space,
            apply=apply,
            context=context,
            observe_context=observe_context,
            success=success,
        )
        gymnasium.Wrapper.__init__(self, env)
        self.bounds = _bounds(env, context_space)
        self.context_space = gymnasium.spaces.Box(
            self.bounds.low, self.bounds.high, dtype=np.float64
        )
        self._apply, self._success = _applied_by(apply, env, self.bounds.dimension), success
        self._queue = ContextQueue(self.bounds, context)
        self._return = 0.0
        self._observe_context = observe_context
        if observe_context:
            self.observation_space = _with_context(env.observation_space, self.bounds)

    @property
    def as_it_is(self) -> bool:
        """Whether the environment takes contexts, is seen and succeeds as it does by itself."""
        plain = self._apply is None and self._success == "is_success"
        return plain and not self._observe_context

    def queue_contexts(self, contexts: ArrayLike) -> None:
        """Append contexts (k, d) to what the next resets take."""
        self._queue.queue_contexts(contexts)

    @property
    def waiting_contexts(self) -> Array:
        """(k, d): the contexts of the next resets, first come first served."""
        return self._queue.waiting_contexts

    @waiting_contexts.setter
    def waiting_contexts(self, contexts: ArrayLike) -> None:
        self._queue.waiting_contexts = contexts

    @property
    def resting(self) -> bool:
        """Whether the queue is left alone and `context` is played, as when nobody trains."""
        return self._queue.resting

    @resting.setter
    def resting(self, resting: bool) -> None:
        self._queue.resting = resting

    def untaught(self, context: ArrayLike | Gaussian) -> None:
        """Where to play when no teacher queues contexts, from the next reset on."""
        self._queue.untaught(context)

    @property
    def taught(self) -> bool:
        """Whether the context of this episode came from the queue."""
        return self._queue.taught

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._queue.seed(seed)
        context = self._queue.next(None if options is None else options.get("context"))
        if self._apply is None:
            options = {**(options or {}), "context": context.copy()}
        else:
            self._apply(context.copy())
        self._return = 0.0
        observation, info = self.env.reset(seed=seed, options=options)
        return self._seen(observation), {**info, "context": context.copy()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, ended, truncated, info = self.env.step(action)
        self._return += float(reward)
        info = {
            **info,
            "context": self._queue.current.copy(),
            "episode_return": self._return,
            "episode_success": self._succeeded(info),
        }
        return self._seen(observation), reward, ended, truncated, info

    def _succeeded(self, info: Mapping[str, Any]) -> float:
        if callable(self._success):
            return float(self._success(info))
        found = info.get(self._success)
        return np.nan if found is None else float(found)

    def _seen(self, observation: Any) -> Any:
        if not self._observe_context:
            return observation
        scaled = 2 * (self._queue.current - self.bounds.low) / self.bounds.width - 1
        return np.concatenate([observation, scaled]).astype(self.observation_space.dtype)


def _bounds(env: Any, given: Box | gymnasium.spaces.Box | None) -> Box:
    found: Any = given
    if found is None:
        try:
            found = env.get_wrapper_attr("context_space")
        except AttributeError:
            raise ValueError(
                "context_space must be given for an environment without one of its own; got None"
            ) from None
    return found if isinstance(found, Box) else Box(found.low, found.high)


def _applied_by(apply: Apply, env: Any, dimension: int) -> Callable[[Array], None] | None:
    """A function of the context alone, or None for reset options."""
    if apply is None:
        return None
    inner = env.unwrapped
    if callable(apply):
        return lambda context: apply(inner, context)
    if not hasattr(inner, apply):
        raise ValueError(
            f"apply must name an attribute or a method of {type(inner).__name__}; got {apply!r}"
        )
    if callable(getattr(inner, apply)):
        return lambda context: getattr(inner, apply)(context)
    if not isinstance(getattr(inner, apply), int | float | np.number):
        return lambda context: setattr(inner, apply, context)
    if dimension > 1:
        raise ValueError(
            f"apply must name an array of {dimension} numbers or a method that takes one; "
            f"{type(inner).__name__}.{apply} is a scalar"
        )
    return lambda context: setattr(inner, apply, float(context[0]))


def _with_context(space: Any, bounds: Box) -> gymnasium.spaces.Box:
    vectors = isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1
    if not vectors or not np.issubdtype(space.dtype, np.floating):
        raise ValueError(
            f"observe_context needs observations that are vectors of floats; got {space}"
        )
    ones = np.ones(bounds.dimension)
    low, high = np.concatenate([space.low, -ones]), np.concatenate([space.high, ones])
    return gymnasium.spaces.Box(
        low.astype(space.dtype), high.astype(space.dtype), dtype=space.dtype
    )  # type: ignore[arg-type]


def made_contextual(name: str) -> Any:
    """`gymnasium.make(name)`, wrapped unless whoever registered it has done so."""
    made: Any = gymnasium.make(name)
    return made if made.has_wrapper_attr("queue_contexts") else ContextualEnv(made)


def all_harmless(env: Any) -> bool:
    """Whether no wrapper changes what is seen, done, earned or counted as a success."""
    while env is not env.unwrapped:
        if not (env.as_it_is if isinstance(env, ContextualEnv) else isinstance(env, HARMLESS)):
            return False
        env = env.env
    return True
