"""A training of your own, such as a Stable-Baselines3 script, in a store."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from selfpaced.experiments.setting import Setting, evenly
from selfpaced.files import json_bytes, plain, write_atomically
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.store import (
    FORMAT,
    RunFiles,
    StoredRun,
    recorded,
    run_folder,
    versions,
    write_setting,
)
from selfpaced.training import Record
from selfpaced.types import TeacherNumbers


class Logbook:
    """Writes down where a curriculum is, for `selfpaced status`, `table` and `report`.

    Pass it to `CurriculumCallback(record=...)`, and say how it ended with `finish`. A training that
    goes on from a saved state goes on in its logbook: what was written after that state is dropped.
    The store has the run's curriculum and its result, not its policy.
    """

    def __init__(
        self,
        out: Path | str,
        experiment: str,
        algorithm: str,
        seed: int = 0,
        *,
        context_space: Box,
        target: Gaussian,
        teacher: TeacherNumbers | None = None,
        context_names: tuple[str, ...] | None = None,
    ) -> None:
        self._spec: dict[str, Any] = {
            "format": FORMAT,
            "experiment": experiment,
            "algorithm": algorithm,
            "numbers": {} if teacher is None else {"teacher": plain(teacher)},
            "problem": {"contexts": plain(context_space), "target": plain(target)},
            "seed": seed,
        }
        self._out, self._space, self._target = Path(out), context_space, target
        self._names = context_names
        folder = run_folder(self._out, experiment, algorithm, seed)
        self._records: list[Record] = recorded(folder)
        self._files = RunFiles(folder, self._spec)

    def __call__(self, record: Record) -> None:
        """Write down a record; its "iteration" is its place."""
        before = [known for known in self._records if known["iteration"] < record["iteration"]]
        self._records = [*before, record]
        lines = b"".join(json_bytes(known) + b"\n" for known in self._records)
        write_atomically(self._files.folder / "metrics.jsonl", lines)

    def finish(self, *, success: float = np.nan, reward: float = np.nan) -> None:
        """The training is over; how it did on the target, if you have measured it."""
        if not self._records:
            raise ValueError("a logbook must hold at least one record to be finished; got none")
        length = int(self._records[-1]["iteration"])
        names = self._names or tuple(f"context {i + 1}" for i in range(self._space.dimension))
        name = str(self._spec["experiment"])
        write_setting(
            self._out,
            Setting(
                *(name, name, "", length, evenly(length), names),
                self._space.low,
                self._space.high,
                self._target,
            ),
        )
        result = {
            "iterations": length,
            "rollouts": int(self._records[-1].get("rollouts", 0)),
            "steps": 0,
            "target_success": success,
            "target_reward": reward,
            "success_at_mean": np.nan,
            "reward_at_mean": np.nan,
            "versions": versions(),
        }
        contexts = self._target.mean[None]
        run = StoredRun(self._spec, self._records, result, np.nan, None, contexts, None)
        self._files.write_finished(run)

    def close(self) -> None:
        """Let go of the folder."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
