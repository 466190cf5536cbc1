"""A run's files: append-only metrics, atomic checkpoints, a result whose existence means done.

Layout of a run, `<out>/<experiment>/<algorithm>/seed-NNN/`:

    spec.json        what was asked: experiment, algorithm, its numbers, seed
    budget.json      how many iterations were asked for
    metrics.jsonl    one line per iteration
    checkpoint.npz   the training's state after the last line that counts
    policy.npz       the learned policy
    final.npz        ten target contexts, with trajectories where the task has any
    result.json      the last measurement; its checksums vouch for the files above
    timing.json      CPU time: the one file that differs between two equal runs
    error.json       why the run failed, if it did
    lock             held while a process works on the run

Beside the runs of an experiment, `<out>/<experiment>/setting.json` tells reports what it is.

Nothing is pickled: loading a run cannot execute code.
"""

import dataclasses
import fcntl
import functools
import importlib.metadata
import json
import math
import os
import platform
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

import numpy as np

from selfpaced.experiments.experiment import checked_name
from selfpaced.experiments.setting import Setting, setting_from
from selfpaced.files import (
    differences,
    json_bytes,
    npz_bytes,
    read_json,
    read_npz,
    write_atomically,
)
from selfpaced.maths.arrays import mean_of_known
from selfpaced.maths.policy import Policy, load_policy
from selfpaced.training import Final, Record
from selfpaced.types import AnyArray, State, Training

CHECKPOINT_SECONDS = 2.0  # between two checkpoints: about what a crash costs
FORMAT = 1
VERSIONS_OF = (
    *("selfpaced", "numpy", "scipy", "mujoco", "gymnasium_robotics"),
    *("cma", "torch", "gymnasium", "stable_baselines3"),
)


def check_spec(folder: Path, spec: dict[str, Any]) -> None:
    """A ValueError that names each difference if `folder` holds a run with another spec."""
    path = folder / "spec.json"
    if path.exists() and (found := list(differences(spec, read_json(path)))):
        raise ValueError(
            f"{folder} holds a run with another spec: {'; '.join(found)}. "
            "Choose another --out, or remove that folder"
        )


def ask_for(folder: Path, spec: dict[str, Any], iterations: int) -> None:
    """Write down that a run is wanted, before anybody works on it. Never shortens a run."""
    check_spec(folder, spec)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "spec.json").exists():
        write_atomically(folder / "spec.json", json_bytes(spec))
    if asked_iterations(folder) < iterations:
        write_atomically(folder / "budget.json", json_bytes({"iterations": iterations}))


def asked_iterations(folder: Path) -> int:
    """How long the run in `folder` shall be; 0 if nobody has said."""
    path = folder / "budget.json"
    return int(read_json(path)["iterations"]) if path.exists() else 0


def finished_iterations(folder: Path) -> int:
    """Iterations of the finished run in `folder`; 0 if there is none, or none that is sound."""
    if not (folder / "result.json").exists():
        return 0
    try:
        return int(_vouched(folder)[0]["iterations"])
    except ValueError:
        return 0


def recorded_iterations(folder: Path) -> int:
    """Whole lines of metrics in `folder`, whoever is writing them."""
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def recorded(folder: Path) -> list[Record]:
    """The whole lines of the metrics in `folder`, whoever is writing them."""
    path = folder / "metrics.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    try:
        return [_with_nan(json.loads(line)) for line in lines]
    except json.JSONDecodeError:
        return []  # damaged; the run itself says so when it goes on


def policy_dimension(folder: Path) -> int | None:
    """How many numbers the policy of the run in `folder` draws; None before it is finished."""
    path = folder / "policy.npz"
    try:
        return load_policy(path).dimension if path.exists() else None
    except ValueError:
        return None  # damaged: the run counts as not finished


def last_record(folder: Path) -> Record | None:
    """The last whole line of the metrics in `folder`, whoever is writing them."""
    path = folder / "metrics.jsonl"
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 16_384))
        lines = file.read().split(b"\n")[:-1]  # what follows the last newline is not whole
    try:
        return _with_nan(json.loads(lines[-1])) if lines else None
    except json.JSONDecodeError:
        return None  # a line longer than what was read


def versions() -> dict[str, str]:
    """What a result may depend on besides its spec: installed packages, the processor's type."""
    found: dict[str, str] = {}
    for name in VERSIONS_OF:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {**found, "python": platform.python_version(), "machine": platform.machine()}


