"""Films (extra `video`) and filmstrips from pictures."""

# imageio-ffmpeg and Matplotlib are partly untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.maths.arrays import Array

Frames = Iterator[NDArray[np.uint8]]
"""Pictures (h, w, 3) of a film, one after the other."""
FRAMES_PER_SECOND = 25
STRIP = 8  # pictures of a filmstrip


def drawn_frames(task: Any, context: Array, path: Array) -> Frames:
    """Pictures of a growing `path` (t, 2), by the `draw` of a task without a `film` of its own."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(6.4, 4.8), dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for end in range(1, len(path) + 1):
        axes.clear()
        task.draw(context, path[None, :end], axes)
        canvas.draw()
        figure.set_layout_engine("none")  # the axes stay where the first picture has them
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def write_film(frames: Frames, path: Path) -> int:
    """Write `frames` as an mp4 to `path`, with a filmstrip beside it (PNG); return their number.

    A missing folder is made. Raise a ValueError if there is no frame.
    """
    import imageio_ffmpeg
    import matplotlib.image

    small: list[NDArray[np.uint8]] = []
    film: Any = None
    try:
        for frame in frames:
            if film is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.open("ab").close()  # an error here names the path; ffmpeg would only fail
                height, width = frame.shape[:2]
                film = imageio_ffmpeg.write_frames(
                    str(path), (width, height), fps=FRAMES_PER_SECOND, ffmpeg_log_level="error"
                )
                film.send(None)  # starts ffmpeg
            film.send(np.ascontiguousarray(frame))
            small.append(_halved(frame))
    finally:
        if film is not None:
            film.close()
    if not small:
        raise ValueError("a film must have at least one frame; got none")
    shown: list[int] = np.linspace(0, len(small) - 1, STRIP).round().astype(int).tolist()
    matplotlib.image.imsave(path.with_suffix(".png"), np.hstack([small[k] for k in shown]))
    return len(small)


def _halved(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """`frame` with half the width and height, averaged, so that thin lines do not vanish."""
    height, width = (size // 2 * 2 for size in frame.shape[:2])
    blocks = frame[:height, :width].reshape(height // 2, 2, width // 2, 2, 3)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)
