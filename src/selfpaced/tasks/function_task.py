"""`FunctionTask`: a user's own reward function as a task, called with whole batches."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from selfpaced.maths.arrays import Array, as_floats, check_kind
from selfpaced.maths.box import Box
from selfpaced.tasks.batch import checked_batch, function_name, task_repr
from selfpaced.types import Outcomes


class FunctionTask:
    """A task from a function that maps contexts (n, d_c) and thetas (n, d_theta) to n rewards.

    The function may also return the pair (rewards, successes). With `noisy=True` it gets a random
    generator as its third argument.

    >>> import numpy as np
    >>> from selfpaced import Box, FunctionTask
    >>> def reach(contexts, thetas):
    ...     distances = np.abs(thetas - contexts).sum(axis=1)
    ...     return 1.0 - distances, distances < 0.1
    >>> task = FunctionTask(reach, context_space=Box([-1], [1]), theta_space=Box([-2], [2]))
    >>> task.evaluate(np.array([[0.5], [0.5]]), np.array([[0.5], [1.5]]), np.random.default_rng(0))
    Outcomes(rewards=array([1., 0.]), successes=array([1., 0.]))
    """

    context_space: Box
    """Which contexts exist."""
    theta_space: Box
    """Which policy parameters may be tried."""
    last_batch: tuple[Array, Array] | None
    """Contexts and thetas of the last call, to look at if the function raised; None at first."""

    def __init__(
        self,
        function: Callable[..., Any],
        context_space: Box,
        theta_space: Box,
        *,
        noisy: bool = False,
    ) -> None:
        if not callable(function):
            raise ValueError(f"function must be callable; got {function!r}")
        check_kind("context_space", context_space, Box)
        check_kind("theta_space", theta_space, Box)
        self.context_space, self.theta_space = context_space, theta_space
        self.last_batch = None
        self._function, self._noisy = function, noisy

    def __repr__(self) -> str:
        return task_repr(self, function_name(self._function))

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Rewards and successes of one rollout per row; nan for successes that are not returned."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        self.last_batch = contexts.copy(), thetas.copy()
        arguments = (contexts, thetas, rng) if self._noisy else (contexts, thetas)
        try:
            result = self._function(*arguments)
        except Exception as error:  # the user's error: it is raised again, with a note on the batch
            error.add_note(
                f"raised by the reward function on a batch of {len(contexts)} rows, "
                "which is kept in the task's last_batch"
            )
            raise
        rewards, successes = reward_and_success(result)
        if successes is None:
            successes = np.full(len(contexts), np.nan)
        return Outcomes(as_floats("rewards", rewards), as_floats("successes", successes))


def reward_and_success(result: Any) -> tuple[Any, Any]:
    """What a reward function returned, as (rewards, successes); None if there are no successes."""
    if isinstance(result, tuple):
        values = cast(tuple[Any, ...], result)
        if len(values) != 2:
            raise ValueError(
                f"the reward function must return rewards, or (rewards, successes); "
                f"got a tuple of {len(values)}"
            )
        return values[0], values[1]
    return result, None
