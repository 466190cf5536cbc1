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
import json
import math
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

import numpy as np

from selfpaced.maths.archives import DamagedFile, arrays_in, damage_named
from selfpaced.maths.arrays import mean_of_known
from selfpaced.maths.policy import Policy
from selfpaced.store.compatibility import upgraded_state
from selfpaced.store.files import (
    FORMAT,
    file_bytes,
    npz_bytes,
    plain,
    sync_folder,
    vouched_json,
    write_atomically,
)
from selfpaced.store.locking import lock
from selfpaced.store.reading import StoredRun, Timing, finished_iterations, read_timing
from selfpaced.store.records import checked_record, with_nan
from selfpaced.store.spec import check_spec, holds_data, write_spec
from selfpaced.store.versions import versions
from selfpaced.types import AnyArray, Final, Record, State, Training

LARGEST_CHECKPOINT = 2**33  # bytes; a run's own, so it may be large
CHECKPOINT_SECONDS = 2.0
"""Time between two checkpoints of a run: about what a crash costs."""


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
        self,
        folder: Path,
        spec: dict[str, Any],
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
        *,
        durable: bool = True,
    ) -> None:
        """Open the run in `folder`, new or old. Raise `Locked` if another process has it.

        Without `durable` the spec is not synced to the disk.
        """
        check_spec(folder, spec)
        _make(folder, durable)
        self.folder = folder
        self.problems: list[str] = []  # damage that was noticed
        self._checkpoint_seconds = checkpoint_seconds
        self._lock = lock(folder)
        try:
            # Written even if it is there: what asked for the run has not synced it.
            if not holds_data(folder) and (durable or not (folder / "spec.json").exists()):
                write_spec(folder, spec, durable=durable)
        except OSError:
            self._lock.close()
            raise
        self._metrics: BinaryIO | None = None
        self._kept = b""  # metrics that the checkpoint vouches for
        self._lines = self._crc = 0
        self._before = Timing(0.0, 0.0)  # of the processes before this one
        self._cpu_started = time.process_time()
        self._last_checkpoint = time.monotonic()

    def __repr__(self) -> str:
        return f"RunWriter({self.folder}, {self._lines} iterations)"

    @property
    def next_iteration(self) -> int:
        """The iteration that the training does next; the first one is 1."""
        return self._lines + 1

    def begin(self, start: Callable[[], Training]) -> Training:
        """The training that `start` makes, restored from the last intact checkpoint if one exists.

        A checkpoint that is damaged, whatever the damage, counts as none: the run starts again.
        """
        self._clean_up()
        training = start()
        state = self._load_checkpoint()
        if state is not None:
            try:
                training.restore(state)
            except Exception as error:  # of any training, with a state of any kind
                why = f"{type(error).__name__}: {error}"[:200]
                self._start_again(f"checkpoint.npz is damaged or of another version ({why})")
                training = start()  # the other one may be restored by half
        self._open_records()
        return training

    @_raises_store_error
    def _clean_up(self) -> None:
        (self.folder / "error.json").unlink(missing_ok=True)
        for leftover in self.folder.glob("*.tmp"):
            leftover.unlink(missing_ok=True)  # of a write that a crash cut short

    def _start_again(self, problem: str) -> None:
        self.problems.append(f"{problem}; the run starts again")
        self._kept, self._lines, self._before = b"", 0, Timing(0.0, 0.0)

    @_raises_store_error
    def _load_checkpoint(self) -> State | None:
        """The state in the checkpoint, without the store's own entries; None if there is none."""
        path = self.folder / "checkpoint.npz"
        try:
            content = file_bytes(path, LARGEST_CHECKPOINT)
            with damage_named(path):
                state = upgraded_state(arrays_in(content))
                length, crc = int(state.pop("store.bytes")), int(state.pop("store.crc"))
                lines = int(state.pop("store.lines"))
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            self._start_again(f"checkpoint.npz is damaged ({error.why})")
            return None
        metrics = self.folder / "metrics.jsonl"
        try:
            written = file_bytes(metrics)[:length]
        except (FileNotFoundError, DamagedFile):
            written = b""
        if length != len(written) or zlib.crc32(written) != crc or lines != written.count(b"\n"):
            self._start_again("metrics.jsonl is damaged")
            return None
        self._kept, self._lines = written, lines
        before = read_timing(self.folder)
        self._before = Timing(*(0.0 if math.isnan(seconds) else seconds for seconds in before))
        return state

    @_raises_store_error
    def _open_records(self) -> None:
        """Open the metrics after the lines that count; drop a result that is not reached again."""
        if self._lines < finished_iterations(self.folder):
            (self.folder / "result.json").unlink()  # the checkpoint is older: the run starts again
        self._keep_lines(self._kept)

    def _keep_lines(self, kept: bytes) -> None:
        """Make `kept` the content of the metrics, and open them for more."""
        self._close_metrics()
        path = self.folder / "metrics.jsonl"
        if path.is_symlink() or not path.is_file() or path.read_bytes() != kept:
            write_atomically(path, kept)  # drops a torn line, and lines after the checkpoint
        self._metrics = path.open("ab")
        self._kept, self._lines, self._crc = b"", kept.count(b"\n"), zlib.crc32(kept)

    @_raises_store_error
    def record(self, record: Record) -> None:
        """Append one iteration's record to the metrics; a ValueError if it is not numbers."""
        line = record_line(record)
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
    def sync_if_due(self) -> None:
        """Sync the metrics if that is longer ago than `checkpoint_seconds`."""
        if time.monotonic() - self._last_checkpoint >= self._checkpoint_seconds:
            os.fsync(self._open_metrics().fileno())
            self._last_checkpoint = time.monotonic()

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
        timing = Timing(
            self._before.cpu_seconds + time.process_time() - self._cpu_started,
            self._before.teacher_seconds + getattr(training, "teacher_seconds", math.nan),
        )
        write_atomically(self.folder / "timing.json", timing.as_json())
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
    def write_finished(self, run: StoredRun, *, durable: bool = True) -> None:
        """Write a run that was finished elsewhere. There is no checkpoint to continue from."""
        (self.folder / "checkpoint.npz").unlink(missing_ok=True)
        lines = b"".join(record_line(record) for record in run.records)
        path = self.folder / "metrics.jsonl"
        if self._metrics is None or path.read_bytes() != lines:
            self._close_metrics()
            write_atomically(path, lines, durable=durable)
            self._metrics = path.open("ab")
        self._lines, self._crc = len(run.records), zlib.crc32(lines)
        timing = Timing(run.cpu_seconds, run.teacher_seconds)
        write_atomically(self.folder / "timing.json", timing.as_json(), durable=durable)
        self._conclude(run.result, run.policy, run.contexts, run.trajectories, durable=durable)

    @_raises_store_error
    def keep_records(self, records: list[Record]) -> None:
        """Make `records` the metrics, and open them for more; for a run without checkpoints."""
        self._keep_lines(b"".join(record_line(record) for record in records))

    def _conclude(
        self,
        result: dict[str, Any],
        policy: Policy | None,
        contexts: AnyArray,
        trajectories: AnyArray | None,
        *,
        durable: bool = True,
    ) -> None:
        metrics = self._open_metrics()
        if durable:
            os.fsync(metrics.fileno())
        arrays: State = {"contexts": contexts}
        if trajectories is not None:
            arrays["trajectories"] = trajectories
        files = {"final.npz": npz_bytes(arrays)}
        if policy is not None:
            files["policy.npz"] = npz_bytes(policy.arrays())
        (self.folder / "result.json").unlink(missing_ok=True)  # of the run before it was continued
        for name, content in files.items():
            write_atomically(self.folder / name, content, durable=durable)
        crc = {name: zlib.crc32(content) for name, content in files.items()}
        vouched = {
            **result,
            "format": FORMAT,
            "metrics_bytes": metrics.seek(0, os.SEEK_END),
            "crc": {"metrics.jsonl": self._crc, **crc},
        }
        write_atomically(self.folder / "result.json", vouched_json(vouched), durable=durable)

    @_raises_store_error
    def close(self) -> None:
        """Release the run. Closing tries again to write what a full disk has refused."""
        try:
            self._close_metrics()
        finally:
            self._lock.close()

    def _close_metrics(self) -> None:
        metrics, self._metrics = self._metrics, None
        if metrics is not None:
            metrics.close()

    def _open_metrics(self) -> BinaryIO:
        if self._metrics is None:
            raise RuntimeError("begin() comes before recording")
        return self._metrics


def _make(folder: Path, durable: bool) -> None:
    """Make `folder` and those above it, and sync their names to the disk if `durable`."""
    made = [folder, *folder.parents[: len(folder.parents) - 1]]
    missing = [path for path in made if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing if durable else []:
        sync_folder(path.parent)


def record_line(record: Record) -> bytes:
    """`record` as a line of metrics; a ValueError if its values are not numbers."""
    values = plain(record)
    checked_record(with_nan(values))
    return json.dumps(values, allow_nan=False).encode() + b"\n"


def write_error(folder: Path, error: str) -> None:
    """Write down in `folder` why its run failed."""
    write_atomically(folder / "error.json", vouched_json({"error": error}))
