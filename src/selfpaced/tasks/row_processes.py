"""Worker processes that score single rows, and survive what a user's simulator may do to them."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.spaces.constrained import Infeasible
from selfpaced.tasks.function_task import reward_and_success

RETRIES = 2  # how often a row is tried again after its worker has died
POLL_SECONDS = 0.2  # between two looks at whether workers are alive
START_SECONDS = 120.0  # for a worker to import the function
LONGEST_TRACEBACK = 10_000  # characters of a user's error that are sent back
GIGABYTE = 2**30
Row = tuple[Array, Array, int]
"""One rollout to simulate: context (d_c,), theta (d_theta,), and a seed for its generator."""
REFUSED = (0.0, -1.0)  # the score of a row whose context cannot be played
Score = tuple[float, float]
"""Reward and success of one row; success is nan if the function does not return it."""


@dataclass(frozen=True)
class RowFailure:
    """Why a row has no score."""

    why: str
    """The function's traceback, or how its worker ended."""


def score(function: Callable[..., Any], noisy: bool, row: Row) -> Score:
    """(reward, success) of one row."""
    context, theta, seed = row
    arguments = (context, theta, np.random.default_rng(seed)) if noisy else (context, theta)
    try:
        result: Any = function(*arguments)
    except Infeasible:
        return REFUSED
    reward, success = reward_and_success(result)
    return float(reward), np.nan if success is None else float(success)


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    started: float  # when its process was started
    ready: bool = False  # it has imported the function
    index: int = -1  # index of the row that it simulates; -1 if none
    deadline: float = np.inf  # when the row is taken from it


@dataclass
class _Attempts:
    """What is known of a row that is not scored yet."""

    count: int = 0
    first: float = 0.0  # when the first attempt began


