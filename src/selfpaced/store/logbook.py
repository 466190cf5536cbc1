"""Keeps the curriculum of a training script of your own in the same files as other runs."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.names import checked_context_names
from selfpaced.spaces.space import checked_space
from selfpaced.store.experiment_info import (
    ExperimentInfo,
    evenly,
    infeasible_in,
    numbered_contexts,
    write_info,
)
from selfpaced.store.files import FORMAT, plain
from selfpaced.store.reading import StoredRun, recorded
from selfpaced.store.spec import run_folder
from selfpaced.store.versions import versions
from selfpaced.store.writing import RunWriter
from selfpaced.targets.stored import storable
from selfpaced.targets.target import Target, central_context, checked_target
from selfpaced.types import Record, TeacherConfig


class Logbook:
    """Records the curriculum of your own training for `selfpaced status`, `table` and `report`.

    Open it with `with Logbook("runs", "mine", "currot", context_space=box, target=target) as book:`
    around the training, pass it to `CurriculumCallback(teacher, record=book)`, and call
    `book.finish(success=...)` at the end.

    A training that continues from a saved state continues its logbook: records that were written
    after that state are replaced. The curriculum and the result are stored, the policy is not.
    """

    def __init__(
        self,
        out: Path | str,
        experiment: str,
        algorithm: str,
        seed: int = 0,
        *,
        context_space: Box,
        target: Target,
        teacher: TeacherConfig | None = None,
        context_names: Sequence[str] | None = None,
    ) -> None:
        """Open the logbook of one run below the folder `out`, new or old.

        `experiment` and `algorithm` are names of your choice; `teacher` is the configuration that
        the report shall show. Raise `Locked` if another process has the run open.
        """
        context_space = checked_space(context_space)
        checked_target(target, context_space)
        self._spec: dict[str, Any] = {
            "format": FORMAT,
            "experiment": experiment,
            "algorithm": algorithm,
            "config": {} if teacher is None else {"teacher": plain(teacher)},
            "problem": {
                "contexts": plain(context_space),
                "target": plain(storable(target, context_space)),
            },
            "seed": seed,
        }
        self._out, self._space, self._target = Path(out), context_space, target
        names = checked_context_names(context_names, context_space.dimension)
        self._names = names or numbered_contexts(context_space.dimension)
        folder = run_folder(self._out, experiment, algorithm, seed)
        self._files = RunWriter(folder, self._spec)
        self._records: list[Record] = recorded(folder)
        try:
            self._files.keep_records(self._records)  # drops a line that a crash has cut short
        except BaseException:
            self._files.close()
            raise

    def __repr__(self) -> str:
        return f"Logbook({self._files.folder}, {len(self._records)} records)"

    def __call__(self, record: Record) -> None:
        """Write down `record`; records with the same or a later "iteration" are dropped.

        Where contexts and target are Gaussian, their KL is written down, too: by it health tells
        contexts that stay away from the target. A crash of the program loses nothing, a loss of
        power at most the last two seconds.
        """
        record = self._with_distance(record)
        if self._records and self._records[-1]["iteration"] >= record["iteration"]:
            earlier = [r for r in self._records if r["iteration"] < record["iteration"]]
            self._files.keep_records(earlier)
            self._records = earlier
        self._files.record(record)
        self._records.append(record)
        self._files.sync_if_due()

    def _with_distance(self, record: Record) -> Record:
        """`record` with the KL of its contexts to the target, if both are Gaussian."""
        known = record.keys()
        # A "context_sample" goes with contexts of another distribution, or of none.
        if {"kl_to_target", "context_sample"} & known or "context_covariance" not in known:
            return record
        if not isinstance(self._target, Gaussian):
            return record
        try:
            contexts = Gaussian(record["context_mean"], record["context_covariance"])
        except ValueError:  # a record of your own may hold any matrix, which is written as it is
            return record
        return {**record, "kl_to_target": contexts.kl(self._target)}

    def finish(self, *, success: float = np.nan, reward: float = np.nan) -> None:
        """End the run, with its success rate and mean reward on the target if you know them."""
        if not self._records:
            raise ValueError("a logbook must hold at least one record to be finished; got none")
        length = int(self._records[-1]["iteration"])
        name = str(self._spec["experiment"])
        write_info(
            self._out,
            ExperimentInfo(
                name=name,
                title=name,
                reference="",
                iterations=length,
                evolution=evenly(length),
                context_names=self._names,
                low=self._space.low,
                high=self._space.high,
                target=self._target,
                space=None if type(self._space) is Box else self._space,
                infeasible=infeasible_in(self._space),
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
        self._files.write_finished(
            StoredRun(
                spec=self._spec,
                records=self._records,
                result=result,
                cpu_seconds=np.nan,
                policy=None,
                contexts=central_context(self._target, self._space)[None],
                trajectories=None,
            )
        )

    def close(self) -> None:
        """Release the folder, so that another process can open the run."""
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
