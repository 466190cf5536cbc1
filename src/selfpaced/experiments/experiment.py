"""What an experiment is: a problem, the algorithms to compare on it, and a budget."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from selfpaced.experiments.algorithm_names import algorithm_called
from selfpaced.maths.arrays import check_at_least, check_kind, has_method
from selfpaced.names import checked_name
from selfpaced.types import Algorithm, Problem

MEASUREMENTS = 50  # measurements on the target during a run


class PublishedLevel(NamedTuple):
    """What others have published of the same experiment; figures show it as a mark."""

    label: str
    """Who has reached it, and how."""
    iteration: int
    """After how many iterations."""
    value: float
    """The success rate or the mean reward on the target."""
    metric: Literal["target_success", "target_reward"]
    """Which of the two it is."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A problem, algorithms to compare on it, and how long and how often to measure.

    Put it at the top of a module, so that other processes can import it, and run it with
    `selfpaced run my_module:MINE` or `selfpaced.run(MINE)`.

    >>> import numpy as np
    >>> from selfpaced import CREPS, SPRL, Box, Experiment, FunctionTask, Gaussian, Problem
    >>> def reach(contexts, thetas):
    ...     return -np.abs(thetas - contexts).sum(axis=1)
    >>> def make_problem():
    ...     task = FunctionTask(reach, Box([-1], [1]), Box([-2], [2]))
    ...     return Problem(task, Gaussian([0.9], [[1e-4]]))
    >>> MINE = Experiment(name="mine", problem=make_problem, iterations=50,
    ...                   algorithms={"sprl": SPRL(), "creps": CREPS()})
    """

    name: str
    """Name of the experiment and of its folder: letters, digits, "-", "_" and "."."""
    problem: Callable[[], Problem]
    """A function of a module, or a `functools.partial` of one, that makes the problem.

    It is called on demand and once per process, because simulators take time to build.
    """
    algorithms: Mapping[str, Algorithm]
    """Configurations such as `SPRL()`, by names of your choice."""
    iterations: int
    """Number of updates in a run, unless the caller asks for another number."""
    own_iterations: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of updates of those algorithms that need another one than `iterations`.

    Other names than those of `algorithms` have no effect, so that `dataclasses.replace` can
    exchange the algorithms alone.
    """
    title: str = ""
    """Title of the experiment in figures; its name if not given."""
    evolution: tuple[int, ...] = ()
    """Iterations at which figures show the contexts; evenly spread ones if not given."""
    measure_rollouts: int = 100
    """Rollouts of every measurement on the target."""
    final_rollouts: int = 500
    """Rollouts of the last measurement, which counts in tables."""
    published: tuple[PublishedLevel, ...] = ()
    """Levels that others have published, which figures of learning curves show."""

    def __post_init__(self) -> None:
        check_at_least("iterations", self.iterations, 1)
        if not callable(self.problem):
            raise ValueError(
                f"problem must be a function that makes the problem; got {self.problem!r}"
            )
        check_kind("algorithms", self.algorithms, Mapping)
        if not self.algorithms:
            raise ValueError("algorithms must have at least one entry; got none")
        for name, config in self.algorithms.items():
            check_algorithm(f"algorithms[{name!r}]", config)
        check_kind("own_iterations", self.own_iterations, Mapping)
        for name, own in self.own_iterations.items():
            check_at_least(f"own_iterations[{name!r}]", own, 1)
        object.__setattr__(self, "title", self.title or self.name)
        for name in (self.name, *self.algorithms):
            checked_name(name)

    def __repr__(self) -> str:
        algorithms = ", ".join(self.algorithms)
        return f"Experiment({self.name!r}, {self.iterations} iterations of {algorithms})"

    def algorithm(self, name: str) -> Algorithm:
        """The configuration called `name`; raise a ValueError with a suggestion if none is.

        Beside `algorithms`, names such as "creps-currot" (`creps` with the teacher `currot`) and
        learners of other packages are known: see `selfpaced list`.
        """
        return algorithm_called(name, self.algorithms)

    def built_problem(self) -> Problem:
        """The problem: made at the first call, and the same object at every later one."""
        known = self.__dict__.get("_built")
        if known is None:
            known: Any = self.problem()
            if not isinstance(known, Problem):
                raise ValueError(
                    f"problem of experiment {self.name!r} must return a Problem; got {known!r}"
                )
            object.__setattr__(self, "_built", known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        """What other processes get: they build a problem of their own."""
        return {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}

    def iterations_of(self, algorithm: str) -> int:
        """Number of updates in a run of the algorithm of this name, unless another is asked for."""
        return self.own_iterations.get(algorithm, self.iterations)

    @property
    def measure_every(self) -> int:
        """Iterations between measurements.

        It follows from the experiment and not from a run's budget, so that a run that is continued
        equals one that was asked for as long at once.
        """
        return max(1, self.iterations // MEASUREMENTS)


def check_algorithm(name: str, config: object) -> None:
    """Raise ValueError unless `config` is an algorithm's configuration, and not its class."""
    if not has_method(config, "start"):
        raise ValueError(f"{name} must be a configuration such as SPRL(); got {config!r}")
