"""Rollouts of Ball-in-a-Cup in MuJoCo, many at once, each with its own cup.

`WamRollouts` has one model of the string. An `Arena` has several, and shares out the rollouts of
all of them to threads.
"""

# MuJoCo ships no types for its specs:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from collections.abc import Iterator
from typing import Any, NamedTuple

import mujoco
import numpy as np

from selfpaced.maths.arrays import Array, BoolArray, IntArray
from selfpaced.tasks.ball_in_a_cup import CONTROLS, START, BallRollouts
from selfpaced.tasks.mujoco.camera import Camera, Picture, View
from selfpaced.tasks.mujoco.rollouts import PHYSICS, Rollouts
from selfpaced.tasks.mujoco.wam import (
    BALL,
    JOINTS,
    KD,
    KP,
    TOUCHED,
    add_lights,
    place_in_cup,
    resize_cup,
    set_world,
    wam_spec,
)
from selfpaced.tasks.randomisation import Worlds, undisturbed
from selfpaced.tasks.string_models import FREQUENCY, DrawnStrings, Fidelity
from selfpaced.tasks.threads import share_rows

# Control steps per call of MuJoCo; rollouts that have ended then are left out. With one substep
# calls keep the length that stored runs were made with, because each begins without a warm start of
# the solver, which changes the last digits.
CHUNK, CHUNK_OF_ONE_SUBSTEP = 300, 150
PARTS = 8  # parts of a batch per thread: rollouts that end early leave no thread without work
SETTLED_SCALES = (0.9, 1.3, 1.7, 2.1, 2.5)  # cups for which the pose at rest is computed
SAG_STEPS, SAG_TOLERANCE = 100, 1e-9  # iterations that find this pose, and their accuracy in rad
REST_CHECK, REST_TOLERANCE = 100, 0.005  # control steps of the check at rest; metres allowed
PICTURE_EVERY = 20  # control steps between two pictures, which makes 25 pictures per second
VIEW = View(lookat=(0.0, -0.62, 1.22), distance=1.45, azimuth_deg=20.0, elevation_deg=-5.0)


class Scene(NamedTuple):
    """What n rollouts in one model need to be simulated."""

    models: list[Any]
    """Compiled models, n."""
    states: Array
    """(n, s): MuJoCo's states at rest."""
    controls: Array
    """(n, CONTROLS + 1, 7): of the actuators. The last set point is held for one step more."""


