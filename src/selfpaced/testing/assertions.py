"""How a check states a rule: conditions with a sentence, errors that must come or must not come."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from reprlib import repr as shortened
from typing import Any, cast

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
    except Exception as error:  # the error of the code under test, which the AssertionError quotes
        raise AssertionError(f"{call} must work; it raised {error!r}") from error


def must_raise(call: str, function: Callable[[], object], hint: str) -> None:
    """Require that `function` raises an exception, whichever; `hint` says how it could."""
    try:
        function()
    except Exception:  # the code under test may raise whatever it likes
        return
    raise AssertionError(f"{call} must raise an error; it was accepted ({hint})")


def must_refuse(
    call: str, names: tuple[str, ...], function: Callable[[], object], hint: str
) -> None:
    """Require a ValueError of `function` whose text holds one of `names`; `hint` says how."""
    rule = f"{call} must raise a ValueError that names {' or '.join(names)}"
    try:
        function()
    except ValueError as error:
        named = any(name in str(error) for name in names)
        require(named, f"{rule}; it says {str(error)!r} ({hint})")
    except Exception as error:  # the error of the code under test, which the AssertionError quotes
        raise AssertionError(f"{rule}; it raised {error!r} ({hint})") from error
    else:
        raise AssertionError(f"{rule}; it was accepted ({hint})")


def require_methods(role: str, part: object, *names: str) -> None:
    """Require that `part`, which serves as a `role`, is an object with all these methods."""
    if isinstance(part, type):
        raise AssertionError(
            f"the {role} must be an object; got the class {part.__name__} itself, "
            "which must be called first"
        )
    missing = [name for name in names if not callable(getattr(part, name, None))]
    noun = "method" if len(names) == 1 else "methods"
    require(
        not missing,
        f"the {role} {type(part).__name__} must have the {noun} {', '.join(names)}; "
        f"it lacks {', '.join(missing)}",
    )


def is_pair(value: Any) -> bool:
    """True of tuples and lists of two entries."""
    return isinstance(value, tuple | list) and len(cast(list[Any], value)) == 2


def is_array(value: Any) -> bool:
    """True of NumPy's arrays."""
    return isinstance(value, np.ndarray)


def require_floats(what: str, array: Any, shape: tuple[int, ...]) -> None:
    """Require a NumPy array of floats of this `shape`."""
    if not is_array(array):
        raise AssertionError(f"{what} must be a NumPy array; got {shortened(array)}")
    kind = array.dtype.kind
    require(kind == "f", f"{what} must be an array of floats; got the type {array.dtype}")
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
        raise AssertionError(
            f"{what} must return selfpaced.Outcomes(rewards, successes); "
            f"got the type {type(outcomes).__name__}: {shortened(outcomes)}"
        )
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
