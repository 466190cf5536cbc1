"""Executes runs on this machine: one process per run, several at once."""

import multiprocessing
import multiprocessing.forkserver
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from selfpaced.engines.job import ONE_THREAD, Job, Stopped, Watcher, execute
from selfpaced.maths.arrays import check_at_least
from selfpaced.store.locking import Locked, is_locked
from selfpaced.store.writing import StoreError, write_error
from selfpaced.tasks.threads import processors
from selfpaced.types import Record

RETRIES = 2  # further attempts for a run whose process died
REPORT_SECONDS = 0.2  # least time between two reports of progress of one run
RELAUNCH_SECONDS = 0.2  # pause before the next attempt to start a process
LAUNCHES = 3  # attempts to start a process
PRELOADED = [  # by the server that workers are forked from; SciPy's parts load on first use
    *("selfpaced.engines.local", "scipy.linalg.lapack", "scipy.optimize"),
]
POLL_SECONDS = 0.5  # longest wait for reports, and between two looks at locked runs
GUARD = "in a script, start runs under `if __name__ == '__main__':`, for every process imports it"
STOP_SECONDS = 30.0  # for a stopped run to finish its iteration and write its checkpoint


@dataclass
class _Worker:
    job: Job
    attempt: int  # 1 for the first
    process: Any  # multiprocessing's process class depends on the start method
    reports: Connection  # what the process sends to the launcher
    said: str = ""  # the kind of its last report other than progress


class LocalEngine:
    """Executes every run in a process of its own, several at once.

    So a crash ends only one run, and the memory of a finished run goes back to the system.
    """

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        """Execute `workers` runs at once; by default one per processor that may be used.

        Each run gets `threads` threads; by default its share of the processors.
        """
        self._workers = processors() if workers is None else check_at_least("workers", workers, 1)
        self._threads = None if threads is None else check_at_least("threads", threads, 1)

    def __repr__(self) -> str:
        return f"LocalEngine({self._workers} workers)"

    def run(self, jobs: list[Job], watcher: Watcher) -> None:
        """Execute `jobs` and tell `watcher`; wait for runs that other launchers work on.

        Raise a StoreError if the disk fails. Before that, or at Ctrl-C, all runs are stopped and
        write a checkpoint.
        """
        waiting = [(job, 1) for job in jobs]
        running: list[_Worker] = []
        elsewhere: set[str] = set()
        context = _context()
        try:
            while waiting or running:
                while len(running) < self._workers and (
                    taken := _next(waiting, elsewhere, watcher)
                ):
                    threads = self._share(1 + len(waiting) + len(running))
                    running.append(_launch(context, *taken, threads))
                    watcher.started(taken[0])
                if not running:
                    time.sleep(POLL_SECONDS)  # other launchers work on all that is left
                for worker in _listen(running, watcher):
                    running.remove(worker)
                    if (again := _settle(worker, watcher)) is not None:
                        waiting.insert(0, again)
        except BaseException:
            _stop(running)
            raise

    def _share(self, unfinished: int) -> int:
        """Threads of a run that starts while `unfinished` runs, itself included, are not done.

        Shares only grow as runs finish, and the last runs use all processors; together, running
        runs never have more threads than there are processors.
        """
        if self._threads is not None:
            return self._threads
        return max(1, processors() // min(self._workers, unfinished))


def _context() -> Any:
    """The multiprocessing context in which workers start.

    Except on Windows they are forked from a server that has loaded the package already.
    """
    os.environ.update(ONE_THREAD)  # workers inherit this before they load NumPy
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    if threading.current_thread() is threading.main_thread():  # Ctrl-C must not end the server
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        multiprocessing.forkserver.ensure_running()
        signal.signal(signal.SIGINT, before)
    return context


def _next(
    waiting: list[tuple[Job, int]], elsewhere: set[str], watcher: Watcher
) -> tuple[Job, int] | None:
    """Take the first waiting job that nobody works on; None if there is none.

    Jobs that another launcher has finished in the meantime leave `waiting`, too.
    """
    for entry in list(waiting):
        job = entry[0]
        if is_locked(job.folder):
            if job.name not in elsewhere:
                elsewhere.add(job.name)
                watcher.elsewhere(job)
            continue
        waiting.remove(entry)
        if job.name in elsewhere and job.is_done():
            watcher.finished(job, [])
            continue
        return entry
    return None


def _launch(context: Any, job: Job, attempt: int, threads: int) -> _Worker:
    """Start a process for `job` that may use `threads` threads.

    If the server that forks workers has been killed, starting one fails; the next attempt starts
    a new server.
    """
    reports, ours = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, ours, threads), daemon=False)
    for left in reversed(range(LAUNCHES)):
        try:
            process.start()
            break
        except (EOFError, ConnectionError):
            if not left:
                raise
            time.sleep(RELAUNCH_SECONDS)  # a killed server is not gone at once
    ours.close()
    return _Worker(job, attempt, process, reports)


