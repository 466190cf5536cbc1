"""Runs on this machine: one process per run, several at once."""

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
from selfpaced.store import Locked, StoreError, is_locked, write_error
from selfpaced.training import Record

RETRIES = 2  # of a run whose process died
REPORT_SECONDS = 0.2  # between two reports of one run
POLL_SECONDS = 0.5
GUARD = "in a script, start runs under `if __name__ == '__main__':`, for processes import it"
STOP_SECONDS = 30.0  # for a run to finish its iteration and write its checkpoint


@dataclass
class _Worker:
    job: Job
    attempt: int
    process: Any  # multiprocessing's process class depends on the start method
    reports: Connection
    said: str = ""  # how it ended, in its own words


class LocalEngine:
    """A process per run: a crash takes one run with it, and memory goes back to the system."""

    def __init__(self, workers: int | None = None) -> None:
        """`workers` runs at once; by default one per processor that we may use."""
        self._workers = processors() if workers is None else check_at_least("workers", workers, 1)

    def run(self, jobs: list[Job], watcher: Watcher) -> None:
        """Execute `jobs`. StoreError if the disk fails; KeyboardInterrupt once all have stopped."""
        waiting = [(job, 1) for job in jobs]
        running: list[_Worker] = []
        elsewhere: set[str] = set()
        context = _context()
        try:
            while waiting or running:
                while len(running) < self._workers and (
                    taken := _next(waiting, elsewhere, watcher)
                ):
                    running.append(_launch(context, *taken))
                    watcher.started(taken[0])
                if not running:
                    time.sleep(POLL_SECONDS)  # all that is left is somebody else's, for now
                for worker in _listen(running, watcher):
                    running.remove(worker)
                    if (again := _settle(worker, watcher)) is not None:
                        waiting.insert(0, again)
        except BaseException:
            _stop(running)
            raise


def processors() -> int:
    """Processors that this process may use; fewer than the machine has, under SLURM for one."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _context() -> Any:
    """How processes start: forked from a server that has the package loaded, where there is one."""
    os.environ.update(ONE_THREAD)  # workers inherit it, before they load NumPy
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["selfpaced.engines.local"])
    if threading.current_thread() is threading.main_thread():  # Ctrl-C is not for the server
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        multiprocessing.forkserver.ensure_running()
        signal.signal(signal.SIGINT, before)
    return context


def _next(
    waiting: list[tuple[Job, int]], elsewhere: set[str], watcher: Watcher
) -> tuple[Job, int] | None:
    """Take the first job that nobody works on; what others have finished is no longer ours."""
    for entry in list(waiting):
        job = entry[0]
        if is_locked(job.folder):
            if job.name not in elsewhere:
                elsewhere.add(job.name)
                watcher.elsewhere(job)
            continue
        waiting.remove(entry)
        if job.name in elsewhere and job.done:
            watcher.finished(job, [])
            continue
        return entry
    return None


def _launch(context: Any, job: Job, attempt: int) -> _Worker:
    reports, ours = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, ours), daemon=False)
    process.start()
    ours.close()
    return _Worker(job, attempt, process, reports)


def _listen(running: list[_Worker], watcher: Watcher) -> list[_Worker]:
    """Pass on what the workers report until at least one has ended; those that have."""
    ended: list[_Worker] = []
    ready = wait([worker.reports for worker in running], timeout=POLL_SECONDS)
    for worker in running:
        if worker.reports not in ready:
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
    """What is left to do for a worker that ended: nothing, or another attempt."""
    worker.reports.close()
    if worker.said in ("finished", "failed"):
        return None
    if worker.said == "elsewhere":  # somebody was quicker: wait for it
        return worker.job, worker.attempt
    code = worker.process.exitcode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    if worker.said == "stopped":
        how = "signal SIGTERM"
    if worker.attempt <= RETRIES:
        watcher.retried(worker.job, how)
        return worker.job, worker.attempt + 1
    error = f"the process died {worker.attempt} times, at last by {how}"
    if code == 1:  # it did not even come to our code
        error += f"; {GUARD}"
    write_error(worker.job.folder, error)
    watcher.failed(worker.job, error)
    return None


def _stop(running: list[_Worker]) -> None:
    """Let every worker finish its iteration and write a checkpoint; then end it."""
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
    """The launcher as a worker sees it: it listens, and it may ask to stop, or be gone."""

    def __init__(self, reports: Connection) -> None:
        self._reports = reports
        self._last = 0.0
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


def _work(job: Job, reports: Connection) -> None:
    """What a worker process does."""
    launcher = _Launcher(reports)
    asked_to_stop = False

    def ask_to_stop(*_: object) -> None:
        nonlocal asked_to_stop
        asked_to_stop = True

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the launcher's to handle
    try:
        problems = execute(job, launcher.progress, lambda: asked_to_stop or launcher.gone)
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
