"""`Rollouts`: MuJoCo simulates many rows in one call, each with its own model and controls.

Rows are independent, so several threads can share them, and the result is the same to the last bit
for any number of threads.
"""

# MuJoCo's rollout is partly untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.tasks.threads import simulation_threads

PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)  # parts of a state: time, positions, velocities
CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)  # parts that a control sets: those of the actuators


class Rollouts:
    """Simulates rows on `simulation_threads()` threads; each may have a model of its own.

    Several threads of Python may use one object at the same time.
    """

    model: Any
    """A compiled model; those of all rows must have its sizes and its time step."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._own = threading.local()  # of each thread of Python: a pool and its working memory

    def _pool(self, threads: int) -> tuple[Any, list[Any]]:
        """MuJoCo's pool of `threads` threads and their working memory, made when it is needed."""
        if getattr(self._own, "threads", None) != threads:
            # 0 simulates in this thread, which saves the hand-over to a pool.
            pool = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)
            self._own.pool = pool, [mujoco.MjData(self.model) for _ in range(threads)]
            self._own.threads = threads
        return self._own.pool

    def simulate(
        self, models: list[Any], states: Array, controls: Array, control_spec: int = CONTROL
    ) -> tuple[Array, Array, BoolArray]:
        """Simulate one step per control: states (k, t, s), sensors (k, t, m), unstable rows (k,).

        Row i starts in `states[i]` (k, s) and applies its `controls[i]` (k, t, c) to `models[i]`;
        `control_spec` says which part of the state a control sets. States are those after each
        step, sensors show the state before it. MuJoCo resets an unstable row and stops it, so
        that its time stays behind. A row's result does not depend on other rows or earlier calls,
        because MuJoCo's rollout starts every row without a warm start of its solver.
        """
        pool, data = self._pool(simulation_threads())
        k, t = controls.shape[:2]
        after = np.empty((k, t, states.shape[1]))
        sensed = np.empty((k, t, self.model.nsensordata))
        with _without_warnings():  # unstable rows are found below
            pool.rollout(
                models,
                data,
                np.ascontiguousarray(states),
                controls,
                control_spec=control_spec,
                nstep=t,
                state=after,
                sensordata=sensed,
                skip_checks=True,  # all arrays have the right shapes already
                chunk_size=1,  # rows cost differently: a thread takes the next one when it is free
            )
        # Half a step less than the time at the end, because times add up with rounding errors.
        expected = states[:, 0] + (t - 0.5) * self.model.opt.timestep
        return after, sensed, after[:, -1, 0] < expected


_lock = threading.Lock()
_quiet = 0  # threads that are in `_without_warnings`
_warn_before: Any = None  # what warned before the first of them


@contextmanager
def _without_warnings() -> Generator[None]:
    """Ignore MuJoCo's warnings, whose handler all threads share."""
    global _quiet, _warn_before
    with _lock:
        if not _quiet:
            _warn_before = mujoco.get_mju_user_warning()
            mujoco.set_mju_user_warning(_ignore_warning)
        _quiet += 1
    try:
        yield
    finally:
        with _lock:
            _quiet -= 1
            if not _quiet:
                mujoco.set_mju_user_warning(_warn_before)


def _ignore_warning(message: str) -> None:
    """Ignore `message`, which MuJoCo would print and write to a file in the working directory."""
