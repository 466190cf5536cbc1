"""Executes runs on a Ray cluster: the same jobs and files on many machines (extra `ray`).

Every node needs this package and the output folder under the same path (a shared file system).
"""

# Ray's types are incomplete:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import logging
import os
import time
import traceback
from typing import Any, cast

import ray
from ray.exceptions import RayError, RayTaskError

from selfpaced.engines.job import ONE_THREAD, Job, Watcher, execute
from selfpaced.maths.arrays import check_at_least
from selfpaced.store.locking import Locked
from selfpaced.store.reading import last_record
from selfpaced.store.writing import StoreError, write_error

RETRIES = 3  # further attempts for a run whose worker or node is lost
POLL_SECONDS = 0.5  # between two looks at the progress of all runs
# A new attempt waits so long for the lock of a run that the process of a lost node may still hold.
LOCK_SECONDS = 60.0


class RayEngine:
    """Executes every run as a Ray task; Ray places them, and repeats those whose node is lost."""

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        threads: int | None = None,
    ) -> None:
        """Use the cluster at `address`; without one, a local cluster of `workers` processors.

        Ray reserves `threads` processors for each run; by default the run's share of the cluster.
        """
        self._workers = None if workers is None else check_at_least("workers", workers, 1)
        self._threads = None if threads is None else check_at_least("threads", threads, 1)
        self._address = address

    def __repr__(self) -> str:
        return f"RayEngine({self._address or 'local'})"

    def run(self, jobs: list[Job], watcher: Watcher) -> None:
        """Execute `jobs` and tell `watcher`. Raise a StoreError if the disk fails."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        started_here = not ray.is_initialized()
        if started_here:
            # without "local" Ray would look for the cluster that was used last, even if it is gone
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
        threads = _share(len(jobs)) if self._threads is None else self._threads
        task: Any = ray.remote(
            num_cpus=threads, max_retries=RETRIES, runtime_env={"env_vars": ONE_THREAD}
        )(_work)
        pending: dict[Any, Job] = {task.remote(job, threads): job for job in jobs}
        try:
            self._watch(pending, watcher)
        except BaseException:
            for reference in pending:  # a cluster of the user's would go on with them
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


def _share(jobs: int) -> int:
    """Processors for each of `jobs` runs: equal shares of the cluster that fit on one node."""
    nodes = cast(list[dict[str, Any]], ray.nodes())
    sizes = [int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]]
    return max(1, min(sum(sizes) // max(1, jobs), max(sizes, default=1)))


def _show_progress(reference: Any, job: Job, seen: dict[Any, int], watcher: Watcher) -> None:
    """Tell `watcher` what the run's own files say, for it may execute on any node."""
    record = last_record(job.folder)
    if record is None or record["iteration"] == seen.get(reference):
        return
    if reference not in seen:
        watcher.started(job)
    seen[reference] = record["iteration"]
    watcher.progressed(job, record["iteration"], record.get("target_success"))


def _settle(reference: Any, job: Job, watcher: Watcher) -> None:
    """Tell `watcher` how a Ray task has ended."""
    try:
        kind, content = ray.get(reference)
    except (
        RayTaskError
    ) as error:  # it failed before it came to `_work`: a module is missing there, say
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


def _work(job: Job, threads: int) -> tuple[str, Any]:
    """Execute `job` in a Ray worker with `threads` threads; return how it ended (`_settle`)."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return "finished", execute(job, threads=threads)
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
