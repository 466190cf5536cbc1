"""A wrapper that gives any Gymnasium environment contexts that a teacher chooses (extra `gym`)."""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from selfpaced.deep.context_effect import (
    WatchedOptions,
    warn_unless_attribute_kept,
    warn_unless_option_taken,
)
from selfpaced.deep.context_queue import ContextQueue
from selfpaced.deep.success_rule import SuccessRule, checked_rule, success_of
from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.spaces.constrained import Infeasible
from selfpaced.spaces.space import checked_space
from selfpaced.targets.target import Target

CHANGING_NOTHING = (  # wrappers that change neither observations, nor actions, nor rewards
    gymnasium.wrappers.TimeLimit,
    gymnasium.wrappers.OrderEnforcing,
    gymnasium.wrappers.PassiveEnvChecker,
)
Apply = str | Callable[[Any, Array], None] | None
"""How a context reaches the environment; see `ContextualEnv`."""


class ContextualEnv(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """An environment that takes the context of every episode from a queue.

    >>> import gymnasium
    >>> from selfpaced import Box, ContextualEnv
    >>> cartpole = gymnasium.make("CartPole-v1")
    >>> env = ContextualEnv(cartpole, Box([1.0], [20.0]), apply="gravity")
    >>> env.queue_contexts([[3.7], [9.8]])  # in m/s^2: Mars, then Earth
    >>> observation, info = env.reset(seed=0)
    >>> env.unwrapped.gravity, env.waiting_contexts.tolist()
    (3.7, [[9.8]])

    Vector environments reset their environments by themselves and drop reset options, so contexts
    wait here, where the reset happens. If none waits, resets take the default `context`. A reset is
    an error if the queue was filled before and is empty now, because the episode would have a
    context that no teacher chose. `reset(options={"context": c})` begins one episode at c and
    leaves the queue alone. To evaluate on the target, make another environment with
    `context=target`.

    `context_space`: a `Box`, another space of the library or of Gymnasium; the environment's own
    `context_space` if not given. In a space other than a `Box` the environment gets natural values
    (whole numbers, names, dictionaries).
    `apply`: how a context reaches the environment. The name of an attribute, which is set (to a
    number if it holds one); or of a method, which is called, of the environment or of a wrapper
    around it; or a function of (environment without its wrappers, context); or None, for
    `reset(options={"context": c})`. `context`: the default context, or a target to draw it from;
    the middle of the context space if not given. `observe_context`: append the context to
    observations, scaled to [-1, 1]; a category is a unit vector. `success`: what counts as a
    success at the end of an episode: the name of an entry of `info` that says it; "terminated", if
    episodes that end by themselves have succeeded; a number, which the return must reach; or a
    function of `info`, which then has "episode_return" and "terminated", too. The function is
    called at every
    step, and its last answer counts. None: there are no successes. `check_context`: warn at the
    first reset if the environment did not take the context, or has overwritten it.

    An environment refuses a context that cannot be played: its `reset` (or `apply`) raises
    `Infeasible`, or returns an `info` in which "infeasible" is true. Then the reset is repeated at
    the queued context that was accepted last; if there is none yet, at random ones that are not
    near refused ones. A default context is drawn again from its target. `info` then has
    "context_refused", by which curricula learn of it.

    Every `info` has the "context" of its episode, exactly as it was applied. After a step it also
    has "episode_return" and "episode_success" so far (nan if `info` has no such entry). Those of
    the last step count, even if a time limit around this wrapper ends the episode. The return is
    discounted if the environment has an attribute `return_discount`.
    """

    bounds: Box
    """Bounds of the contexts."""
    context_space: gymnasium.spaces.Box
    """The same bounds as Gymnasium's space."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        context_space: Box | gymnasium.spaces.Space[Any] | None = None,
        *,
        apply: Apply = None,
        context: ArrayLike | Target | None = None,
        observe_context: bool = False,
        success: SuccessRule = "is_success",
        check_context: bool = True,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(  # so that a spec can make it again
            self,
            context_space=context_space,
            apply=apply,
            context=context,
            observe_context=observe_context,
            success=success,
            check_context=check_context,
        )
        gymnasium.Wrapper.__init__(self, env)
        self.bounds = _bounds(env, context_space)
        self.context_space = gymnasium.spaces.Box(
            self.bounds.low, self.bounds.high, dtype=np.float64
        )
        self._apply = _applied_by(apply, env, self.bounds.dimension)
        self._success = checked_rule(success)
        self._check_context = check_context  # until the first reset
        # The attribute that contexts are set to, if they are.
        self._attribute: tuple[Any, str] | None = None  # what holds it, and its name
        if isinstance(apply, str) and not callable(getattr(_holder(env, apply), apply)):
            self._attribute = _holder(env, apply), apply
        self._queue = ContextQueue(self.bounds, context)
        # Rewards count in the return by their discount; most environments do not say any.
        self._discount = float(getattr(env.unwrapped, "return_discount", 1.0))
        self._return, self._weight = 0.0, 1.0
        self._observe_context = observe_context
        if observe_context:
            self.observation_space = _with_context(env.observation_space, self.bounds)

    @property
    def leaves_env_unchanged(self) -> bool:
        """True if it changes neither how contexts are passed, nor observations, nor success."""
        default = self._apply is None and self._success == "is_success"
        return default and not self._observe_context

    def queue_contexts(self, contexts: ArrayLike) -> None:
        """Append contexts (k, d) to those that wait for the next resets."""
        self._queue.queue_contexts(contexts)

    @property
    def waiting_contexts(self) -> Array:
        """(k, d): the contexts of the next resets, in order; setting it replaces them all."""
        return self._queue.waiting_contexts

    @waiting_contexts.setter
    def waiting_contexts(self, contexts: ArrayLike) -> None:
        self._queue.waiting_contexts = contexts

    @property
    def paused(self) -> bool:
        """True to leave the queue alone and to reset at the default context, as in evaluations."""
        return self._queue.paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._queue.paused = paused

    def set_default_context(self, context: ArrayLike | Target) -> None:
        """Set the context of resets for which none is queued: one, or a target to draw from."""
        self._queue.set_default_context(context)

    @property
    def from_queue(self) -> bool:
        """True if the context of the current episode came from the queue."""
        return self._queue.from_queue

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode at `options["context"]`, the next context that waits, or the default.

        `seed` also seeds the draws of default contexts.
        """
        if seed is not None:
            self._queue.seed(seed)
        self._return, self._weight = 0.0, 1.0
        context = self._queue.next(None if options is None else options.get("context"))
        known = self._queue.known_to_be_refused
        begun = None if known else self._begun(context, seed, options)
        while begun is None:
            context = self._queue.instead_of_refused()
            begun = self._begun(context, seed, options)
        self._queue.accept()
        observation, info = begun
        refused = {"context_refused": True} if len(self.refused_contexts) else {}
        return self._observed(observation), {**info, "context": context.copy(), **refused}

    def _begun(
        self, context: Array, seed: int | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]] | None:
        """What the environment's reset at `context` (d,) returns; None if it refuses the context.

        It refuses by raising `Infeasible`, or by a true "infeasible" in its `info`.
        """
        try:
            if self._apply is None:
                options = WatchedOptions({**(options or {}), "context": self._natural(context)})
            else:
                self._apply(self._natural(context))
            observation, info = self.env.reset(seed=seed, options=options)
        except Infeasible:
            return None
        if info.get("infeasible", False):
            return None
        if self._check_context:
            self._check_context = False
            self._warn_if_ignored(options, context)
        return observation, info

    @property
    def refused_contexts(self) -> Array:
        """(k, d): the contexts that the environment refused in the last reset, in order."""
        return self._queue.refused_contexts

    def _natural(self, context: Array) -> Any:
        """What the environment gets: a copy of the row, or the value that it stands for."""
        return self.bounds.decode(context) if self.bounds.decodes else context.copy()

    def _warn_if_ignored(self, options: dict[str, Any] | None, context: Array) -> None:
        """Warn if the reset that has just been did not take the context."""
        if isinstance(options, WatchedOptions):
            warn_unless_option_taken(options, self.env.unwrapped)
        elif self._attribute is not None:
            warn_unless_attribute_kept(*self._attribute, context)

    @property
    def defines_success(self) -> bool:
        """False if it was told, by `success=None`, that there are no successes."""
        return self._success is not None

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment; add context, return and success of the episode to `info`."""
        observation, reward, ended, truncated, info = self.env.step(action)
        self._return += self._weight * float(reward)
        self._weight *= self._discount
        info = {
            **info,
            "context": self._queue.current.copy(),
            "episode_return": self._return,
            "episode_success": success_of(self._success, info, self._return, ended),
        }
        return self._observed(observation), reward, ended, truncated, info

    def _observed(self, observation: Any) -> Any:
        """`observation`, with the context appended if it shall be observed."""
        if not self._observe_context:
            return observation
        if self.bounds.ordered:
            scaled = 2 * (self._queue.current - self.bounds.low) / self.bounds.width - 1
        else:
            scaled = 2 * self.bounds.embed(self._queue.current[None])[0] - 1
        return np.concatenate([observation, scaled]).astype(self.observation_space.dtype)


def _bounds(env: Any, given: Box | gymnasium.spaces.Space[Any] | None) -> Box:
    """The bounds that were `given`, or those of the environment's own context space."""
    found: Any = given
    if found is None:
        try:
            found = env.get_wrapper_attr("context_space")
        except AttributeError:
            raise ValueError(
                "context_space must be given for an environment without one of its own; got None"
            ) from None
    return checked_space(found)


