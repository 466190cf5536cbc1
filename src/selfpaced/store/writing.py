"""A run's files: append-only metrics, atomic checkpoints, a result whose existence means done.

Layout of a run, `<out>/<experiment>/<algorithm>/seed-NNN/`:

    spec.json        what identifies the run; see `store/spec.py`
    budget.json      how many iterations were asked for
    metrics.jsonl    one line per iteration
    checkpoint.npz   the training's state after the last line that counts
    policy.npz       the learned policy
    final.npz        ten target contexts, with trajectories where the task has any
    result.json      the last measurement; its checksums vouch for the files above and for itself
    timing.json      CPU time: the one file that differs between two equal runs
    error.json       why the run failed, if it did
    lock             held while a process works on the run

Beside the runs of an experiment, `<out>/<experiment>/experiment.json` holds what reports must
know of it. Nothing is pickled: loading a run cannot execute code.
"""

import functools
import importlib.metadata
import math
import os
import platform
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

import numpy as np

from selfpaced.maths.arrays import mean_of_known
from selfpaced.maths.policy import Policy
from selfpaced.store.compatibility import upgraded_state
from selfpaced.store.files import (
    json_bytes,
    npz_bytes,
    read_npz,
    vouched_json,
    write_atomically,
)
from selfpaced.store.locking import lock
from selfpaced.store.reading import StoredRun, finished_iterations, read_cpu_seconds
from selfpaced.store.spec import FORMAT, check_spec, write_spec
from selfpaced.types import AnyArray, Final, Record, State, Training

CHECKPOINT_SECONDS = 2.0
"""Time between two checkpoints of a run: about what a crash costs."""
VERSIONS_OF = (
    *("selfpaced", "numpy", "scipy", "mujoco", "gymnasium_robotics"),
    *("cma", "torch", "gymnasium", "stable_baselines3"),
)


class StoreError(OSError):
    """The disk, not the run, failed: it is full, read-only, or gone."""


P = ParamSpec("P")
T = TypeVar("T")


def _raises_store_error(method: Callable[P, T]) -> Callable[P, T]:
    """Turn an OSError of `method` into a StoreError; one of a user's task stays what it is."""

    @functools.wraps(method)
    def wrapped(*arguments: P.args, **keywords: P.kwargs) -> T:
        try:
            return method(*arguments, **keywords)
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(error.errno, error.strerror, error.filename) from error

    return wrapped


