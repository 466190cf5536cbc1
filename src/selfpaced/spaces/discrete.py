"""Whole numbers, categories, and finite lists of tasks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, IntArray, check_vector
from selfpaced.names import named
from selfpaced.spaces.columns import ColumnSpace

LONGEST = 60  # characters of a task's name, which is its repr


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Integers(ColumnSpace):
    """Whole numbers from `low` to `high`, both included; one number, or several.

    >>> from selfpaced import Integers
    >>> obstacles = Integers(1, 8)
    >>> obstacles.decode([3.0]), obstacles.encode(8)
    (3, array([8.]))
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        lower = check_vector("low", np.atleast_1d(np.asarray(low)))
        upper = check_vector("high", np.atleast_1d(np.asarray(high)), len(lower))
        for name, bound in (("low", lower), ("high", upper)):
            if (bound != np.round(bound)).any():
                raise ValueError(f"{name} must be whole numbers; got {bound.tolist()}")
        super().__init__(lower, upper)

    def __repr__(self) -> str:
        low, high = self.low.astype(int).tolist(), self.high.astype(int).tolist()
        return f"Integers({low[0]}, {high[0]})" if len(low) == 1 else f"Integers({low}, {high})"

    def decode(self, row: ArrayLike) -> int | tuple[int, ...]:
        """The whole number that `row` (d,) stands for; a tuple if there are several."""
        numbers = self.check("context", [check_vector("context", row, self.dimension)])[0]
        whole = tuple(int(number) for number in numbers)
        return whole[0] if len(whole) == 1 else whole

    def encode(self, value: int | Sequence[int]) -> Array:
        """The row (d,) of a whole number, or of several."""
        return self.check("context", [np.atleast_1d(np.asarray(value, dtype=float))])[0]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Categories(ColumnSpace):
    """One of several names, which have no order.

    >>> from selfpaced import Categories
    >>> terrain = Categories("flat", "stairs", "ice")
    >>> terrain.decode([1.0]), terrain.encode("ice")
    ('stairs', array([2.]))
    """

    names: tuple[str, ...]
    """The names, all different, at least two."""

    def __init__(self, *names: str) -> None:
        _check_names("names", names)
        super().__init__([0.0], [len(names) - 1.0])
        object.__setattr__(self, "names", tuple(names))

    def __repr__(self) -> str:
        return f"Categories({', '.join(repr(name) for name in self.names)})"

    @cached_property
    def categories(self) -> IntArray:
        """(1,): the number of categories."""
        return np.array([len(self.names)], dtype=np.int64)

    def decode(self, row: ArrayLike) -> str:
        """The name that `row` (1,) stands for."""
        return self.names[int(self.check("context", [check_vector("context", row, 1)])[0, 0])]

    def encode(self, value: str) -> Array:
        """The row (1,) of a name; raise a ValueError with a suggestion if there is none."""
        return np.array([float(self.names.index(named("category", value, self.names)))])


@dataclass(frozen=True, eq=False, repr=False, init=False)
class TaskSet(ColumnSpace):
    """A finite list of anything, by index: levels, files, environments, dictionaries of settings.

    >>> from selfpaced import TaskSet
    >>> levels = TaskSet([{"enemies": 1}, {"enemies": 5}, {"enemies": 9, "night": True}])
    >>> levels.decode([1.0]), levels
    ({'enemies': 5}, TaskSet(3 tasks))

    Files keep the names of the tasks, not the tasks. Two sets are equal if their names are.
    """

    names: tuple[str, ...]
    """A name for each task, all different; by default what the task prints as, or its number."""
    related: tuple[tuple[int, int], ...]
    """Pairs of tasks that resemble each other, by index; teachers expect similar success there."""

    def __init__(
        self,
        tasks: Iterable[Any],
        names: Sequence[str] | None = None,
        related: Iterable[tuple[int, int]] = (),
    ) -> None:
        listed = tuple(tasks)
        if len(listed) < 2:
            raise ValueError(f"tasks must be at least two; got {len(listed)}")
        if names is None:
            printed = [repr(task)[:LONGEST] for task in listed]
            unique = len(set(printed)) == len(printed)
            names = printed if unique else [f"task {k}" for k in range(len(listed))]
        _check_names("names", names)
        if len(names) != len(listed):
            raise ValueError(f"names must be {len(listed)}, one per task; got {len(names)}")
        super().__init__([0.0], [len(listed) - 1.0])
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "_tasks", listed)
        pairs = tuple((int(one), int(other)) for one, other in related)
        for pair in pairs:
            if pair[0] == pair[1] or not all(0 <= k < len(listed) for k in pair):
                raise ValueError(
                    f"related must be pairs of different tasks from 0 to {len(listed) - 1}; "
                    f"got {pair}"
                )
        object.__setattr__(self, "related", pairs)

    def __repr__(self) -> str:
        return f"TaskSet({len(self.names)} tasks)"

    @property
    def tasks(self) -> tuple[Any, ...]:
        """The tasks, in the order of their indices."""
        return self.__dict__["_tasks"]

    @cached_property
    def categories(self) -> IntArray:
        """(1,): the number of tasks."""
        return np.array([len(self.names)], dtype=np.int64)

    def decode(self, row: ArrayLike) -> Any:
        """The task that `row` (1,) stands for."""
        return self.tasks[int(self.check("context", [check_vector("context", row, 1)])[0, 0])]

    def encode(self, value: Any) -> Array:
        """The row (1,) of a task of the list, or of its name."""
        for known in (self.tasks, self.names):
            found = [k for k, task in enumerate(known) if task is value or task == value]
            if found:
                return np.array([float(found[0])])
        raise ValueError(f"context must be a task of {self} or its name; got {value!r}")


def _check_names(name: str, names: Sequence[Any]) -> None:
    """Raise a ValueError unless `names` are at least two different texts."""
    bad = [entry for entry in names if not isinstance(entry, str) or not entry]
    if bad:
        raise ValueError(f"{name} must be texts that are not empty; got {bad[0]!r}")
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"{name} must be at least two, all different; got {list(names)!r}")
