"""A run's files: append-only metrics, atomic checkpoints, a result whose existence means done.

Layout of a run, `<out>/<experiment>/<algorithm>/seed-NNN/`:

    spec.json        what was asked: experiment, algorithm, its numbers, seed
    metrics.jsonl    one line per iteration
    checkpoint.npz   the training's state, while the run is unfinished
    policy.npz       the learned policy
    final.npz        ten trajectories on target contexts, where the task has any
    result.json      the last measurement and checksums of the files above
    timing.json      CPU time: the one file that differs between two equal runs

Nothing is pickled: loading a run cannot execute code.
"""

import dataclasses
import io
import json
import math
import os
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from selfpaced.maths.policy import LinearGaussianPolicy, load_policy
from selfpaced.training import Final, Record
from selfpaced.types import Algorithm, State, Training

CHECKPOINT_SECONDS = 2.0
FORMAT = 1


def spec_of(experiment: str, algorithm: str, numbers: Algorithm, seed: int) -> dict[str, Any]:
    """What identifies a run. Its length does not: asking for more iterations continues it."""
    return {
        "format": FORMAT,
        "experiment": experiment,
        "algorithm": algorithm,
        "numbers": plain(numbers),
        "seed": seed,
    }


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: dataclasses by name, arrays as lists, nan as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast(list[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)  # "inf", "-inf"
    return value


def differences(asked: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Each place where two specs differ, in words."""
    if isinstance(asked, dict) and isinstance(stored, dict):
        a, s = cast(dict[str, Any], asked), cast(dict[str, Any], stored)
        for key in sorted({*a, *s}):
            yield from differences(a.get(key), s.get(key), f"{path}.{key}" if path else key)
    elif asked != stored:
        yield f"{path} is {stored!r} there and {asked!r} here"


class RunFiles:
    """One run on disk: a recorder for the loop, and the way back from a crash."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        """Open the run in `folder`, new or old. An old one with another spec is an error."""
        self.folder = folder
        self.problems: list[str] = []  # damage that was noticed
        self._spec = spec
        self._lines = 0
        self._metrics: BinaryIO | None = None
        self._crc = 0
        self._last_checkpoint = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "spec.json"
        if path.exists():
            found = list(differences(spec, _read_json(path)))
            if found:
                raise ValueError(
                    f"{folder} holds a run with another spec: {'; '.join(found)}. "
                    "Choose another --out, or remove that folder"
                )
        else:
            _write_atomically(path, _json_bytes(spec))

    @property
    def next_iteration(self) -> int:
        return self._lines + 1

    def begin(self, training: Training) -> None:
        """Put `training` back to the last sound checkpoint, if there is one."""
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
            else:
                self.problems.append("metrics.jsonl is damaged: the run starts again")
        _write_atomically(path, kept)  # drops a torn line, and lines newer than the checkpoint
        self._metrics, self._crc = path.open("ab"), zlib.crc32(kept)

    def record(self, record: Record) -> None:
        line = _json_bytes(record) + b"\n"
        assert self._metrics is not None, "begin() comes first"
        self._metrics.write(line)
        self._metrics.flush()
        self._crc = zlib.crc32(line, self._crc)
        self._lines += 1

    def checkpoint_if_due(self, iteration: int, training: Training) -> None:
        if time.monotonic() - self._last_checkpoint >= CHECKPOINT_SECONDS:
            self.checkpoint(training)

    def checkpoint(self, training: Training) -> None:
        """Save `training` as it is after the last recorded iteration."""
        assert self._metrics is not None, "begin() comes first"
        os.fsync(self._metrics.fileno())
        state = {
            **training.state(),
            "store.bytes": np.array(self._metrics.tell()),
            "store.crc": np.array(self._crc),
            "store.lines": np.array(self._lines),
        }
        _write_atomically(self.folder / "checkpoint.npz", _npz_bytes(state))
        self._last_checkpoint = time.monotonic()

    def finish(self, training: Training, final: Final, cpu_seconds: float) -> None:
        """Write what is left of the run; `result.json` last, for it means done."""
        assert self._metrics is not None, "begin() comes first"
        self.checkpoint(training)  # so that more iterations can be asked for later
        training.policy.save(self.folder / "policy.npz")
        arrays: State = {"contexts": final.contexts}
        if final.trajectories is not None:
            arrays["trajectories"] = final.trajectories
        _write_atomically(self.folder / "final.npz", _npz_bytes(arrays))
        _write_atomically(self.folder / "timing.json", _json_bytes({"cpu_seconds": cpu_seconds}))
        result = {
            "iterations": self._lines,
            "rollouts": training.spent.rollouts,
            "steps": training.spent.steps,
            "target_success": float(final.outcomes.successes.mean()),
            "target_reward": float(final.outcomes.rewards.mean()),
            "metrics_crc": self._crc,
        }
        _write_atomically(self.folder / "result.json", _json_bytes(result))

    def close(self) -> None:
        if self._metrics is not None:
            self._metrics.close()
            self._metrics = None

    def _load_checkpoint(self) -> State | None:
        path = self.folder / "checkpoint.npz"
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                return dict(file)
        except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError) as error:
            self.problems.append(f"checkpoint.npz is damaged ({error}): the run starts again")
            return None


@dataclasses.dataclass(frozen=True)
class StoredRun:
    """A finished run, read back."""

    experiment: str
    algorithm: str
    seed: int
    spec: dict[str, Any]
    records: list[Record]
    result: dict[str, Any]
    cpu_seconds: float
    folder: Path

    @property
    def policy(self) -> LinearGaussianPolicy:
        return load_policy(self.folder / "policy.npz")


def run_folder(out: Path, experiment: str, algorithm: str, seed: int) -> Path:
    """Where the files of one run live."""
    return out / experiment / algorithm / f"seed-{seed:03d}"


def finished_iterations(folder: Path) -> int:
    """Iterations of the finished run in `folder`; 0 if there is none."""
    path = folder / "result.json"
    return int(_read_json(path)["iterations"]) if path.exists() else 0


def read_run(folder: Path) -> StoredRun:
    """The finished run in `folder`, or a ValueError that says what is damaged."""
    spec, result = _read_json(folder / "spec.json"), _read_json(folder / "result.json")
    lines = (folder / "metrics.jsonl").read_bytes()
    if zlib.crc32(lines) != result["metrics_crc"]:
        raise ValueError(f"{folder / 'metrics.jsonl'} is damaged: its checksum does not match")
    records = [
        {name: math.nan if value is None else value for name, value in json.loads(line).items()}
        for line in lines.splitlines()
    ]
    timing = _read_json(folder / "timing.json")
    return StoredRun(
        spec["experiment"],
        spec["algorithm"],
        spec["seed"],
        spec,
        records,
        {name: math.nan if value is None else value for name, value in result.items()},
        timing["cpu_seconds"],
        folder,
    )


def finished_runs(out: Path) -> list[StoredRun]:
    """All finished runs below `out`, in order of experiment, algorithm and seed."""
    return [read_run(path.parent) for path in sorted(out.glob("*/*/seed-*/result.json"))]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _json_bytes(value: Any) -> bytes:
    return json.dumps(plain(value), allow_nan=False).encode()


def _npz_bytes(arrays: State) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _write_atomically(path: Path, content: bytes) -> None:
    """Write all of `content` or nothing: temporary file, fsync, rename."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
