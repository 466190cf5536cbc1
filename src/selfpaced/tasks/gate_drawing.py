"""The picture of a wall with a gate and of paths through it, which both point masses share."""

from typing import Any

from selfpaced.maths.arrays import Array


def draw_gate(
    context: Array, trajectories: Array, axes: Any, start: Array, goal: Array, arena: float
) -> None:
    """Draw a wall on y = 0 with the gate of `context`, and trajectories (k, t, 2) through it."""
    x, width = context[:2]
    for left, right in ((-arena, x - width / 2), (x + width / 2, arena)):
        axes.plot([left, right], [0, 0], color="0.25", linewidth=4, solid_capstyle="butt")
    for path in trajectories:
        axes.plot(path[:, 0], path[:, 1], linewidth=1.2, alpha=0.8)
    axes.plot(*start, "o", color="0.25", markersize=5)
    axes.plot(*goal, "x", color="crimson", markersize=8)
    axes.set(xlim=(-arena, arena), ylim=(-arena, arena), aspect="equal")
