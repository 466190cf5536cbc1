"""Stored runs in a folder that MLflow reads: its file store (extra `mlflow`)."""

# MLflow's types are incomplete, and it is not among the packages that tests install:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false

import contextlib
import math
import os
from collections.abc import Generator, Iterator
from pathlib import Path

from selfpaced.experiments.value_sources import flat
from selfpaced.store.reading import StoredRun

ALLOWED = "MLFLOW_ALLOW_FILE_STORE"  # MLflow 3 opens a file store only where this is set
MOST_METRICS = 1000  # that MLflow takes at once


def write_mlflow(runs: list[StoredRun], out: Path) -> int:
    """Write every scalar metric and every field of the configurations below `out`.

    Every experiment is one of MLflow's, every run one of its runs. Runs of the same name that are
    already there are replaced. Return the number of runs.
    """
    from mlflow.entities import Metric, Param, ViewType
    from mlflow.tracking import MlflowClient

    with _file_store_allowed():
        client = MlflowClient(tracking_uri=out.absolute().as_uri())
        for run in runs:
            name = f"{run.algorithm} seed {run.seed}"
            known = client.get_experiment_by_name(run.experiment)
            place = known.experiment_id if known else client.create_experiment(run.experiment)
            for old in client.search_runs([place], run_view_type=ViewType.ACTIVE_ONLY):
                if old.info.run_name == name:
                    client.delete_run(old.info.run_id)
            made = client.create_run(place, start_time=0, run_name=name).info.run_id
            config = [Param(path, str(value)) for path, value in flat(run.spec.get("config", {}))]
            client.log_batch(made, params=[Param("seed", str(run.seed)), *config])
            metrics = [Metric(*found, 0, step) for found, step in _scalars(run)]
            for first in range(0, len(metrics), MOST_METRICS):
                client.log_batch(made, metrics=metrics[first : first + MOST_METRICS])
            client.set_terminated(made, end_time=0)
    return len(runs)


def _scalars(run: StoredRun) -> Iterator[tuple[tuple[str, float], int]]:
    """((name, value), iteration) of every finite number among the records of `run`."""
    for record in run.records:
        for name, value in record.items():
            if name != "iteration" and isinstance(value, int | float) and math.isfinite(value):
                yield (name, float(value)), record["iteration"]


@contextlib.contextmanager
def _file_store_allowed() -> Generator[None]:
    """Let MLflow open a file store, which it does not do by default since version 3."""
    before = os.environ.get(ALLOWED)
    os.environ[ALLOWED] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[ALLOWED]
        else:
            os.environ[ALLOWED] = before
