"""`RowTask`: a user's slow simulator as a task, one rollout at a time on several processes."""

import importlib
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_kind
from selfpaced.maths.box import Box
from selfpaced.tasks.batch import checked_batch, function_name, task_repr
from selfpaced.tasks.function_task import reward_and_success
from selfpaced.types import Outcomes

RETRIES = 2  # how often a row is tried again after its worker has died

Row = tuple[Array, Array, int]
"""One rollout to simulate: context (d_c,), theta (d_theta,), and a seed for its generator."""


class RowTask:
    """A task from a slow function that simulates one rollout, called on several processes.

    `function(context, theta)` gets one context (d_c,) and one theta (d_theta,) and returns a reward
    or the pair (reward, success). With `noisy=True` its third argument is a generator, seeded
    per row, so that results do not depend on the number of `workers` (by default one per core).
    The function must be importable (defined at the top of a module), because the workers are
    separate processes. They end with `close()`, with the `with` block, or with the program.
    `engine="ray"` uses the Ray cluster that `ray.init` has connected to, or starts Ray locally.

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

    def __init__(
        self,
        function: Callable[..., Any],
        context_space: Box,
        theta_space: Box,
        *,
        workers: int | None = None,
        engine: Literal["local", "ray"] = "local",
        noisy: bool = False,
    ) -> None:
        if not callable(function):
            raise ValueError(f"function must be callable; got {function!r}")
        check_kind("context_space", context_space, Box)
        check_kind("theta_space", theta_space, Box)
        if engine not in ("local", "ray"):
            raise ValueError(f"engine must be 'local' or 'ray'; got {engine!r}")
        self.context_space, self.theta_space = context_space, theta_space
        self._function = function
        count = check_at_least("workers", os.cpu_count() or 1 if workers is None else workers, 1)
        self._pool = (
            _Processes(function, noisy, count) if engine == "local" else _Ray(function, noisy)
        )

    def __repr__(self) -> str:
        return task_repr(self, function_name(self._function))

    def evaluate(self, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
        """Rewards and successes of one rollout per row; a `RowError` says which row failed."""
        contexts, thetas = checked_batch(self, contexts, thetas)
        seeds = rng.integers(2**63, size=len(contexts)).tolist()
        scores = self._pool.map(list(zip(contexts, thetas, seeds, strict=True)))
        rewards, successes = np.array(scores, dtype=float).reshape(-1, 2).T
        return Outcomes(rewards.copy(), successes.copy())

    def close(self) -> None:
        """End the worker processes; the next `evaluate` starts new ones."""
        self._pool.close()

    def __enter__(self) -> "RowTask":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RowError(RuntimeError):
    """The function raised an error on a row, or the row's worker died more than RETRIES times."""


def _score(function: Callable[..., Any], noisy: bool, row: Row) -> tuple[float, float]:
    """(reward, success) of one row; success is nan if the function does not return it."""
    context, theta, seed = row
    result: Any = (
        function(context, theta, np.random.default_rng(seed)) if noisy else function(context, theta)
    )
    reward, success = reward_and_success(result)
    return float(reward), np.nan if success is None else float(success)


def _describe(index: int, row: Row) -> str:
    return f"row {index}, context {row[0].tolist()}, theta {row[1].tolist()}, seed {row[2]}"


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    index: int = -1  # index of the row that it simulates


class _Processes:
    """Worker processes: each takes a row, returns its score and takes the next row."""

    def __init__(self, function: Callable[..., Any], noisy: bool, count: int) -> None:
        try:
            pickle.dumps(function)  # only to see whether another process can import it
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"function must be importable, that is defined at the top of a module; "
                f"got {function!r} ({error})"
            ) from error
        self._function, self._noisy, self._count = function, noisy, count
        self._workers: list[_Worker] = []

    def map(self, rows: list[Row]) -> list[tuple[float, float]]:
        try:
            return self._map(rows)
        except BaseException:
            self.close()  # otherwise late replies would be read as those of later rows
            raise

    def _map(self, rows: list[Row]) -> list[tuple[float, float]]:
        while len(self._workers) < min(self._count, len(rows)):
            self._workers.append(self._launch())
        scores: dict[int, tuple[float, float]] = {}
        attempts = [0] * len(rows)
        waiting = list(range(len(rows)))[::-1]
        idle, busy = list(self._workers), list[_Worker]()
        while len(scores) < len(rows):
            while idle and waiting:
                worker, worker.index = idle[-1], waiting.pop()
                attempts[worker.index] += 1
                try:
                    worker.pipe.send(rows[worker.index])
                except (BrokenPipeError, ConnectionResetError):  # the worker died while it was idle
                    idle[-1] = self._replace(worker)
                    waiting.append(worker.index)
                    continue
                busy.append(idle.pop())
            ready = wait([worker.pipe for worker in busy])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                busy.remove(worker)
                index = worker.index
                try:
                    score, error = worker.pipe.recv()
                except (EOFError, ConnectionResetError):
                    fresh = self._replace(worker)
                    if attempts[index] > RETRIES:
                        raise RowError(
                            f"the worker died {attempts[index]} times, at last by "
                            f"{_ending(worker.process)}, on {_describe(index, rows[index])}"
                        ) from None
                    waiting.append(index)
                    idle.append(fresh)
                    continue
                if error is not None:
                    raise RowError(f"{error}\non {_describe(index, rows[index])}")
                scores[index] = score
                idle.append(worker)
        return [scores[i] for i in range(len(rows))]

    def close(self) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.kill()
            worker.process.join()
        self._workers = []

    def _launch(self) -> _Worker:
        context: Any = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = (self._function, self._noisy, theirs)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _replace(self, dead: _Worker) -> _Worker:
        dead.pipe.close()
        dead.process.join()
        fresh = self._launch()
        self._workers[self._workers.index(dead)] = fresh
        return fresh


def _ending(process: Any) -> str:
    """How a process ended: the name of its signal, or its exit code."""
    code = process.exitcode
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _serve(function: Callable[..., Any], noisy: bool, pipe: Connection) -> None:
    """Score the rows that come through `pipe` until it closes; runs in a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    while True:
        try:
            row = pipe.recv()
        except EOFError:
            sys.exit(0)
        try:
            pipe.send((_score(function, noisy, row), None))
        except Exception:  # the user's error: it is sent back with its traceback
            pipe.send((None, traceback.format_exc()))


class _Ray:
    """One Ray task per row."""

    def __init__(self, function: Callable[..., Any], noisy: bool) -> None:
        self._ray: Any = importlib.import_module("ray")
        remote = self._ray.remote(max_retries=RETRIES)
        self._task: Any = remote(lambda row: _score(function, noisy, row))  # pyright: ignore

    def map(self, rows: list[Row]) -> list[tuple[float, float]]:
        if not self._ray.is_initialized():
            options = {"log_to_driver": False, "include_dashboard": False}
            self._ray.init(address="local", logging_level="ERROR", **options)
        pending = [self._task.remote(row) for row in rows]
        scores: list[tuple[float, float]] = []
        for index, reference in enumerate(pending):
            try:
                scores.append(self._ray.get(reference))
            except self._ray.exceptions.RayError as error:
                raise RowError(f"{error}\non {_describe(index, rows[index])}") from error
        return scores

    def close(self) -> None:
        """Do nothing: the Ray cluster may serve others, so it is not shut down here."""
