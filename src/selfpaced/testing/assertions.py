"""How a check states a rule: conditions with a sentence, errors that must come or must not come."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from selfpaced.types import Outcomes


def require(holds: object, sentence: str) -> None:
    """Raise an AssertionError that says `sentence` unless `holds` is true."""
    if not holds:
        raise AssertionError(sentence)


@contextmanager
def must_work(call: str) -> Generator[None, None, None]:
    """Turn any error of the block into an AssertionError that names the `call` it came from."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:  # the error of the code under test, which the AssertionError quotes
        raise AssertionError(f"{call} must work; it raised {error!r}") from error


def must_refuse(call: str, names: tuple[str, ...], function: Callable[[], object]) -> None:
    """Require that `function` raises a ValueError whose text holds one of `names`."""
    named = " or ".join(names)
    try:
        function()
    except ValueError as error:
        require(
            any(name in str(error) for name in names),
            f"{call} must raise a ValueError that names {named}; it says {str(error)!r}",
        )
    except Exception as error:  # the error of the code under test, which the AssertionError quotes
        raise AssertionError(
            f"{call} must raise a ValueError that names {named}; it raised {error!r}"
        ) from error
    else:
        raise AssertionError(f"{call} must raise a ValueError that names {named}; it was accepted")


def require_methods(who: str, part: object, *names: str) -> None:
    """Require that `part` is an object, not a class, with all these methods."""
    if isinstance(part, type):
        raise AssertionError(f"{who} must be an object; got the class {part.__name__}")
    missing = [name for name in names if not callable(getattr(part, name, None))]
    require(not missing, f"{who} must have the methods {', '.join(names)}; {missing} are missing")


def is_array(value: Any) -> bool:
    """True of NumPy's arrays."""
    return isinstance(value, np.ndarray)


def require_floats(what: str, array: Any, shape: tuple[int, ...]) -> None:
    """Require a NumPy array of floats of this `shape`."""
    if not is_array(array):
        raise AssertionError(f"{what} must be a NumPy array; got {array!r}")
    require(array.dtype.kind == "f", f"{what} must be floats; got the type {array.dtype}")
    require(array.shape == shape, f"{what} must have the shape {shape}; got {array.shape}")


def require_finite(what: str, array: Any) -> None:
    """Require that no value is nan or infinite."""
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        place = tuple(bad[0].tolist())
        raise AssertionError(f"{what} must be finite; got {array[place]} at index {place}")


def require_outcomes(what: str, outcomes: Any, n: int) -> None:
    """Require the outcomes of n rollouts: finite rewards, successes from 0 to 1 or nan."""
    if not isinstance(outcomes, Outcomes):
        raise AssertionError(f"{what} must return Outcomes; got {outcomes!r}")
    require_floats(f"rewards of {what}", outcomes.rewards, (n,))
    require_finite(f"rewards of {what}", outcomes.rewards)
    require_floats(f"successes of {what}", outcomes.successes, (n,))
    known = outcomes.successes[~np.isnan(outcomes.successes)]
    outside = known[(known < 0.0) | (known > 1.0)]
    if outside.size:
        raise AssertionError(f"successes of {what} must be from 0 to 1, or nan; got {outside[0]}")


def require_trajectories(what: str, paths: Any, n: int) -> None:
    """Require finite trajectories (n, t, d), one per rollout."""
    shape = getattr(paths, "shape", ())
    good = is_array(paths) and len(shape) == 3 and shape[0] == n
    require(good, f"{what} must be an array ({n}, t, d), one row per rollout; got shape {shape}")
    require_finite(what, paths)


def require_unchanged(what: str, **pairs: tuple[Any, Any]) -> None:
    """Require that each argument, given by its name as (before, after), was not edited."""
    for name, (before, after) in pairs.items():
        changed = np.argwhere(np.asarray(before != after))
        if changed.size:
            place = tuple(changed[0].tolist())
            raise AssertionError(
                f"{what} must not edit its argument {name}; "
                f"at index {place} it wrote {after[place]} over {before[place]}"
            )
