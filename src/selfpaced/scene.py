"""What figures of an experiment need physics for, computed once: pictures of tasks, landscapes."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.experiments import Experiment
from selfpaced.extras import check_installed
from selfpaced.files import read_npz, write_atomically
from selfpaced.maths.arrays import Array
from selfpaced.tasks import offscreen
from selfpaced.types import Problem, State

SUFFIX = ".scene"
PLACES = ((0.2, 0.2), (0.85, 0.4))  # of the box, beside the target's mean; repeated over dimensions


def make_scene(experiment: Experiment) -> State:
    """Sample tasks and, where the task has one, its landscape, as plain arrays."""
    offscreen.prepare()
    problem = experiment.problem()
    check_installed(problem.task)
    task: Any = problem.task
    contexts = _contexts(problem)
    scene: State = {"contexts": contexts}
    if hasattr(task, "picture"):
        scene["pictures"] = np.array([task.picture(context) for context in contexts])
    if hasattr(task, "landscape"):
        scene |= {f"landscape.{name}": value for name, value in task.landscape().items()}
    return scene


def _contexts(problem: Problem) -> Array:
    box = problem.task.context_space
    shares = [np.resize(place, box.dimension) for place in PLACES]
    return np.array([*(box.low + share * box.width for share in shares), problem.target.mean])


def write_scene(scene: State, path: Path) -> None:
    """Write `scene` as one compressed file of plain arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **scene)
    write_atomically(path, buffer.getvalue())


def read_scene(path: Path) -> State:
    """The scene in a file; a ValueError if it is damaged."""
    try:
        return read_npz(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is no scene: {error}") from error
