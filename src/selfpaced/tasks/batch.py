"""What all tasks share: the check of a batch of rollouts, and the text that a task prints as."""

from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_rows
from selfpaced.types import Task


def checked_batch(task: Task, contexts: ArrayLike, thetas: ArrayLike) -> tuple[Array, Array]:
    """`contexts` (n, d_c) and `thetas` (n, d_theta) as float arrays that fit `task`.

    Raise a ValueError unless both have the task's numbers of columns, are finite and have one row
    per rollout. Values outside of the task's boxes are allowed.
    """
    context_rows = check_rows("contexts", contexts, task.context_space.dimension)
    theta_rows = check_rows("thetas", thetas, task.theta_space.dimension)
    if len(theta_rows) != len(context_rows):
        raise ValueError(
            f"thetas must have {len(context_rows)} rows, as contexts; got {len(theta_rows)}"
        )
    return context_rows, theta_rows


def task_repr(task: Task, *details: str) -> str:
    """The repr of `task`, such as "Gate(2 context dimensions, 14 parameters)".

    `details` come first in the parentheses: whatever tells this task from others of its class.
    """
    sizes = (
        _count(task.context_space.dimension, "context dimension"),
        _count(task.theta_space.dimension, "parameter"),
    )
    return f"{type(task).__name__}({', '.join((*details, *sizes))})"


def function_name(function: object) -> str:
    """The name of a user's `function`, or of its class where it has none (functools.partial)."""
    return str(getattr(function, "__name__", type(function).__name__))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