class WamRollouts:
    """Simulates rollouts with one `fidelity`; it holds the model's spec and the poses at rest."""

    def __init__(self, fidelity: Fidelity) -> None:
        self._substeps = fidelity.substeps
        self._chunk = CHUNK if fidelity.substeps > 1 else CHUNK_OF_ONE_SUBSTEP
        self._damping = fidelity.damping
        self._spec = wam_spec(1.0, fidelity)
        self._rest = np.array([_settled(self._model(s), START, KP) for s in SETTLED_SCALES])
        self._rollouts = Rollouts(self._model(1.0))
        self._check_rest(fidelity)

    def _model(self, scale: float) -> Any:
        """A compiled model with a cup of `scale`."""
        resize_cup(self._spec, scale)
        return self._spec.compile()

    def _check_rest(self, fidelity: Fidelity) -> None:
        """Raise a ValueError unless the ball hangs still while the arm holds its pose."""
        still = np.tile(KP * START, (1, REST_CHECK * self._substeps, 1))
        before = self.start(np.ones(1))
        _, sensed, unstable = self._rollouts.simulate([self._rollouts.model], before, still)
        moved = np.abs(sensed[0, -1, BALL] - sensed[0, 0, BALL]).max()
        if unstable[0] or not moved < REST_TOLERANCE:
            raise ValueError(
                f"fidelity must be stable while the arm is at rest; with {fidelity} the ball moves "
                f"by {moved:.2g} m in {REST_CHECK / FREQUENCY:g} s"
            )

    def start(self, scales: Array) -> Array:
        """(n, s): states at rest with cups of `scales` (n,), interpolated over SETTLED_SCALES."""
        return self._states(
            np.stack([np.interp(scales, SETTLED_SCALES, q) for q in self._rest.T], axis=1)
        )

    def _states(self, rest: Array) -> Array:
        """(n, s): MuJoCo's states for joint positions `rest` (n, nq) at time 0, without motion."""
        model = self._rollouts.model
        states = np.zeros((len(rest), mujoco.mj_stateSize(model, PHYSICS)))
        states[:, 1 : 1 + model.nq] = rest  # after the time and before the velocities
        return states

    def scene(
        self,
        scales: Array,
        positions: Array,
        velocities: Array,
        strings: DrawnStrings | None = None,
        worlds: Worlds | None = None,
    ) -> Scene:
        """Prepare rollouts with cups of `scales` (n,), each in its own of `worlds` if given.

        `positions` and `velocities` (n, CONTROLS, 7) are the set points. `strings` have a damping
        and a length each, by default the fidelity's. Only one thread may do this.
        """
        gains = np.ones((len(scales), JOINTS)) if worlds is None else worlds.gains
        controls = gains[:, None] * (KP * positions + KD * velocities)
        controls = np.concatenate([controls, controls[:, -1:]], axis=1)
        if worlds is None and strings is None:
            models = {scale: self._model(scale) for scale in dict.fromkeys(scales.tolist())}
            chosen = [models[scale] for scale in scales.tolist()]
            return Scene(chosen, self.start(scales), controls)
        damping: Array = np.full(len(scales), self._damping) if strings is None else strings.damping
        length = np.ones(len(scales)) if strings is None else strings.length
        if worlds is None:
            stretched = undisturbed(len(scales))._replace(string_length=length)
            chosen = self._models_of_worlds(scales, damping, stretched)
            return Scene(chosen, self.start(scales), controls)
        stretched = worlds._replace(string_length=worlds.string_length * length)
        chosen = self._models_of_worlds(scales, worlds.string_damping * damping, stretched)
        rest = [
            _settled(model, START + offset, gains * KP)
            for model, offset, gains in zip(chosen, worlds.joint_offset, worlds.gains, strict=True)
        ]
        joints = self._rollouts.model.nq  # named, since there may be no rollouts with this model
        return Scene(chosen, self._states(np.reshape(rest, (len(rest), joints))), controls)

    def _models_of_worlds(self, scales: Array, damping: Array, worlds: Worlds) -> list[Any]:
        """Compiled models with cups of `scales`, hinges of this `damping` and the worlds' rest."""
        chosen: list[Any] = []
        try:
            for row, scale in enumerate(scales.tolist()):
                set_world(
                    self._spec,
                    worlds.ball_mass[row],
                    worlds.string_length[row],
                    damping[row],
                    worlds.cup_offset[row],
                    worlds.gains[row],
                )
                chosen.append(self._model(scale))
        finally:
            set_world(self._spec, 1.0, 1.0, self._damping, np.zeros(3), np.ones(JOINTS))
        return chosen

    def run(self, scene: Scene, rows: IntArray) -> BallRollouts:
        """Simulate these `rows` (k,) of a `scene`; several threads may do this at the same time.

        Sensors show the state before each substep, so that the state after control step k is read
        in the first substep of step k + 1. Therefore one control step more is simulated.
        """
        k = len(rows)
        states = scene.states[rows]
        balls = np.empty((k, CONTROLS + 1, 3))
        radii, heights = np.empty((2, k))
        touched, unstable = np.zeros((2, k), dtype=bool)
        going = np.arange(k)  # rollouts that have not ended; the others are left out
        for first in range(0, CONTROLS + 1, self._chunk):
            if not going.size:
                break
            steps = scene.controls[rows[going], first : first + self._chunk]
            steps = np.repeat(steps, self._substeps, axis=1)
            chosen = [scene.models[row] for row in rows[going]]
            after, sensed, failed = self._rollouts.simulate(chosen, states[going], steps)
            seen = sensed[:, :: self._substeps]  # the first substep of every control step
            balls[going, first : first + seen.shape[1]] = seen[..., BALL]
            hit = np.logical_or.reduce(seen[..., TOUCHED] > 0, axis=2)
            over: BoolArray = np.logical_or.reduce(hit, axis=1)
            step = np.where(over, hit.argmax(axis=1), seen.shape[1] - 1)
            # What counts is the ball's place before the control step that led to a contact. If
            # that step was the first of this chunk, the place is known from the chunk before.
            last = np.where(over, step - 1, step)
            new = np.flatnonzero(last >= 0)
            radii[going[new]], heights[going[new]] = place_in_cup(seen[new, last[new]])
            touched[going], unstable[going] = over, failed
            for row, at in zip(going[over], step[over], strict=True):
                balls[row, first + at :] = balls[row, first + at]
            states[going] = after[:, -1]
            going = going[~(over | failed)]
        balls[unstable] = balls[unstable, :1]  # unstable positions mean nothing
        return BallRollouts(
            radii=radii, heights=heights, touched=touched, unstable=unstable, balls=balls
        )

    def film(self, scale: float, positions: Array, velocities: Array) -> Iterator[Picture]:
        """Pictures of one rollout until its end, one every 40 ms.

        The cup has `scale`; `positions` and `velocities` (1, CONTROLS, 7) are the set points.
        """
        add_lights(self._spec)
        model = self._model(scale)
        data = mujoco.MjData(model)
        state = self.start(np.array([scale]))
        controls = np.repeat(KP * positions + KD * velocities, self._substeps, axis=1)
        camera = Camera(model, VIEW, width=480, height=480)
        try:
            for first in range(0, CONTROLS + 1, PICTURE_EVERY):
                mujoco.mj_setState(model, data, state[0], PHYSICS)
                mujoco.mj_forward(model, data)
                yield camera.picture(data)
                step = slice(first * self._substeps, (first + PICTURE_EVERY) * self._substeps)
                if not controls[:, step].size:
                    return
                after, seen, failed = self._rollouts.simulate([model], state, controls[:, step])
                if (seen[..., TOUCHED] > 0).any() or failed.any():
                    return  # the ball has touched the arm, or the simulation became unstable
                state = after[:, -1]
        finally:
            camera.close()


