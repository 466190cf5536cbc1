"""A batch as tasks take it: contexts and thetas, one row per rollout."""

from numpy.typing import ArrayLike

from selfpaced.maths.arrays import Array, check_rows
from selfpaced.types import Task


def checked_batch(task: Task, contexts: ArrayLike, thetas: ArrayLike) -> tuple[Array, Array]:
    """Contexts (n, d_c) and thetas (n, d_theta) of `task`, or a ValueError that names the fault."""
    context_rows = check_rows("contexts", contexts, task.context_space.dimension)
    theta_rows = check_rows("thetas", thetas, task.theta_space.dimension)
    if len(theta_rows) != len(context_rows):
        raise ValueError(
            f"thetas must have {len(context_rows)} rows, as contexts; got {len(theta_rows)}"
        )
    return context_rows, theta_rows
