"""When a teacher's contexts go back because success is lost, and where to.

Teachers judge an update by the mean value v of its episodes. With the threshold V from which
contexts count as mastered, and the lowest value v_min so far (0 where values are successes):

    v >= V                        mastered: the contexts are added to the trail
    v < v_min + (V - v_min) / 2   lost: the contexts go back along the trail (`maths/trail.py`)

A teacher without a threshold takes the middle between v_min and the highest value so far for V.
"""

from typing import Literal

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.trail import Trail
from selfpaced.teachers.episodes import JudgedBy
from selfpaced.types import State, part_of, prefixed

Beginning = Literal["beginning"]


class Retreat:
    """The way back of one teacher."""

    def __init__(self, judged_by: JudgedBy) -> None:
        self._trail = Trail()
        self._lowest = 0.0 if judged_by == "success" else np.inf
        self._highest = -np.inf
        self._mastered = False  # True once contexts were mastered since the beginning

    def __repr__(self) -> str:
        return f"Retreat({self._trail!r}, values from {self._lowest:.3g} to {self._highest:.3g})"

    def back_to(
        self, value: float, threshold: float | None, *contexts: Array
    ) -> tuple[Array, ...] | Beginning | None:
        """Where to go from the present `contexts`, whose mean value is `value`.

        None: nowhere, success is not lost. Otherwise earlier contexts, as they were given here, or
        "beginning" if none are left.
        """
        self._lowest, self._highest = min(self._lowest, value), max(self._highest, value)
        if threshold is None:
            threshold = (self._lowest + self._highest) / 2
        if value >= threshold:
            self._trail.add(*contexts)
            self._mastered = True
        if not self._mastered or value >= (self._lowest + threshold) / 2:
            return None
        found = self._trail.back()
        self._mastered = found is not None
        return "beginning" if found is None else found

    def state(self) -> State:
        """Everything that later steps back depend on, as plain arrays."""
        levels = np.array([self._lowest, self._highest, self._mastered], dtype=float)
        return prefixed("retreat.", {"levels": levels, **self._trail.state()})

    def restore(self, state: State) -> None:
        """Continue from a `state`, which may hold other arrays besides."""
        own = part_of(state, "retreat.")
        self._lowest, self._highest = (float(level) for level in own["levels"][:2])
        self._mastered = bool(own["levels"][2])
        self._trail.restore(own)
