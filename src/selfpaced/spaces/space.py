"""Spaces from what users pass: the library's own, Gymnasium's, and those in files."""

from typing import Any

import numpy as np

from selfpaced.maths.box import Box
from selfpaced.spaces.discrete import Categories, Integers, TaskSet
from selfpaced.spaces.product import Product


def checked_space(context_space: Any, name: str = "context_space") -> Box:
    """`context_space` as a space of the library; raise a ValueError unless it can be one.

    Gymnasium's spaces Box, Discrete, MultiDiscrete, Tuple and Dict are taken, too.
    """
    if isinstance(context_space, Box):
        return context_space
    if type(context_space).__module__.startswith("gymnasium.spaces"):
        return _from_gymnasium(context_space, name)
    raise ValueError(
        f"{name} must be a Box, such as Box([0, 0], [1, 1]) with lower and upper bounds, or "
        f"another space; got {context_space!r}"
    )


def _from_gymnasium(space: Any, name: str) -> Box:
    """One of Gymnasium's spaces as ours.

    The numbers of Discrete and MultiDiscrete are taken to have an order; where they are mere
    labels, write `Categories` instead.
    """
    kind = type(space).__name__
    if kind == "Box":
        return Box(np.ravel(space.low), np.ravel(space.high))
    if kind == "Discrete":
        return Integers(int(space.start), int(space.start + space.n - 1))
    if kind == "MultiDiscrete":
        start = np.ravel(space.start)
        return Integers(start, start + np.ravel(space.nvec) - 1)
    if kind == "Tuple":
        return Product(*(_from_gymnasium(part, name) for part in space.spaces))
    if kind == "Dict":
        return Product(**{key: _from_gymnasium(part, name) for key, part in space.spaces.items()})
    raise ValueError(
        f"{name} must be Box, Discrete, MultiDiscrete, Tuple or Dict of Gymnasium's spaces; "
        f"got {space!r}"
    )


def space_from(data: dict[str, Any]) -> Box:
    """The space that was stored as plain `data`.

    A constrained space comes back without its constraint, because files hold no functions; a task
    set comes back with the names of its tasks in place of the tasks.
    """
    kind = data.get("type")
    if kind == "Box":
        return Box(data["low"], data["high"])
    if kind == "Integers":
        return Integers(data["low"], data["high"])
    if kind == "Categories":
        return Categories(*data["names"])
    if kind == "TaskSet":
        return TaskSet(data["names"], data["names"], data.get("related", ()))
    if kind == "Constrained":
        return space_from(data["space"])
    if kind == "Product":
        parts = [space_from(part) for part in data["parts"]]
        names = [str(name) for name in data["names"]]
        return Product(**dict(zip(names, parts, strict=True))) if names else Product(*parts)
    raise ValueError(f"a stored space must have a known type; got {kind!r}")