class RunWriter:
    """Writes one run to disk, for one process at a time, and restores it from its checkpoint."""

    @_raises_store_error
    def __init__(
        self, folder: Path, spec: dict[str, Any], checkpoint_seconds: float = CHECKPOINT_SECONDS
    ) -> None:
        """Open the run in `folder`, new or old. Raise `Locked` if another process has it."""
        check_spec(folder, spec)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.problems: list[str] = []  # damage that was noticed
        self._checkpoint_seconds = checkpoint_seconds
        self._lock = lock(folder)
        try:
            if not (folder / "spec.json").exists():
                write_spec(folder, spec)
        except OSError:
            self._lock.close()
            raise
        self._metrics: BinaryIO | None = None
        self._lines = self._crc = 0
        self._cpu_before = 0.0
        self._cpu_started = time.process_time()
        self._last_checkpoint = time.monotonic()

    def __repr__(self) -> str:
        return f"RunWriter({self.folder}, {self._lines} iterations)"

    @property
    def next_iteration(self) -> int:
        """The iteration that the training does next; the first one is 1."""
        return self._lines + 1

    @_raises_store_error
    def begin(self, training: Training) -> None:
        """Restore `training` from the last intact checkpoint, if there is one."""
        (self.folder / "error.json").unlink(missing_ok=True)
        for leftover in self.folder.glob("*.tmp"):
            leftover.unlink(missing_ok=True)  # of a write that a crash cut short
        path = self.folder / "metrics.jsonl"
        kept = b""
        state = self._load_checkpoint()
        if state is not None:
            length, crc = int(state.pop("store.bytes")), int(state.pop("store.crc"))
            lines = int(state.pop("store.lines"))
            written = path.read_bytes()[:length] if path.exists() else b""
            if len(written) == length and zlib.crc32(written) == crc:
                training.restore(state)
                kept, self._lines = written, lines
                before = read_cpu_seconds(self.folder)
                self._cpu_before = 0.0 if math.isnan(before) else before
            else:
                self.problems.append("metrics.jsonl is damaged; the run starts again")
        if self._lines < finished_iterations(self.folder):
            (self.folder / "result.json").unlink()  # the checkpoint is older: the run starts again
        if not path.exists() or path.read_bytes() != kept:
            write_atomically(path, kept)  # drops a torn line, and lines after the checkpoint
        self._metrics, self._crc = path.open("ab"), zlib.crc32(kept)

    @_raises_store_error
    def record(self, record: Record) -> None:
        """Append one iteration's record to the metrics."""
        line = json_bytes(record) + b"\n"
        metrics = self._open_metrics()
        metrics.write(line)
        metrics.flush()
        self._crc = zlib.crc32(line, self._crc)
        self._lines += 1

    def checkpoint_if_due(self, training: Training) -> None:
        """Save `training` if the last checkpoint is older than `checkpoint_seconds`."""
        if time.monotonic() - self._last_checkpoint >= self._checkpoint_seconds:
            self.checkpoint(training)

    @_raises_store_error
    def checkpoint(self, training: Training) -> None:
        """Save `training` as it is after the last recorded iteration."""
        metrics = self._open_metrics()
        os.fsync(metrics.fileno())
        state = {
            **training.state(),
            "store.bytes": np.array(metrics.tell()),
            "store.crc": np.array(self._crc),
            "store.lines": np.array(self._lines),
        }
        cpu = self._cpu_before + time.process_time() - self._cpu_started
        write_atomically(self.folder / "timing.json", json_bytes({"cpu_seconds": cpu}))
        write_atomically(self.folder / "checkpoint.npz", npz_bytes(state))
        self._last_checkpoint = time.monotonic()

    @_raises_store_error
    def finish(self, training: Training, final: Final) -> None:
        """Write what is left of the run; `result.json` last, for it means done."""
        self.checkpoint(training)  # so that more iterations can be asked for later
        result = {
            "iterations": self._lines,
            "rollouts": training.spent.rollouts,
            "steps": training.spent.steps,
            "target_success": mean_of_known(final.outcomes.successes),
            "target_reward": float(final.outcomes.rewards.mean()),
            "success_at_mean": mean_of_known(final.at_mean.successes),
            "reward_at_mean": float(final.at_mean.rewards.mean()),
            "versions": versions(),
        }
        for name, outcomes in final.rescored.items():
            result[f"rescored_{name}_success"] = mean_of_known(outcomes.successes)
            result[f"rescored_{name}_reward"] = float(outcomes.rewards.mean())
        self._conclude(result, training.policy, final.contexts, final.trajectories)

    @_raises_store_error
    def write_finished(self, run: StoredRun) -> None:
        """Write a run that was finished elsewhere. There is no checkpoint to continue from."""
        (self.folder / "checkpoint.npz").unlink(missing_ok=True)
        write_atomically(self.folder / "metrics.jsonl", b"")
        self._metrics, self._lines, self._crc = (self.folder / "metrics.jsonl").open("ab"), 0, 0
        for record in run.records:
            self.record(record)
        timing = {"cpu_seconds": run.cpu_seconds}
        write_atomically(self.folder / "timing.json", json_bytes(timing))
        self._conclude(run.result, run.policy, run.contexts, run.trajectories)

    def _conclude(
        self,
        result: dict[str, Any],
        policy: Policy | None,
        contexts: AnyArray,
        trajectories: AnyArray | None,
    ) -> None:
        metrics = self._open_metrics()
        os.fsync(metrics.fileno())
        arrays: State = {"contexts": contexts}
        if trajectories is not None:
            arrays["trajectories"] = trajectories
        files = {"final.npz": npz_bytes(arrays)}
        if policy is not None:
            files["policy.npz"] = npz_bytes(policy.arrays())
        (self.folder / "result.json").unlink(missing_ok=True)  # of the run before it was continued
        for name, content in files.items():
            write_atomically(self.folder / name, content)
        crc = {name: zlib.crc32(content) for name, content in files.items()}
        vouched = {
            **result,
            "format": FORMAT,
            "metrics_bytes": metrics.tell(),
            "crc": {"metrics.jsonl": self._crc, **crc},
        }
        write_atomically(self.folder / "result.json", vouched_json(vouched))

    @_raises_store_error
    def close(self) -> None:
        """Release the run. Closing tries again to write what a full disk has refused."""
        metrics, self._metrics = self._metrics, None
        try:
            if metrics is not None:
                metrics.close()
        finally:
            self._lock.close()

    def _open_metrics(self) -> BinaryIO:
        if self._metrics is None:
            raise RuntimeError("begin() comes before recording")
        return self._metrics

    def _load_checkpoint(self) -> State | None:
        path = self.folder / "checkpoint.npz"
        if not path.exists():
            return None
        try:
            return upgraded_state(read_npz(path.read_bytes()))
        except ValueError as error:
            self.problems.append(f"checkpoint.npz is damaged ({error}); the run starts again")
            return None


def write_error(folder: Path, error: str) -> None:
    """Write down in `folder` why its run failed."""
    write_atomically(folder / "error.json", json_bytes({"error": error}))


def versions() -> dict[str, str]:
    """What a result may depend on besides its spec: installed packages, the processor's type."""
    found: dict[str, str] = {}
    for name in VERSIONS_OF:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {**found, "python": platform.python_version(), "machine": platform.machine()}
