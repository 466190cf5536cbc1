"""`RowTask`: a user's slow simulator as a task, one rollout at a time on several processes."""

import importlib
import os
import signal
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, check_at_least, check_kind, check_positive
from selfpaced.maths.box import Box
from selfpaced.names import checked_context_names
from selfpaced.spaces.space import checked_space
from selfpaced.tasks.batch import checked_batch, function_name, task_repr
from selfpaced.tasks.function_task import check_failure_reward, with_failures
from selfpaced.tasks.row_processes import (
    REFUSED,
    RETRIES,
    Row,
    RowError,
    RowFailure,
    RowProcesses,
    Score,
    check_memory_limit,
    score,
)
from selfpaced.types import Outcomes

__all__ = ["RowError", "RowTask"]


class RowTask:
    """A task from a slow function that simulates one rollout, called on several processes.

    `function(context, theta)` gets one context (d_c,) and one theta (d_theta,) and returns a reward
    or the pair (reward, success). In a space other than a `Box` the context is its natural value,
    such as a whole number or a dictionary. With `noisy=True` its third argument is a generator,
    seeded per row, so that results do not depend on the number of `workers` (by default one per
    core). The function must be importable (defined at the top of a module), because the workers are
    separate processes. They end with `close()`, with the `with` block, or with the program.
    `engine="ray"` uses the Ray cluster that `ray.init` has connected to, or starts Ray locally.

    With a `timeout` in seconds a row that hangs is given up: an attempt that takes more than half
    of it is ended, the row is tried again, and after the whole timeout it has failed. A row whose
    worker dies is tried twice more. `memory_gb` limits the address space of a worker. A row that
    fails raises a `RowError`; with `on_error="fail"` it counts as a failed rollout instead, with
    `failure_reward` as its reward, and a warning tells of the first. With a `failure_reward`, rows
    whose reward is nan count as failed rollouts, too. A function that raises `Infeasible` says that
    the context cannot be played: the row does not count, and nothing near it is tried again.
    `context_names` are shown in figures.

    >>> import numpy as np
    >>> from selfpaced import Box, RowTask
    >>> with RowTask(np.dot, Box([0, 0], [1, 1]), Box([-1, -1], [1, 1]), workers=1) as task:
    ...     rng = np.random.default_rng(0)
    ...     task.evaluate(np.array([[0.5, 1.0]]), np.array([[1.0, -1.0]]), rng).rewards
    array([-0.5])
    """

    context_space: Box
    """Which contexts exist."""
    theta_space: Box
    """Which policy parameters may be tried."""
    context_names: tuple[str, ...] | None = None
    """A name for each dimension of a context, for figures; None for numbered ones."""
    refused: BoolArray | None
    """(n,): True for each row of the last batch whose context is infeasible; None at first."""
    failures: int
    """Rows that counted as failed rollouts so far, because of an error or a reward of nan."""

    def __init__(
        self,
        function: Callable[..., Any],
        context_space: Box,
        theta_space: Box,
        *,
        workers: int | None = None,
        engine: Literal["local", "ray"] = "local",
        noisy: bool = False,
        timeout: float | None = None,
        memory_gb: float | None = None,
        on_error: Literal["raise", "fail"] = "raise",
        failure_reward: float | None = None,
        context_names: Sequence[str] | None = None,
    ) -> None:
        if not callable(function):
            raise ValueError(f"function must be callable; got {function!r}")
        context_space = checked_space(context_space)
        check_kind("theta_space", theta_space, Box)
        if engine not in ("local", "ray"):
            raise ValueError(f"engine must be 'local' or 'ray'; got {engine!r}")
        if timeout is not None:
            check_positive("timeout", timeout)
        if memory_gb is not None:
            check_positive("memory_gb", memory_gb)
            check_memory_limit()
            if engine == "ray":
                raise ValueError("memory_gb must be None with engine='ray', which has its own")
        if on_error not in ("raise", "fail"):
            raise ValueError(f"on_error must be 'raise' or 'fail'; got {on_error!r}")
        if on_error == "fail" and failure_reward is None:
            raise ValueError("failure_reward must be given with on_error='fail'; got None")
        check_failure_reward(failure_reward)
        self.context_space, self.theta_space = context_space, theta_space
        if context_names is not None:
            self.context_names = checked_context_names(context_names, context_space.dimension)
        self.failures = 0
        self.refused = None
        self._function = function
        self._on_error, self._failure_reward = on_error, failure_reward
        count = check_at_least("workers", os.cpu_count() or 1 if workers is None else workers, 1)
        self._pool = (
            RowProcesses(function, noisy, count, timeout, memory_gb)
            if engine == "local"
            else _Ray(function, noisy, timeout)
        )

    def __repr__(self) -> str:
        return task_repr(self, function_name(self._function))

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Rewards and successes of one rollout per row; a `RowError` says which row failed."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        seeds = rng.integers(2**63, size=len(contexts)).tolist()
        given: Any = contexts
        if self.context_space.decodes:
            given = [self.context_space.decode(row) for row in contexts]
        rows: list[Row] = list(zip(given, thetas, seeds, strict=True))
        found = self._pool.map(rows, stop_at_failure=self._on_error == "raise")
        failed = [(i, f) for i, f in enumerate(found) if isinstance(f, RowFailure)]
        if failed:
            index, failure = failed[0]
            gap = "\n" if "\n" in failure.why else ", "  # after a traceback, or in a sentence
            text = f"{failure.why}{gap}on {_describe(index, rows[index])}"
            if self._on_error == "raise":
                raise RowError(text)
            if not self.failures:
                warnings.warn(f"a row failed and counts as a failed rollout: {text}", stacklevel=2)
        scores = [(np.nan, np.nan) if isinstance(f, RowFailure) else f for f in found]
        rewards, successes = np.array(scores, dtype=float).reshape(-1, 2).T.copy()
        self.refused = successes == REFUSED[1]
        successes[self.refused] = np.nan
        outcomes, count = with_failures(Outcomes(rewards, successes), self._failure_reward)
        self.failures += count
        return outcomes

    def close(self) -> None:
        """End the worker processes; the next `evaluate` starts new ones."""
        self._pool.close()

    def __enter__(self) -> "RowTask":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _describe(index: int, row: Row) -> str:
    context: Any = row[0]
    context = context.tolist() if isinstance(context, np.ndarray) else context
    return f"row {index}, context {context}, theta {row[1].tolist()}, seed {row[2]}"