class Arena:
    """Simulates rollouts in several models of the string."""

    def __init__(self, models: list[Fidelity]) -> None:
        self._models = [WamRollouts(fidelity) for fidelity in models]

    def simulate(
        self,
        scales: Array,
        positions: Array,
        velocities: Array,
        strings: DrawnStrings | None = None,
        worlds: Worlds | None = None,
    ) -> BallRollouts:
        """Simulate rollouts, each with one of `strings`, by default all in the first model.

        The other arguments are those of `WamRollouts.scene`.
        """
        n = len(scales)
        which: IntArray = np.zeros(n, dtype=np.int64) if strings is None else strings.model
        place = np.empty(n, dtype=np.int64)  # of each rollout in the scene of its model
        scenes: list[Scene] = []
        for k, model in enumerate(self._models):
            rows = np.flatnonzero(which == k)
            place[rows] = np.arange(len(rows))
            scenes.append(
                model.scene(
                    scales[rows],
                    positions[rows],
                    velocities[rows],
                    None if strings is None else strings.of_rows(rows),
                    None if worlds is None else Worlds(*(part[rows] for part in worlds)),
                )
            )
        everything = BallRollouts(
            radii=np.empty(n),
            heights=np.empty(n),
            touched=np.empty(n, dtype=bool),
            unstable=np.empty(n, dtype=bool),
            balls=np.empty((n, CONTROLS + 1, 3)),
        )

        def run(rows: IntArray) -> None:
            for k, model in enumerate(self._models):
                own = rows[which[rows] == k]
                if own.size:
                    for whole, part in zip(
                        everything, model.run(scenes[k], place[own]), strict=True
                    ):
                        whole[own] = part

        share_rows(run, n, parts_per_thread=PARTS)
        return everything


def _settled(model: Any, aim: Array, kp: Array) -> Array:
    """(nq,): joint positions at rest; the arm sags under its weight, the string hangs down.

    The controllers hold the pose `aim` (7,) with the gains `kp` (7,).
    """
    data = mujoco.MjData(model)
    data.qpos[:JOINTS] = aim
    change = np.full(JOINTS, np.inf)
    for _ in range(SAG_STEPS):
        mujoco.mj_kinematics(model, data)
        down = -data.body("cup").xmat.reshape(3, 3)[2]  # in the cup's frame
        # The string leaves along -y and turns about x, then z.
        data.qpos[JOINTS : JOINTS + 2] = np.arctan2(-down[2], -down[1]), np.arcsin(down[0])
        mujoco.mj_forward(model, data)
        sagged = aim - data.qfrc_bias[:JOINTS] / kp  # where the torques balance the weight
        change = sagged - data.qpos[:JOINTS]
        data.qpos[:JOINTS] += 0.5 * change
    if not np.abs(change).max() < SAG_TOLERANCE:
        raise RuntimeError("the arm's pose at rest was not found")
    return data.qpos.copy()
