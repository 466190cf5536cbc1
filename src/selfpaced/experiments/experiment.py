"""What an experiment is: a problem, the algorithms to compare on it, and a budget."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from selfpaced.maths.arrays import check_at_least, check_kind, has_method
from selfpaced.suggest import named
from selfpaced.types import Algorithm, Problem

MEASUREMENTS = 50  # of a run, on the target


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Sourced numbers. The problem is made on demand: simulators take time to build.

    `problem` is a function of a module (or a `functools.partial` of one), so that other processes
    can make it too.
    """

    name: str
    problem: Callable[[], Problem]
    algorithms: Mapping[str, Algorithm]
    iterations: int
    title: str = ""  # for figures; the name if not given
    evolution: tuple[int, ...] = ()  # iterations at which figures show the contexts
    measure_rollouts: int = 100  # per measurement on the target
    final_rollouts: int = 500  # of the last measurement

    def __post_init__(self) -> None:
        check_at_least("iterations", self.iterations, 1)
        if not callable(self.problem):
            raise ValueError(
                f"problem must be a function that makes the problem; got {self.problem!r}"
            )
        check_kind("algorithms", self.algorithms, Mapping)
        if not self.algorithms:
            raise ValueError("algorithms must name at least one; got none")
        for name, numbers in self.algorithms.items():
            check_algorithm(f"algorithms[{name!r}]", numbers)
        object.__setattr__(self, "title", self.title or self.name)
        for name in (self.name, *self.algorithms):
            checked_name(name)

    def algorithm(self, name: str) -> Algorithm:
        """The algorithm called `name`, or an error that suggests one."""
        return self.algorithms[named("algorithm", name, self.algorithms)]

    @property
    def measure_every(self) -> int:
        """Iterations between measurements: a property of the experiment, not of a run's budget,
        so that a run continued for longer equals one that was asked for as long at once."""
        return max(1, self.iterations // MEASUREMENTS)


def check_algorithm(name: str, numbers: object) -> None:
    """That these are an algorithm's numbers, and not its class."""
    if not has_method(numbers, "start"):
        raise ValueError(f"{name} must be numbers such as SPRL(); got {numbers!r}")


def checked_name(name: str) -> str:
    """`name` of an experiment or algorithm, or a ValueError: it becomes a folder's name."""
    if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
        raise ValueError(
            f"name must be letters, digits, '-', '_' and '.', for it names a folder; got {name!r}"
        )
    return name
