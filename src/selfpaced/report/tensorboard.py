"""Stored runs as TensorBoard event files, one folder per run (extra `tensorboard`)."""

# TensorBoard ships no types:
# pyright: reportAttributeAccessIssue=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import math
from pathlib import Path

from selfpaced.names import checked_name
from selfpaced.store.reading import StoredRun


def write_events(runs: list[StoredRun], out: Path) -> int:
    """Write every scalar metric of `runs` over iterations below `out`; return their number.

    Event files that are already there are replaced.
    """
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    for run in runs:
        names = checked_name(run.experiment), checked_name(run.algorithm)
        folder = out.joinpath(*names, f"seed-{run.seed:03d}")
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()  # TensorBoard would join two files into one zigzag curve
        writer = EventFileWriter(str(folder))
        for record in run.records:
            values = [
                Summary.Value(tag=name, simple_value=float(value))
                for name, value in record.items()
                if name != "iteration" and isinstance(value, int | float) and not math.isnan(value)
            ]
            writer.add_event(
                Event(wall_time=0.0, step=record["iteration"], summary=Summary(value=values))
            )
        writer.close()
    return len(runs)