class Locked(RuntimeError):
    """Another process works on the run."""


class StoreError(OSError):
    """The disk, not the run, failed: it is full, read-only, or gone."""


P = ParamSpec("P")
T = TypeVar("T")


def _of_the_store(method: Callable[P, T]) -> Callable[P, T]:
    """An OSError inside is the store's, and says so; one of a user's task must not look alike."""

    @functools.wraps(method)
    def wrapped(*arguments: P.args, **keywords: P.kwargs) -> T:
        try:
            return method(*arguments, **keywords)
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(error.errno, error.strerror, error.filename) from error

    return wrapped


class RunFiles:
    """One run on disk, held by one process: a recorder for the loop, and the way back."""

    @_of_the_store
    def __init__(
        self, folder: Path, spec: dict[str, Any], checkpoint_seconds: float = CHECKPOINT_SECONDS
    ) -> None:
        """Open the run in `folder`, new or old. `Locked` if another process has it."""
        check_spec(folder, spec)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.problems: list[str] = []  # damage that was noticed
        self._checkpoint_seconds = checkpoint_seconds
        self._lock = (folder / "lock").open("ab")
        if not _take_lock(self._lock):
            self._lock.close()
            raise Locked(f"another process works on {folder}")
        try:
            if not (folder / "spec.json").exists():
                write_atomically(folder / "spec.json", json_bytes(spec))
        except OSError:
            self._lock.close()
            raise
        self._metrics: BinaryIO | None = None
        self._lines = self._crc = 0
        self._cpu_before = 0.0
        self._cpu_started = time.process_time()
        self._last_checkpoint = time.monotonic()

    @property
    def next_iteration(self) -> int:
        return self._lines + 1

    @_of_the_store
    def begin(self, training: Training) -> None:
        """Put `training` back to the last sound checkpoint, if there is one."""
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
                before = _cpu_seconds(self.folder)
                self._cpu_before = 0.0 if math.isnan(before) else before
            else:
                self.problems.append("metrics.jsonl is damaged; the run starts again")
        if self._lines < finished_iterations(self.folder):
            (self.folder / "result.json").unlink()  # the run starts again; a longer one keeps it
        if not path.exists() or path.read_bytes() != kept:
            write_atomically(path, kept)  # drops a torn line, and lines after the checkpoint
        self._metrics, self._crc = path.open("ab"), zlib.crc32(kept)

    @_of_the_store
    def record(self, record: Record) -> None:
        line = json_bytes(record) + b"\n"
        metrics = self._open_metrics()
        metrics.write(line)
        metrics.flush()
        self._crc = zlib.crc32(line, self._crc)
        self._lines += 1

    def checkpoint_if_due(self, training: Training) -> None:
        if time.monotonic() - self._last_checkpoint >= self._checkpoint_seconds:
            self.checkpoint(training)

    @_of_the_store
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

    @_of_the_store
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
        if final.rescored is not None:
            result["rescored_success"] = mean_of_known(final.rescored.successes)
            result["rescored_reward"] = float(final.rescored.rewards.mean())
        self._conclude(result, training.policy, final.contexts, final.trajectories)

    @_of_the_store
    def write_finished(self, run: "StoredRun") -> None:
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
            "metrics_bytes": metrics.tell(),
            "crc": {"metrics.jsonl": self._crc, **crc},
        }
        write_atomically(self.folder / "result.json", json_bytes(vouched))

    @_of_the_store
    def close(self) -> None:
        """Let go of the run. Closing tries again to write what a full disk has refused."""
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
            return read_npz(path.read_bytes())
        except ValueError as error:
            self.problems.append(f"checkpoint.npz is damaged ({error}); the run starts again")
            return None


def write_error(folder: Path, error: str) -> None:
    """Leave word in `folder` why its run failed."""
    write_atomically(folder / "error.json", json_bytes({"error": error}))


def read_error(folder: Path) -> str | None:
    """Why the run in `folder` failed; None if it did not."""
    path = folder / "error.json"
    return str(read_json(path)["error"]) if path.exists() else None


def is_locked(folder: Path) -> bool:
    """Whether a process works on the run in `folder` right now."""
    path = folder / "lock"
    if not path.exists():
        return False
    with path.open("rb") as file:
        try:  # shared: two who only ask do not get into each other's way
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _take_lock(file: BinaryIO) -> bool:
    """Lock `file` for this process; the system lets go of it when we die, however we die.

    Somebody who only asks whether it is locked holds it for a moment: we try for a second.
    """
    deadline = time.monotonic() + 1.0
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)


