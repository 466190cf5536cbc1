"""A user's own reward function as a task."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from selfpaced.maths.arrays import Array, as_floats, check_kind
from selfpaced.maths.box import Box
from selfpaced.types import Outcomes


class FunctionTask:
    """A function of contexts (n, d_c) and thetas (n, d_theta) that returns n rewards.

    It may return (rewards, successes) instead. `noisy=True` hands it a generator as third
    argument. The batch it was last given stays in `last_batch`, for inspection if it raises.
    """

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
        self.last_batch: tuple[Array, Array] | None = None
        self._function, self._noisy = function, noisy

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        self.last_batch = contexts.copy(), thetas.copy()
        arguments = (contexts, thetas, rng) if self._noisy else (contexts, thetas)
        try:
            result = self._function(*arguments)
        except Exception as error:  # the user's: passed on as it is, with a word on the batch
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
    """What a reward function returned as (rewards, successes); successes None if it gave none."""
    if isinstance(result, tuple):
        values = cast(tuple[Any, ...], result)
        if len(values) != 2:
            raise ValueError(
                f"the reward function must return rewards, or (rewards, successes); "
                f"got a tuple of {len(values)}"
            )
        return values[0], values[1]
    return result, None
