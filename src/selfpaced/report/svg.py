"""Smaller SVG files, without points and digits that are too fine to be seen."""

import re

import numpy as np

from selfpaced.maths.arrays import Array

SEEN = 0.05  # distance from a line, in points of 1/72 inch, up to which a point counts as on it
PATH = re.compile(r'(<path[^<>]*? d=")([^"]*)"')
PLACE = re.compile(r'(<use[^<>]*? x=")([-\d.]+)(" y=")([-\d.]+)"')
# Comments, indents, and ids of groups, which would repeat themselves with every figure of a page.
BETWEEN = re.compile(r'<!--.*?-->|(?<=>)\s+(?=<)|(?<=<g) id="[^"]*"', re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")


def minified_svg(svg: str) -> str:
    """`svg`, as Matplotlib writes it, with paths thinned and coordinates rounded."""
    svg = PATH.sub(lambda found: f'{found[1]}{_thinned(found[2])}"', svg)
    svg = PLACE.sub(lambda f: f'{f[1]}{_short(float(f[2]))}{f[3]}{_short(float(f[4]))}"', svg)
    return BETWEEN.sub("", svg)


def corners(points: Array, tolerance: float) -> Array:
    """Some of `points` (n, 2): the line through them passes all others within `tolerance`.

    The algorithm of Ramer, Douglas and Peucker: the point farthest from the chord stays if it is
    farther than `tolerance`, and both parts are treated in the same way.
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
    """(n,): distances of `points` (n, 2) from the straight line between `start` and `end`."""
    chord = end - start
    share = (points - start) @ chord / max(float(chord @ chord), 1e-300)
    nearest = start + np.clip(share, 0.0, 1.0)[:, None] * chord
    return np.hypot(*(points - nearest).T)


def _thinned(path: str) -> str:
    """The attribute `d` of a path: lines with fewer points, curves with fewer digits."""
    if re.search(r"[^MLz\s\d.e-]", path):  # curves: markers, mostly
        return re.sub(r"\s+", " ", NUMBER.sub(lambda found: _short(float(found[0])), path)).strip()
    return "".join(_line(part) for part in path.split("M") if part.strip())


def _line(part: str) -> str:
    """The part of a path after an "M", a line that may be closed, with fewer points and digits."""
    closed = "z" in part
    numbers = part.replace("L", " ").replace("z", " ").split()
    points = corners(np.array(numbers, dtype=float).reshape(-1, 2), SEEN)
    text = "L".join(f"{_short(x)} {_short(y)}" for x, y in points.tolist())
    return f"M{text}{'z' if closed else ''}"


def _short(value: float) -> str:
    """At most two digits after the decimal point: a hundredth of 1/72 inch cannot be seen."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