@dataclasses.dataclass(frozen=True)
class StoredRun:
    """A finished run, read back from its files or from packed results."""

    spec: dict[str, Any]
    records: list[Record]
    result: dict[str, Any]
    cpu_seconds: float
    policy: Policy | None  # None of a training that is not ours, see `Logbook`
    contexts: AnyArray  # (10, d_c), of the target
    trajectories: AnyArray | None  # (10, t, d) on those contexts

    @property
    def experiment(self) -> str:
        return str(self.spec["experiment"])

    @property
    def algorithm(self) -> str:
        return str(self.spec["algorithm"])

    @property
    def seed(self) -> int:
        return int(self.spec["seed"])


def run_folder(out: Path, experiment: str, algorithm: str, seed: int) -> Path:
    """Where the files of one run live."""
    return out / checked_name(experiment) / checked_name(algorithm) / f"seed-{seed:03d}"


def run_folders(out: Path) -> list[Path]:
    """The folders of all runs below `out`, finished or not, in order."""
    return [path.parent for path in sorted(out.glob("*/*/seed-*/spec.json"))]


def write_setting(out: Path, setting: Setting) -> None:
    """Leave beside the runs of an experiment what a report must know of it."""
    folder = out / checked_name(setting.name)
    folder.mkdir(parents=True, exist_ok=True)
    if not setting.reference:  # somebody may have said before how to import it
        known = read_settings(out).get(setting.name)
        if known is not None:
            setting = dataclasses.replace(setting, reference=known.reference)
    write_atomically(folder / "setting.json", json_bytes(setting.arrays()))


def read_settings(out: Path) -> dict[str, Setting]:
    """The settings of the experiments below `out`, by name; a damaged one is left out."""
    found: dict[str, Setting] = {}
    for path in sorted(out.glob("*/setting.json")):
        try:
            found[path.parent.name] = setting_from(read_json(path))
        except (ValueError, KeyError, TypeError):
            warnings.warn(f"{path} is damaged: figures go without it", stacklevel=2)
    return found


def read_spec(folder: Path) -> dict[str, Any]:
    """What was asked of the run in `folder`."""
    return read_json(folder / "spec.json")


def read_run(folder: Path) -> StoredRun:
    """The finished run in `folder`, or a ValueError that says which file is damaged."""
    result, content = _vouched(folder)
    final = read_npz(content["final.npz"])
    return StoredRun(
        read_spec(folder),
        [_with_nan(json.loads(line)) for line in content["metrics.jsonl"].splitlines()],
        _with_nan(result),
        _cpu_seconds(folder),
        load_policy(folder / "policy.npz") if "policy.npz" in content else None,
        final["contexts"],
        final.get("trajectories"),
    )


def finished_runs(out: Path) -> list[StoredRun]:
    """All finished runs below `out`, in order; a damaged one is left out, with a warning."""
    runs: list[StoredRun] = []
    for folder in run_folders(out):
        if (folder / "result.json").exists():
            try:
                runs.append(read_run(folder))
            except ValueError as error:
                warnings.warn(f"{error}; run it again to repair it", stacklevel=2)
    return runs


def _vouched(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The result in `folder` and the files it vouches for; a ValueError if one is damaged."""
    result = read_json(folder / "result.json")
    if not {"iterations", "metrics_bytes", "crc"} <= set(result):
        raise ValueError(f"{folder / 'result.json'} is damaged: it lacks numbers")
    content: dict[str, bytes] = {}
    for name, crc in result["crc"].items():
        path = folder / name
        content[name] = path.read_bytes() if path.exists() else b""
        if name == "metrics.jsonl":  # a continued run has more lines already
            content[name] = content[name][: result["metrics_bytes"]]
        if zlib.crc32(content[name]) != crc:
            raise ValueError(f"{path} is damaged: its checksum is not the one in result.json")
    return result, content


def _cpu_seconds(folder: Path) -> float:
    """CPU time of the run so far; nan if nobody knows."""
    try:
        return float(read_json(folder / "timing.json")["cpu_seconds"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return math.nan


def _with_nan(record: dict[str, Any]) -> dict[str, Any]:
    """JSON's null back to nan."""
    return {name: math.nan if value is None else value for name, value in record.items()}
