"""`FunctionTask`: a user's own reward function as a task, called with whole batches."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, as_floats, check_kind, check_number
from selfpaced.maths.box import Box
from selfpaced.names import checked_context_names
from selfpaced.spaces.space import checked_space
from selfpaced.tasks.batch import checked_batch, function_name, task_repr
from selfpaced.types import Outcomes


class FunctionTask:
    """A task from a function that maps contexts (n, d_c) and thetas (n, d_theta) to n rewards.

    The function may also return the pair (rewards, successes). With `noisy=True` it gets a random
    generator as its third argument. With a `failure_reward`, rollouts whose reward is nan count as
    failed ones with that reward; without, they are an error. `context_names` are shown in figures,
    one for each dimension of a context.

    In a space other than a `Box`, the function gets a list of n natural values (whole numbers,
    names, tasks, dictionaries) in place of the rows; with `decode=False` it gets the rows.

    A function that finds that some contexts cannot be played returns (rewards, successes, refused)
    with n truth values, True for these rows. They do not count, and nothing near them is tried.

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
    context_names: tuple[str, ...] | None = None
    """A name for each dimension of a context, for figures; None for numbered ones."""
    refused: BoolArray | None
    """(n,): True for each row of the last batch whose context cannot be played; None: all can."""
    failures: int
    """Rollouts whose reward was nan and which counted as failed ones so far."""

    def __init__(
        self,
        function: Callable[..., Any],
        context_space: Box,
        theta_space: Box,
        *,
        noisy: bool = False,
        failure_reward: float | None = None,
        context_names: Sequence[str] | None = None,
        decode: bool = True,
    ) -> None:
        if not callable(function):
            raise ValueError(f"function must be callable; got {function!r}")
        context_space = checked_space(context_space)
        check_kind("theta_space", theta_space, Box)
        check_failure_reward(failure_reward)
        self.context_space, self.theta_space = context_space, theta_space
        if context_names is not None:
            self.context_names = checked_context_names(context_names, context_space.dimension)
        self.last_batch = None
        self.refused = None
        self.failures = 0
        self._failure_reward = failure_reward
        self._function, self._noisy = function, noisy
        self._decodes = decode and context_space.decodes

    def __repr__(self) -> str:
        return task_repr(self, function_name(self._function))

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Rewards and successes of one rollout per row; nan for successes that are not returned."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        self.last_batch = contexts.copy(), thetas.copy()
        given: Any = contexts
        if self._decodes:
            given = [self.context_space.decode(row) for row in contexts]
        arguments = (given, thetas, rng) if self._noisy else (given, thetas)
        try:
            result = self._function(*arguments)
        except Exception as error:  # the user's error: it is raised again, with a note on the batch
            error.add_note(
                f"raised by the reward function on a batch of {len(contexts)} rows, "
                "which is kept in the task's last_batch"
            )
            raise
        result, self.refused = _without_refused(result, len(contexts))
        rewards, successes = reward_and_success(result)
        if successes is None:
            successes = np.full(len(contexts), np.nan)
        outcomes = Outcomes(as_floats("rewards", rewards), as_floats("successes", successes))
        if self.refused is not None:  # what the function returned there does not count
            outcomes = Outcomes(
                np.where(self.refused, 0.0, outcomes.rewards),
                np.where(self.refused, np.nan, outcomes.successes),
            )
        outcomes, count = with_failures(outcomes, self._failure_reward)
        self.failures += count
        return outcomes


def _without_refused(result: Any, rows: int) -> tuple[Any, BoolArray | None]:
    """What a reward function returned without its third value, and that value as a mask."""
    values: tuple[Any, ...] = cast(Any, result) if isinstance(result, tuple) else (result,)
    if len(values) != 3:
        return cast(Any, result), None
    rewards, successes, refused = values
    mask = np.asarray(refused)
    if mask.shape != (rows,) or mask.dtype != np.bool_:
        raise ValueError(
            f"refused must be {rows} truth values, one per row; got {mask.dtype} of shape "
            f"{mask.shape}"
        )
    return (rewards, successes), mask if mask.any() else None


def check_failure_reward(failure_reward: float | None) -> None:
    """Raise a ValueError unless `failure_reward` is None or a finite number."""
    if failure_reward is not None:
        check_number("failure_reward", failure_reward)


def with_failures(outcomes: Outcomes, failure_reward: float | None) -> tuple[Outcomes, int]:
    """`outcomes` in which rewards of nan are those of failed rollouts, and how many there are.

    They get the `failure_reward`; without one nothing changes. Their success is 0 where other
    rollouts of the batch have a known success, and nan where the task does not define success.
    """
    failed = np.isnan(outcomes.rewards)
    if failure_reward is None or not failed.any():
        return outcomes, 0
    defined = not np.isnan(outcomes.successes[~failed]).all()
    rewards = np.where(failed, failure_reward, outcomes.rewards)
    successes = np.where(failed, 0.0 if defined else np.nan, outcomes.successes)
    return Outcomes(rewards, successes), int(failed.sum())


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