class RowProcesses:
    """Worker processes: each takes a row, returns its score and takes the next row.

    With a `timeout`, an attempt that takes longer than half of it is ended and the row is tried
    again; after the whole timeout the row has failed. A row whose worker dies is tried again
    RETRIES times. A worker counts as dead by its exit code, for a child that it has forked may keep
    its end of the pipe open.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        noisy: bool,
        count: int,
        timeout: float | None,
        memory_gb: float | None,
    ) -> None:
        try:
            pickle.dumps(function)  # only to see whether another process can import it
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"function must be importable, that is defined at the top of a module; "
                f"got {function!r} ({error})"
            ) from error
        self._function, self._noisy, self._count = function, noisy, count
        self._timeout = np.inf if timeout is None else timeout
        self._memory_gb = memory_gb
        self._workers: list[_Worker] = []
        self._bad_starts = 0  # workers in a row that have ended before they were ready
        self._turn = threading.Lock()  # two threads may share a task: one batch at a time

    def map(self, rows: list[Row], stop_at_failure: bool) -> list[Score | RowFailure]:
        """The score of each row, or why it has none.

        With `stop_at_failure` nothing is waited for after the first failure: rows without a score
        then have a score of nan, so that only the row that failed is named.
        """
        with self._turn:
            try:
                return self._map(rows, stop_at_failure)
            except BaseException:
                self._end()  # otherwise late replies would be read as those of later rows
                raise

    def _map(self, rows: list[Row], stop_at_failure: bool) -> list[Score | RowFailure]:
        found: dict[int, Score | RowFailure] = {}
        attempts = [_Attempts() for _ in rows]
        waiting = list(range(len(rows)))[::-1]
        while len(found) < len(rows):
            while len(self._workers) < min(self._count, len(rows) - len(found)):
                self._workers.append(self._launch())
            for worker in self._workers:
                if worker.ready and worker.index < 0 and waiting:
                    self._give(worker, waiting.pop(), rows, attempts)
            for worker in self._attended():
                index = worker.index
                reply = self._reply(worker, attempts)
                if reply is None:
                    continue
                if isinstance(reply, RowFailure) and reply.why in (DIED, LATE) and index >= 0:
                    again = self._again(worker, index, reply, attempts)
                    if again is None:
                        waiting.append(index)
                        continue
                    reply = again
                if index >= 0:
                    found[index] = reply
                    if isinstance(reply, RowFailure) and stop_at_failure:
                        self._end()
                        return [found.get(i, (np.nan, np.nan)) for i in range(len(rows))]
        return [found[i] for i in range(len(rows))]

    def _give(
        self, worker: _Worker, index: int, rows: list[Row], attempts: list[_Attempts]
    ) -> None:
        """Send the row to a worker, and set the time at which it is taken away again."""
        attempt = attempts[index]
        now = time.monotonic()
        attempt.count += 1
        if attempt.count == 1:
            attempt.first = now
        share = 0.5 if attempt.count == 1 else 1.0
        worker.index, worker.deadline = index, attempt.first + share * self._timeout
        with suppress(BrokenPipeError, ConnectionResetError):  # dead: its exit code will tell
            worker.pipe.send((index, rows[index]))

    def _attended(self) -> list[_Worker]:
        """The workers that have something to say, have died, or are late; waits for a moment."""
        nearest = min(worker.deadline for worker in self._workers)
        pause = min(POLL_SECONDS, max(0.0, nearest - time.monotonic()))
        ready = wait([worker.pipe for worker in self._workers], timeout=pause)
        now = time.monotonic()
        return [
            worker
            for worker in self._workers
            if worker.pipe in ready
            or worker.process.exitcode is not None
            or now > worker.deadline
            or (not worker.ready and now > worker.started + START_SECONDS)
        ]

    def _reply(self, worker: _Worker, attempts: list[_Attempts]) -> Score | RowFailure | None:
        """What a worker says of its row; None if that is nothing yet.

        The worker is free for another row afterwards, or gone.
        """
        try:
            if worker.pipe.poll():
                index, found, error = worker.pipe.recv()
                if index == READY:
                    worker.ready, self._bad_starts = True, 0
                elif index == worker.index:
                    worker.index, worker.deadline = -1, np.inf
                    return RowFailure(error) if error is not None else found
                return None  # a late word of a copy of the worker, which the function has forked
        except (EOFError, ConnectionResetError):
            worker.process.join(POLL_SECONDS)
        if worker.process.exitcode is not None or not worker.ready:
            if not worker.ready:
                self._end_worker(worker)
                self._bad_starts += 1
                if self._bad_starts <= RETRIES:
                    return None  # another one is started
                raise RowError(
                    f"worker processes do not come to their first row: {ending(worker.process)}; "
                    "the module of the function must be importable in a new process"
                )
            return RowFailure(DIED)
        return RowFailure(LATE) if time.monotonic() > worker.deadline else None

    def _again(
        self, worker: _Worker, index: int, failure: RowFailure, attempts: list[_Attempts]
    ) -> RowFailure | None:
        """Remove a worker that is dead or late; None if its row shall be tried again."""
        self._end_worker(worker)
        attempt = attempts[index]
        over = time.monotonic() >= attempt.first + self._timeout
        if failure.why == DIED and attempt.count > RETRIES:
            how = ending(worker.process)
            return RowFailure(f"the worker died {attempt.count} times, at last by {how}")
        if over:
            times = "1 attempt" if attempt.count == 1 else f"{attempt.count} attempts"
            return RowFailure(f"there was no result within {self._timeout:g} s, in {times}")
        return None

    def close(self) -> None:
        """End the worker processes, and what they have started."""
        with self._turn:
            self._end()

    def _end(self) -> None:
        for worker in list(self._workers):
            self._end_worker(worker)

    def _end_worker(self, worker: _Worker) -> None:
        worker.pipe.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.process.pid, signal.SIGKILL)  # the worker and its children
        worker.process.kill()  # if it has no group of its own yet
        worker.process.join()
        self._workers.remove(worker)

    def _launch(self) -> _Worker:
        context: Any = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = (self._function, self._noisy, theirs, self._memory_gb)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours, time.monotonic())


READY = -1  # in place of a row's index: the worker has imported the function
DIED, LATE = "died", "late"  # how a worker may leave its row


class RowError(RuntimeError):
    """A row failed: the function raised an error, its worker died, or it took too long."""


def ending(process: Any) -> str:
    """How a process ended: the name of its signal, or its exit code."""
    code = process.exitcode
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def check_memory_limit() -> None:
    """Raise a ValueError unless this system can limit the memory of a process."""
    if sys.platform == "win32":
        raise ValueError("memory_gb must be None on a system that cannot limit memory")


def _serve(
    function: Callable[..., Any], noisy: bool, pipe: Connection, memory_gb: float | None
) -> None:
    """Score the rows that come through `pipe` until it closes; runs in a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    os.setpgrp()  # so that the worker's own children can be ended with it
    if memory_gb is not None:
        import resource

        limit = int(memory_gb * GIGABYTE)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    myself = os.getpid()
    pipe.send((READY, None, None))
    while True:
        try:
            index, row = pipe.recv()
        except EOFError:
            sys.exit(0)
        found, error = None, None
        try:
            found = score(function, noisy, row)
        except Exception:  # the user's error: it is sent back with its traceback
            error = traceback.format_exc()[-LONGEST_TRACEBACK:]
        if os.getpid() != myself:
            os._exit(0)  # a copy of the worker that the function has forked and not ended
        pipe.send((index, found, error))
