"""Runs on a Ray cluster: the same jobs, the same files, many machines (extra `ray`).

Every node needs this package and the output folder under the same path (a shared file system).
"""

# Ray's types are incomplete:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import logging
import os
import time
import traceback
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from selfpaced.engines.job import ONE_THREAD, Job, Watcher, execute
from selfpaced.maths.arrays import check_at_least
from selfpaced.store import Locked, StoreError, last_record, write_error

RETRIES = 3  # of a run whose worker or node is lost
POLL_SECONDS = 0.5
LOCK_SECONDS = 60.0  # a lost node's process may hold a run's lock a little longer than the node


class RayEngine:
    """One Ray task per run; Ray places them, and repeats those whose node is lost."""

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        """On the cluster at `address`; without one, a local cluster of `workers` processors."""
        self._workers = None if workers is None else check_at_least("workers", workers, 1)
        self._address = address

    def run(self, jobs: list[Job], watcher: Watcher) -> None:
        """Execute `jobs`. StoreError if the disk fails."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        started_here = not ray.is_initialized()
        if started_here:
            # "local", for Ray would otherwise look for the last cluster, dead or alive
            options: dict[str, Any] = {"address": self._address or "local", "log_to_driver": False}
            if self._address is None:
                options |= {"num_cpus": self._workers, "include_dashboard": False}
            ray.init(logging_level=logging.ERROR, **options)
        try:
            self._run(jobs, watcher)
        finally:
            if started_here:
                ray.shutdown()  # ends tasks that are still running; their checkpoints stay

    def _run(self, jobs: list[Job], watcher: Watcher) -> None:
        task: Any = ray.remote(
            num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": ONE_THREAD}
        )(_work)
        pending: dict[Any, Job] = {task.remote(job): job for job in jobs}
        try:
            self._watch(pending, watcher)
        except BaseException:
            for reference in pending:  # the cluster may be the user's, and live on
                ray.cancel(reference, force=True)
            raise

    def _watch(self, pending: dict[Any, Job], watcher: Watcher) -> None:
        seen: dict[Any, int] = {}
        while pending:
            ready, _ = ray.wait(list(pending), timeout=POLL_SECONDS)
            for reference, job in pending.items():
                _show_progress(reference, job, seen, watcher)
            for reference in ready:
                _settle(reference, pending.pop(reference), watcher)


def _show_progress(reference: Any, job: Job, seen: dict[Any, int], watcher: Watcher) -> None:
    """What the run's own files say, wherever it executes."""
    record = last_record(job.folder)
    if record is None or record["iteration"] == seen.get(reference):
        return
    if reference not in seen:
        watcher.started(job)
    seen[reference] = record["iteration"]
    watcher.progressed(job, record["iteration"], record.get("target_success"))


def _settle(reference: Any, job: Job, watcher: Watcher) -> None:
    try:
        kind, content = ray.get(reference)
    except RayTaskError as error:  # it did not come to our code: a module is missing there, say
        message = str(error)
        write_error(job.folder, message)
        watcher.failed(job, message)
        return
    except RayError as error:
        message = f"lost {RETRIES + 1} times: {str(error).splitlines()[0]}"
        write_error(job.folder, message)
        watcher.failed(job, message)
        return
    if kind == "finished":
        watcher.finished(job, content)
    elif kind == "elsewhere":
        watcher.elsewhere(job)
    elif kind == "disk":
        raise StoreError(*content)
    else:
        watcher.failed(job, content)


def _work(job: Job) -> tuple[str, Any]:
    """What a Ray worker does."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return "finished", execute(job)
        except Locked:
            if time.monotonic() > deadline:
                return "elsewhere", None
            time.sleep(1.0)
        except StoreError as error:
            return "disk", (error.errno, error.strerror, str(error.filename or job.folder))
        except Exception:  # whatever it is, it is reported, with its traceback
            message = traceback.format_exc()
            write_error(job.folder, message)
            return "failed", message