class _Ray:
    """One Ray task per row."""

    def __init__(self, function: Callable[..., Any], noisy: bool, timeout: float | None) -> None:
        self._ray: Any = importlib.import_module("ray")
        remote = self._ray.remote(max_retries=RETRIES if timeout is None else 1)
        self._task: Any = remote(lambda row: _alarmed_score(function, noisy, timeout, row))  # pyright: ignore

    def map(self, rows: list[Row], stop_at_failure: bool) -> list[Score | RowFailure]:
        if not self._ray.is_initialized():
            options = {"log_to_driver": False, "include_dashboard": False}
            self._ray.init(address="local", logging_level="ERROR", **options)
        pending = [self._task.remote(row) for row in rows]
        found: list[Score | RowFailure] = []
        for i, reference in enumerate(pending):
            try:
                found.append(self._ray.get(reference))
            except self._ray.exceptions.RayError as error:
                found.append(RowFailure(str(error)))
                if stop_at_failure:
                    for other in pending[i + 1 :]:
                        self._ray.cancel(other, force=True)
                    return found
        return found

    def close(self) -> None:
        """Do nothing: the Ray cluster may serve others, so it is not shut down here."""


def _alarmed_score(
    function: Callable[..., Any], noisy: bool, timeout: float | None, row: Row
) -> Score:
    """The score of one row in a Ray worker, which ends itself after half of the `timeout`.

    Ray then tries the row once more in another worker.
    """
    if timeout is not None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, timeout / 2)
    try:
        return score(function, noisy, row)
    finally:
        if timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
