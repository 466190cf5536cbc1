"""What counts as a success: an entry of `info`, the episode's end or return, or a function."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from selfpaced.deep.framework_arrays import as_numpy
from selfpaced.maths.arrays import Array, BoolArray, IntArray, check_number

SuccessRule = str | float | Callable[[Mapping[str, Any]], Any] | None
"""How success is found.

A text: the entry of `info` with this name says it at the end of an episode; "terminated": an
episode has succeeded if it ended by itself and not by a time limit. A number: it has succeeded if
its return is at least this. A function of `info`, which also has the entries "episode_return" and
"terminated". None: nobody says what a success is.
"""


def checked_rule(success: Any) -> SuccessRule:
    """`success`; raise a ValueError unless it is a rule."""
    if success is None or isinstance(success, str) or callable(success):
        return success
    try:
        return check_number("success", success)
    except ValueError:
        raise ValueError(
            "success must be the name of an entry of info, 'terminated', a bound on the return, a "
            f"function of info, or None; got {success!r}"
        ) from None


def success_of(
    rule: SuccessRule, info: Mapping[str, Any], episode_return: float, terminated: bool
) -> float:
    """1 for success, 0 for failure, nan if the `rule` does not find out."""
    if rule is None:
        return np.nan
    if callable(rule):
        seen = {**info, "episode_return": episode_return, "terminated": bool(terminated)}
        return float(rule(seen))
    if not isinstance(rule, str):
        return float(episode_return >= rule)
    if rule == "terminated":
        return float(terminated)
    found = info.get(rule)
    return np.nan if found is None else float(found)


def successes_of(
    rule: SuccessRule,
    infos: Mapping[str, Any],
    rows: IntArray,
    returns: Array,
    terminated: BoolArray,
) -> Array:
    """(k,): the successes of the episodes that ended in the environments `rows` (k,).

    `infos`: of a vector environment, with arrays (n,). `returns` (k,). `terminated` (n,).
    """
    if rule is None:
        return np.full(len(rows), np.nan)
    if callable(rule):
        everyone = np.zeros(len(terminated))
        everyone[rows] = returns
        seen = {**infos, "episode_return": everyone, "terminated": terminated}
        return as_numpy(rule(seen)).astype(float)[rows]
    if not isinstance(rule, str):
        return (returns >= rule).astype(float)
    if rule == "terminated":
        return terminated[rows].astype(float)
    return column_of(infos, rule, rows, np.full(len(rows), np.nan))


def column_of(infos: Mapping[str, Any], name: str, rows: IntArray, otherwise: Array) -> Array:
    """An entry of a vector environment's `infos` in `rows` (k,); `otherwise` where it is missing.

    Gymnasium marks the environments that have an entry by a mask with an underscore.
    """
    if name not in infos:
        return otherwise
    values = as_numpy(infos[name])[rows].astype(float)
    mask = infos.get(f"_{name}")
    if mask is None:
        return values
    known = as_numpy(mask)[rows]
    return np.where(known.reshape(-1, *[1] * (values.ndim - 1)), values, otherwise)
