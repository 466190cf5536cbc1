"""Pictures of tasks and reward landscapes, which need a simulation: computed once and stored."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.experiments import Experiment
from selfpaced.experiments.optional_packages import check_installed
from selfpaced.maths.archives import arrays_in, damage_named
from selfpaced.maths.arrays import Array
from selfpaced.report.error_text import error_in_one_line
from selfpaced.store.files import file_bytes, write_atomically
from selfpaced.targets.target import central_context
from selfpaced.tasks.mujoco import camera
from selfpaced.types import Problem, State

LARGEST_SCENE = 2**26  # bytes of a scene in memory
MOST_TASKS = 20  # tasks that a scene shows
SUFFIX = ".scene"  # ending of the file that lies beside an experiment's results
# Where in the box tasks are shown besides the target's mean: shares of its width, repeated over
# the dimensions.
PLACES = ((0.2, 0.2), (0.85, 0.4))


def make_scene(experiment: Experiment) -> State:
    """Sample tasks of `experiment` and, where its task has one, its landscape, as plain arrays.

    An error in the task's `picture` or `landscape` becomes a warning and a sentence in "faults".
    """
    camera.prepare_offscreen()
    problem = experiment.built_problem()
    check_installed(problem.task)
    contexts = _contexts(problem)
    scene: State = {"contexts": contexts}
    faults: list[str] = []
    for name, make in (("picture", _pictures), ("landscape", _landscape)):
        if hasattr(problem.task, name):
            try:
                scene |= make(problem.task, contexts)
            except Exception as error:  # of a user's task: a page can do without it
                faults.append(f"The task's {name} could not be drawn: {error_in_one_line(error)}")
                warnings.warn(faults[-1], stacklevel=2)
    if faults:
        scene["faults"] = np.array(faults)
    return scene


def _pictures(task: Any, contexts: Array) -> State:
    pictures = np.array([task.picture(context) for context in contexts])
    if pictures.ndim != 4 or pictures.shape[3] not in (3, 4):
        raise ValueError(f"picture must return (h, w, 3); got {pictures.shape[1:]}")
    return {"pictures": pictures}


def _landscape(task: Any, _: Array) -> State:
    return {f"landscape.{name}": np.asarray(value) for name, value in task.landscape().items()}


def _contexts(problem: Problem) -> Array:
    """(3, d): the contexts at which tasks are shown: those at PLACES, and the target's mean."""
    box = problem.task.context_space
    shares = [np.resize(place, box.dimension) for place in PLACES]
    places = np.array([box.low + share * box.width for share in shares])
    return np.array([*box.snapped(places), central_context(problem.target, box)])


def write_scene(scene: State, path: Path) -> None:
    """Write `scene` as one compressed file of plain arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **scene)
    write_atomically(path, buffer.getvalue())


def read_scene(path: Path) -> State:
    """The scene in the file `path`; a DamagedFile if it is damaged."""
    content = file_bytes(path)
    with damage_named(path, "a scene file"):
        scene = arrays_in(content, LARGEST_SCENE)
        contexts, pictures = scene["contexts"], scene.get("pictures")
        if contexts.ndim != 2 or contexts.dtype.kind != "f" or len(contexts) > MOST_TASKS:
            raise ValueError(f"contexts must be (n, d), {MOST_TASKS} at most")
        if pictures is not None and (
            pictures.ndim != 4
            or len(pictures) != len(contexts)
            or pictures.shape[3] not in (3, 4)
            or pictures.dtype.kind not in "fu"
        ):
            raise ValueError(f"pictures must be (n, h, w, 3); got {pictures.shape}")
        if "faults" in scene and (scene["faults"].ndim != 1 or scene["faults"].dtype.kind != "U"):
            raise ValueError("faults must be sentences")
        return scene
