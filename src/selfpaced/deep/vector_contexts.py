"""How contexts reach the environments of a Gymnasium vector environment (extra `gym`)."""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np

from selfpaced.maths.arrays import Array, IntArray
from selfpaced.maths.box import Box

ApplyToRows = str | Callable[[Any, IntArray, Array], None]
"""How a vector environment without sub-environments takes contexts; see `CurriculumVectorEnv`."""


class ContextChannel(Protocol):
    """Hands contexts to the environments of one vector environment."""

    holds_many: bool
    """True if several contexts can wait in an environment; False if the last one counts."""

    def send(self, ids: IntArray, contexts: Array) -> None:
        """Give `contexts` (k, d) to the environments `ids` (k,), for their next episodes."""
        ...

    def clear(self) -> None:
        """Remove contexts that others have left."""
        ...

    def refused_contexts(self, ids: IntArray) -> list[Array]:
        """For each of the environments `ids` the contexts that its last reset has refused."""
        ...


class SyncChannel:
    """To `ContextualEnv`s in this process, as in a `SyncVectorEnv`."""

    holds_many = True
    """Every `ContextualEnv` has a queue."""

    def __init__(self, environments: list[Any]) -> None:
        self._queues = [env.get_wrapper_attr("queue_contexts") for env in environments]
        self._environments = environments

    def send(self, ids: IntArray, contexts: Array) -> None:
        """Append `contexts` (k, d) to the queues of the environments `ids` (k,)."""
        for i, context in zip(ids.tolist(), contexts, strict=True):
            self._queues[i](context[None])

    def clear(self) -> None:
        """Empty the queues."""
        for env in self._environments:
            env.set_wrapper_attr("waiting_contexts", np.zeros((0, 0)))

    def refused_contexts(self, ids: IntArray) -> list[Array]:
        """For each of the environments `ids` the contexts (k, d) that its last reset refused."""
        return [self._environments[i].get_wrapper_attr("refused_contexts") for i in ids.tolist()]


class AsyncChannel:
    """To `ContextualEnv`s in processes of their own, as in an `AsyncVectorEnv`.

    Gymnasium's `call` and `set_attr` talk to every process. With 64 processes that takes as long
    as a step, so a message goes only to those that need one, in the form that `call` uses.
    """

    holds_many = True
    """Every `ContextualEnv` has a queue."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def send(self, ids: IntArray, contexts: Array) -> None:
        """Append `contexts` (k, d) to the queues of the environments `ids` (k,)."""
        several: dict[int, list[Array]] = {}
        for i, context in zip(ids.tolist(), contexts, strict=True):
            several.setdefault(i, []).append(context)
        pipes = self._env.parent_pipes
        for i, rows in several.items():
            pipes[i].send(("_call", ("queue_contexts", (np.array(rows),), {})))
        answered = [True] * len(pipes)
        for i in several:
            _, answered[i] = pipes[i].recv()
        self._env._raise_if_errors(answered)

    def clear(self) -> None:
        """Empty the queues."""
        self._env.set_attr("waiting_contexts", np.zeros((0, 0)))

    def refused_contexts(self, ids: IntArray) -> list[Array]:
        """For each of the environments `ids` the contexts (k, d) that its last reset refused."""
        found = self._env.get_attr("refused_contexts")
        return [found[i] for i in ids.tolist()]


class FunctionChannel:
    """To a vector environment of another kind, by a function of its own."""

    holds_many = False
    """Such an environment holds the context of the next episode and no more."""

    def __init__(self, apply: Callable[[IntArray, Array], None]) -> None:
        self._apply = apply

    def send(self, ids: IntArray, contexts: Array) -> None:
        """Set the contexts (k, d) of the next episodes of the environments `ids` (k,)."""
        self._apply(ids.copy(), contexts.copy())

    def clear(self) -> None:
        """Do nothing: the next context replaces what is there."""

    def refused_contexts(self, ids: IntArray) -> list[Array]:
        """None: such an environment must play every context that it is given."""
        return [np.zeros((0, 0)) for _ in ids]


def channel_to(env: Any, apply: ApplyToRows | None) -> ContextChannel:
    """The channel to the vector environment `env`; raise a ValueError if there is none."""
    inner = env.unwrapped
    if callable(apply):
        function: Any = apply
        return FunctionChannel(lambda ids, contexts: function(inner, ids, contexts))
    if apply is not None:
        if not callable(getattr(inner, apply, None)):
            raise ValueError(
                f"apply must name a method of {type(inner).__name__} that takes the numbers of "
                f"environments and their next contexts, or be a function; got {apply!r}"
            )
        method: Any = getattr(inner, apply)
        return FunctionChannel(lambda ids, contexts: method(ids, contexts))
    try:
        if isinstance(inner, gymnasium.vector.AsyncVectorEnv):
            inner.get_attr("waiting_contexts")
            return AsyncChannel(inner)
        return SyncChannel(list(inner.envs))
    except (AttributeError, EOFError) as error:
        raise ValueError(
            f"env must be a vector of ContextualEnvs, or apply must say how {type(inner).__name__} "
            "takes contexts: the name of a method of (environment numbers, contexts), or a "
            "function of (environment, environment numbers, contexts)"
        ) from error


def bounds_of(env: Any, given: Any) -> Box:
    """The bounds of the contexts that were `given`, or those that `env` knows."""
    inner, found = env.unwrapped, given
    if found is None:
        if hasattr(inner, "get_attr") and not hasattr(inner, "context_space"):
            found = inner.get_attr("bounds")[0]
        else:
            found = getattr(inner, "context_space", None)
    if isinstance(found, gymnasium.spaces.Box):
        found = Box(found.low.reshape(-1), found.high.reshape(-1))
    if not isinstance(found, Box):
        raise ValueError(
            "context_space must be a Box, such as Box([0, 0], [1, 1]), for an environment without "
            f"one of its own; got {found!r}"
        )
    return found
