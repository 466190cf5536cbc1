"""What is read of a run as plain values: parsed, and checked for their types and shapes.

Checksums find what a disk has damaged. What somebody has written on purpose has right checksums,
so everything that tables and figures compute with is checked here as well.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, cast

from selfpaced.store.compatibility import upgraded_record
from selfpaced.store.files import json_object, json_objects
from selfpaced.types import AnyArray, Record

# Entries of a result that tables show, besides its iterations and those of `final_tasks`.
MEASURED = ("rollouts", "target_success", "target_reward", "success_at_mean", "reward_at_mean")
# What tables show of a record, and the line below them.
SHOWN = ("iteration", "target_success", "target_reward", "by_rewards")
ENTRY = re.compile(rb'"(?:%s)": [^,}]*' % "|".join(SHOWN).encode())  # one of them, with its value
CONTEXT_ROWS = ("context_sample", "context_refused")  # entries of a record that are contexts
INFINITE = {"inf": math.inf, "-inf": -math.inf}  # how JSON files hold what JSON cannot
PLAIN_KINDS = frozenset((float, int, list))  # types of values that need no translation
FLOAT: frozenset[type] = frozenset((float,))
LIST: frozenset[type] = frozenset((list,))
LARGEST_NUMBER = 2**63  # whole numbers are smaller than this


def parsed_records(lines: Sequence[bytes], for_health: bool = False) -> list[Record]:
    """The records in `lines` of metrics; an error of DAMAGE if a line is damaged.

    With `for_health` the others than the first, the last and those with a measurement are not
    even parsed; of a run that was never measured on the target, all are.
    """
    if for_health and any(b'"target_reward"' in line for line in lines):
        ends = (0, len(lines) - 1)
        lines = [line for k, line in enumerate(lines) if k in ends or b'"target_reward"' in line]
    return [parsed_record(line) for line in lines]


def measured_records(lines: Sequence[bytes]) -> list[Record]:
    """What tables and learning curves show of `lines` of metrics: the measurements."""
    # Only these entries are parsed, because tables of large stores spend most of their time here.
    measured = [b"{%s}" % b",".join(ENTRY.findall(line)) for line in lines if b'"target_' in line]
    return [checked_record(with_nan(record)) for record in json_objects(measured)]


def parsed_record(line: bytes) -> Record:
    """The record in one `line` of metrics; an error of DAMAGE if it is damaged."""
    return checked_record(upgraded_record(with_nan(json_object(line))))


def with_nan(record: dict[str, Any]) -> dict[str, Any]:
    """JSON's null as nan, and its words for infinity as infinity."""
    if PLAIN_KINDS.issuperset(map(type, record.values())):
        return record
    return {
        name: math.nan
        if value is None
        else INFINITE.get(value, value)
        if type(value) is str
        else value
        for name, value in record.items()
    }


def checked_record(record: Record) -> Record:
    """Return `record` if its values are numbers; raise a ValueError otherwise.

    What begins with "context" may be lists of numbers. The contexts' mean and covariance, and the
    rows of contexts, must have one number of dimensions.
    """
    iteration = record.get("iteration")
    if type(iteration) is not int or not 0 <= iteration < LARGEST_NUMBER:
        raise ValueError(f"iteration must be a whole number; got {iteration!r}")
    for name, value in record.items():
        if type(value) is float or is_number(value):
            continue
        if not (name.startswith("context") and _are_numbers(value)):
            raise ValueError(f"{name} of iteration {iteration} must be numbers; got {value!r}")
    if "context_mean" in record:
        d = _length(record, "context_mean")
        if list in map(type, record["context_mean"]):
            raise ValueError(f"context_mean of iteration {iteration} must be a list of numbers")
        if "context_covariance" in record and _length(record, "context_covariance") != d:
            raise ValueError(f"context_covariance of iteration {iteration} must be {d} by {d}")
        for name in ("context_covariance", *CONTEXT_ROWS):
            if not _has_rows(record.get(name, []), d):
                raise ValueError(f"{name} of iteration {iteration} must have rows of {d} numbers")
    return record


def _length(record: Record, name: str) -> int:
    if not isinstance(record[name], list):
        raise ValueError(f"{name} must be a list; got {record[name]!r}")
    return len(record[name])


def _has_rows(rows: Any, d: int) -> bool:
    return isinstance(rows, list) and all(
        isinstance(row, list)
        and len(cast(list[Any], row)) == d
        and list not in map(type, cast(list[Any], row))
        for row in cast(list[Any], rows)
    )


def _are_numbers(value: Any) -> bool:
    """True for lists, of lists, of numbers; unknown ones may be None."""
    if not isinstance(value, list):
        return False
    kinds = set(map(type, cast(list[Any], value)))
    if kinds <= FLOAT or (
        kinds <= LIST and all(FLOAT.issuperset(map(type, row)) for row in cast(list[Any], value))
    ):
        return True  # the usual cases, in few steps
    return all(
        item is None or is_number(item) or _are_numbers(item) for item in cast(list[Any], value)
    )


def is_number(value: Any) -> bool:
    """True for a number that a float can hold, nan and infinity among them."""
    if isinstance(value, int):
        return -LARGEST_NUMBER < value < LARGEST_NUMBER
    return isinstance(value, float)


def check_result(result: dict[str, Any]) -> None:
    """Raise a ValueError unless what tables take from `result` are numbers."""
    rescored = (name for name in result if name.startswith("rescored_"))
    for name in ("iterations", *MEASURED, *rescored):
        if not is_number(result.get(name, math.nan if name != "iterations" else None)):
            raise ValueError(f"{name} must be a number; got {result.get(name)!r}")


def check_dimension(records: Sequence[Record], spec: dict[str, Any]) -> None:
    """Raise a ValueError unless recorded contexts have as many dimensions as the `spec` says."""
    bounds = spec.get("problem", {}).get("contexts")
    low = cast(dict[str, Any], bounds).get("low") if isinstance(bounds, dict) else None
    if not isinstance(low, list):
        return  # nothing is said
    d = len(cast(list[Any], low))
    for record in records:
        if len(record.get("context_mean", low)) != d:
            raise ValueError(
                f"context_mean of iteration {record['iteration']} must have {d} entries"
            )


def check_arrays(contexts: AnyArray, trajectories: AnyArray | None) -> None:
    """Raise a ValueError unless final contexts (n, d) and trajectories (n, t, d) are numbers."""
    for name, array, ndim in (("contexts", contexts, 2), ("trajectories", trajectories, 3)):
        if array is not None and (array.ndim != ndim or array.dtype.kind not in "fiu"):
            raise ValueError(f"{name} must be numbers with {ndim} axes; got shape {array.shape}")
