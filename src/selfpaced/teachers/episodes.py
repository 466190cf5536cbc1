"""Episodes as teachers see them: what each was worth, and a memory of the most recent ones."""

from typing import Literal

import numpy as np

from selfpaced.maths.arrays import Array, check_number
from selfpaced.types import State

JudgedBy = Literal["success", "reward"]
"""What an episode's value is: "success" (0 or 1) or "reward" (its return)."""


def episode_values(
    judged_by: JudgedBy, rewards: Array, successes: Array, teacher: str, option: str = ""
) -> Array:
    """(n,): the value of each episode; raise a ValueError if one is not finite.

    The message names the `option` by which `teacher` judges by returns instead, if there is one.
    """
    values = np.asarray(successes if judged_by == "success" else rewards, dtype=float)
    unknown = ~np.isfinite(values)
    if unknown.any():
        raise ValueError(
            f"{'successes' if judged_by == 'success' else 'rewards'} must be numbers for "
            f"{teacher}, which judges by {judged_by}; got {values[unknown][0]} in "
            f"{unknown.sum()} of {len(values)} rows"
            + (f". {how_to_succeed(option)}" if judged_by == "success" else "")
        )
    return values


def how_to_succeed(option: str) -> str:
    """A sentence that says what to write if there are no successes."""
    instead = f", or judge by the return: {option}" if option else ""
    return (
        'Say what a success is: success="terminated", a bound on the return, or a function, of '
        f"ContextualEnv or CurriculumVectorEnv; the successes of your own task or loop{instead}"
    )


def resolved_threshold(judged_by: JudgedBy, threshold: float | None) -> float | None:
    """`threshold`, or what None stands for: 0.5 of successes; of returns, one that is found."""
    if threshold is not None:
        return check_number("threshold", threshold)
    return 0.5 if judged_by == "success" else None


def check_judged_by(judged_by: str, *more: str) -> None:
    """Raise a ValueError unless `judged_by` is "success" or "reward", or one `more`."""
    if judged_by not in ("success", "reward", *more):
        known = " or ".join(repr(name) for name in ("success", "reward", *more))
        raise ValueError(f"judged_by must be {known}; got {judged_by!r}")


class RecentEpisodes:
    """The last `size` episodes, oldest first: their contexts and values."""

    def __init__(self, size: int, dimension: int) -> None:
        self._size = size
        self.contexts = np.zeros((0, dimension))
        self.values = np.zeros(0)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"RecentEpisodes({len(self)} of at most {self._size})"

    def add(self, contexts: Array, values: Array) -> None:
        """Add episodes by their `contexts` (n, d) and `values` (n,); the oldest ones leave."""
        self.contexts = np.concatenate([self.contexts, contexts])[-self._size :]
        self.values = np.concatenate([self.values, values])[-self._size :]

    def state(self) -> State:
        """The episodes as plain arrays."""
        return {"contexts": self.contexts, "values": self.values}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self.contexts, self.values = np.array(state["contexts"]), np.array(state["values"])
