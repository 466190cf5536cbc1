"""The contracts of everything that an installed package offers to this library."""

from selfpaced.experiments.experiment import Experiment
from selfpaced.experiments.plugin_registry import Kind, Plugin, plugins
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.targets.target import Target
from selfpaced.testing.algorithms import check_algorithm
from selfpaced.testing.tasks import check_task
from selfpaced.testing.teachers import check_teacher
from selfpaced.types import Problem

KINDS: tuple[Kind, ...] = ("tasks", "teachers", "learners", "experiments")


def check_plugins(package: str, *, place: tuple[Box, Target] | None = None) -> list[str]:
    """Check every task, teacher, learner and experiment that `package` offers by entry points.

    Tasks are checked by `check_task`, teachers by `check_teacher`, and the algorithms of
    experiments by `check_algorithm`. Teachers are started at `place`, a context space and a target;
    a box with two dimensions and a Gaussian if none is given. Learners are checked on the package's
    own experiments, or on `gate-precision` if it has none. Return the names of what was checked.
    """
    offered = [found for kind in KINDS for found in plugins(kind) if _is_from(found, package)]
    if not offered:
        raise ValueError(
            f"package must be installed and have entry points of selfpaced; got {package!r}"
        )
    where = place or (
        Box([0.0, -1.0], [1.0, 1.0]),
        Gaussian([0.9, 0.5], [[1e-3, 0.0], [0.0, 1e-3]]),
    )
    loaded = [(found, found.load()) for found in offered]
    experiments = [part for _, part in loaded if isinstance(part, Experiment)]
    for found, part in loaded:
        if found.kind == "tasks":
            check_task(part())
        elif found.kind == "teachers":
            check_teacher(part, *where)
        elif found.kind == "learners":
            for problem in _problems(experiments):
                check_algorithm(part, problem)
        else:
            for config in part.algorithms.values():
                check_algorithm(config, part.built_problem())
    return [f"{found.kind}: {found.name}" for found in offered]


def _is_from(found: Plugin, package: str) -> bool:
    """True if the plug-in is offered by `package`, whose name may be written with "-" or "_"."""
    name = found.package.partition(" ")[0]
    return name.replace("_", "-").lower() == package.replace("_", "-").lower()


def _problems(experiments: list[Experiment]) -> list[Problem]:
    """The problems on which a package's learners are checked."""
    from selfpaced.experiments import experiment

    return [found.built_problem() for found in experiments or [experiment("gate-precision")]]
