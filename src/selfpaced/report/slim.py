"""SVG without what nobody can see: points and digits far below a pixel."""

import re

import numpy as np

from selfpaced.maths.arrays import Array

SEEN = 0.05  # as far from a line, in points of 1/72 inch, a point still counts as on it
PATH = re.compile(r'(<path[^<>]*? d=")([^"]*)"')
PLACE = re.compile(r'(<use[^<>]*? x=")([-\d.]+)(" y=")([-\d.]+)"')
# Comments, indents, and names of groups, which would be there once for every figure of a page.
BETWEEN = re.compile(r'<!--.*?-->|(?<=>)\s+(?=<)|(?<=<g) id="[^"]*"', re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")


def slim(svg: str) -> str:
    """`svg`, as Matplotlib writes it, with paths thinned and coordinates rounded."""
    svg = PATH.sub(lambda found: f'{found[1]}{_thinned(found[2])}"', svg)
    svg = PLACE.sub(lambda f: f'{f[1]}{_short(float(f[2]))}{f[3]}{_short(float(f[4]))}"', svg)
    return BETWEEN.sub("", svg)


def corners(points: Array, tolerance: float) -> Array:
    """Those of `points` (n, 2) without which the line through them would move by `tolerance`.

    Ramer, Douglas and Peucker: what is farthest from the chord stays, then each part again.
    """
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    parts = [(0, len(points) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        distances = _from_chord(points[first + 1 : last], points[first], points[last])
        farthest = int(distances.argmax())
        if distances[farthest] > tolerance:
            middle = first + 1 + farthest
            keep[middle] = True
            parts += [(first, middle), (middle, last)]
    return points[keep]


def _from_chord(points: Array, start: Array, end: Array) -> Array:
    """(n,): distances of `points` (n, 2) from the line that starts and ends there."""
    chord = end - start
    share = (points - start) @ chord / max(float(chord @ chord), 1e-300)
    nearest = start + np.clip(share, 0.0, 1.0)[:, None] * chord
    return np.hypot(*(points - nearest).T)


def _thinned(path: str) -> str:
    """The `d` of a path: lines with fewer points, curves with fewer digits."""
    if re.search(r"[^MLz\s\d.e-]", path):  # curves: markers, mostly
        return re.sub(r"\s+", " ", NUMBER.sub(lambda found: _short(float(found[0])), path)).strip()
    return "".join(_line(part) for part in path.split("M") if part.strip())


def _line(part: str) -> str:
    """A part of a path after its "M": a line through points, or a closed one."""
    closed = "z" in part
    numbers = part.replace("L", " ").replace("z", " ").split()
    points = corners(np.array(numbers, dtype=float).reshape(-1, 2), SEEN)
    text = "L".join(f"{_short(x)} {_short(y)}" for x, y in points.tolist())
    return f"M{text}{'z' if closed else ''}"


def _short(value: float) -> str:
    """Two digits after the point at most: a hundredth of a point is less than anybody sees."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