def _listen(running: list[_Worker], watcher: Watcher) -> list[_Worker]:
    """Pass on one report of every worker that has one; return the workers that have ended.

    Waits for a report for at most POLL_SECONDS. A worker has ended if it has an exit code and has
    said everything: a child process that outlives it may keep its end of the pipe open.
    """
    ended: list[_Worker] = []
    ready = wait([worker.reports for worker in running], timeout=POLL_SECONDS)
    for worker in running:
        if worker.reports not in ready:
            if worker.process.exitcode is not None and not worker.reports.poll():
                ended.append(worker)
            continue
        try:
            kind, content = worker.reports.recv()
        except (EOFError, ConnectionResetError):  # the process is ending or dead
            worker.process.join()
            ended.append(worker)
            continue
        if kind == "progress":
            watcher.progressed(worker.job, *content)
            continue
        worker.said = kind
        if kind == "finished":
            watcher.finished(worker.job, content)
        elif kind == "failed":
            watcher.failed(worker.job, content)
        elif kind == "disk":
            raise StoreError(*content)
    return ended


def _settle(worker: _Worker, watcher: Watcher) -> tuple[Job, int] | None:
    """The job and attempt that must follow a worker that has ended; None if nothing must."""
    worker.reports.close()
    if worker.said in ("finished", "failed"):
        return None
    if worker.said == "elsewhere":  # another launcher was quicker: wait for it
        return worker.job, worker.attempt
    code = worker.process.exitcode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    if worker.said == "stopped":
        how = "signal SIGTERM"
    if worker.attempt <= RETRIES:
        watcher.retried(worker.job, how)
        return worker.job, worker.attempt + 1
    error = f"the process died {worker.attempt} times, at last by {how}"
    if code == 1:  # it failed before it came to `_work`
        error += f"; {GUARD}"
    write_error(worker.job.folder, error)
    watcher.failed(worker.job, error)
    return None


def _stop(running: list[_Worker]) -> None:
    """Ask every worker to stop after its iteration, with a checkpoint; kill those that do not."""
    for worker in running:
        if worker.process.is_alive():
            worker.process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for worker in running:
        worker.reports.close()
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


class _Launcher:
    """The launcher as a worker sees it: it gets reports, until it is `gone`."""

    def __init__(self, reports: Connection) -> None:
        self._reports = reports
        self._last = 0.0  # time of the last report of progress
        self.gone = False

    def say(self, kind: str, content: Any = None) -> None:
        try:
            self._reports.send((kind, content))
        except (BrokenPipeError, ConnectionResetError):
            self.gone = True  # a run without a launcher stops at its next iteration

    def progress(self, record: Record) -> None:
        now = time.monotonic()
        if "target_success" in record or now - self._last > REPORT_SECONDS:
            self._last = now
            self.say("progress", (record["iteration"], record.get("target_success")))


def _work(job: Job, reports: Connection, threads: int) -> None:
    """Execute `job` in a worker process, and report to the launcher how it ends."""
    launcher = _Launcher(reports)
    asked_to_stop = False

    def ask_to_stop(*_: object) -> None:
        nonlocal asked_to_stop
        asked_to_stop = True

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the launcher's to handle
    try:
        problems = execute(
            job, launcher.progress, lambda: asked_to_stop or launcher.gone, threads=threads
        )
        launcher.say("finished", problems)
    except Stopped:
        launcher.say("stopped")
    except Locked:
        launcher.say("elsewhere")
    except StoreError as error:
        launcher.say("disk", (error.errno, error.strerror, str(error.filename or job.folder)))
    except BaseException:  # whatever it is, it is reported, with its traceback
        error = traceback.format_exc()
        write_error(job.folder, error)
        launcher.say("failed", error)
