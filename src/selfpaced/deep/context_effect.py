"""A check that an environment takes the contexts it is given: nobody shall train on nothing."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array


class WatchedOptions(dict[str, Any]):
    """Reset options that remember whether anybody has looked at the context."""

    seen: bool = False
    """True once the entry "context", or all entries, have been read."""

    def __getitem__(self, key: str) -> Any:
        self._look(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._look(key)
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self.seen = True
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        """The entry `key`, as of every dictionary."""
        self._look(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """Remove and return the entry `key`, as of every dictionary."""
        self._look(key)
        return super().pop(key, *default)

    def keys(self) -> Any:
        """All names, as of every dictionary."""
        self.seen = True
        return super().keys()

    def items(self) -> Any:
        """All entries, as of every dictionary."""
        self.seen = True
        return super().items()

    def values(self) -> Any:
        """All values, as of every dictionary."""
        self.seen = True
        return super().values()

    def copy(self) -> dict[str, Any]:
        """A copy, which counts as having looked."""
        self.seen = True
        return dict(super().items())

    def _look(self, key: object) -> None:
        self.seen = self.seen or key == "context"


def warn_unless_option_taken(options: WatchedOptions, env: Any) -> None:
    """Warn if `env` has not looked at the context in the options of its reset."""
    if not options.seen:
        warnings.warn(
            f"{type(env).__name__}.reset did not look at options['context'], so contexts have no "
            "effect. Say how they reach the environment: ContextualEnv(..., apply=...) with the "
            "name of an attribute or a method, or a function of (environment, context). If it "
            "takes them in another way, pass check_context=False",
            stacklevel=3,
        )


def warn_unless_attribute_kept(env: Any, name: str, context: Array) -> None:
    """Warn if the attribute `name` of `env` is not `context` (d,) any more, after its reset."""
    found = getattr(env, name)
    if np.shape(found) in ((), context.shape) and (np.asarray(found) == context).all():
        return
    warnings.warn(
        f"{type(env).__name__}.reset has overwritten the attribute {name!r}, which was set to the "
        f"context {context.tolist()} and is now {found!r}, so contexts have no effect. Name an "
        "attribute that reset leaves alone, or pass apply a function of (environment, context). "
        "If the environment uses the context nevertheless, pass check_context=False",
        stacklevel=3,
    )