def _applied_by(apply: Apply, env: Any, dimension: int) -> Callable[[Array], None] | None:
    """A function that applies a context to `env`; None if contexts are passed by reset options."""
    if apply is None:
        return None
    inner = env.unwrapped
    if callable(apply):
        return lambda context: apply(inner, context)
    inner = _holder(env, apply)
    if callable(getattr(inner, apply)):
        return lambda context: getattr(inner, apply)(context)
    if not isinstance(getattr(inner, apply), int | float | np.number):
        return lambda context: setattr(inner, apply, context)
    if dimension > 1:
        raise ValueError(
            f"apply must name an array of {dimension} numbers or a method that takes one; "
            f"{type(inner).__name__}.{apply} is a scalar"
        )
    return lambda context: setattr(inner, apply, float(np.ravel(context)[0]))


def _holder(env: Any, name: str) -> Any:
    """The outermost wrapper with an attribute or a method `name`, or the environment itself."""
    layer = env
    while not hasattr(layer, name):
        if layer is env.unwrapped:
            raise ValueError(
                f"apply must name an attribute or a method of {type(layer).__name__} or of a "
                f"wrapper around it; got {name!r}"
            )
        layer = layer.env
    return layer


def _with_context(space: Any, bounds: Box) -> gymnasium.spaces.Box:
    """The observation space with a context, scaled to [-1, 1], at its end."""
    vectors = isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1
    if not vectors or not np.issubdtype(space.dtype, np.floating):
        raise ValueError(
            f"observe_context needs observations that are vectors of floats; got {space}"
        )
    ones = np.ones(bounds.embedded)
    low, high = np.concatenate([space.low, -ones]), np.concatenate([space.high, ones])
    return gymnasium.spaces.Box(
        low.astype(space.dtype), high.astype(space.dtype), dtype=space.dtype
    )  # type: ignore[arg-type]


def make_contextual(name: str) -> Any:
    """`gymnasium.make(name)`, in a `ContextualEnv` unless it is registered with that wrapper."""
    made: Any = gymnasium.make(name)
    return made if made.has_wrapper_attr("queue_contexts") else ContextualEnv(made)


def wrappers_leave_env_unchanged(env: Any) -> bool:
    """True if no wrapper around `env` changes observations, actions, rewards or success."""
    while env is not env.unwrapped:
        if not (
            env.leaves_env_unchanged
            if isinstance(env, ContextualEnv)
            else isinstance(env, CHANGING_NOTHING)
        ):
            return False
        env = env.env
    return True
