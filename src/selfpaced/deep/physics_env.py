"""Any Gymnasium MuJoCo environment with its physics as the context (extras `gym`, `mujoco`)."""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from selfpaced.maths.arrays import Array, check_vector
from selfpaced.maths.box import Box
from selfpaced.spaces.constrained import Infeasible

CHECKED_STEPS = 200  # steps, with random actions, in which a range must show an effect
Ranges = Mapping[str, tuple[float, float]]
"""Lower and upper bound of each property, by its name."""


class PhysicsEnv(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """A MuJoCo environment whose context is its physics: masses, friction, gains, gravity.

    >>> import gymnasium
    >>> from selfpaced import ContextualEnv, PhysicsEnv
    >>> ranges = {"body:torso.mass": (0.5, 2), "geom:*.friction": (0.4, 1.6), "gravity": (0.8, 1.2)}
    >>> env = ContextualEnv(PhysicsEnv(gymnasium.make("Hopper-v5"), ranges), success=1000.0)
    >>> _ = env.reset(seed=0, options={"context": [1.0, 0.5, 1.0]})

    `scaled`: ranges of factors of the model's own values. `absolute`: ranges in units: kg, m/s^2 (a
    positive acceleration along the model's own direction), sliding friction, force per control.
    Names are those of `Physics`: "gravity", "body:torso.mass", "geom:floor.friction",
    "actuator:0.gain", "joint:0.damping"; "*" in place of an object stands for all of its kind.
    `check`: simulate both ends of each range once, and raise a ValueError if they make no
    difference or if the simulation blows up.

    `reset(options={"context": c})` sets the physics of this episode and of those after it. Until
    then, and after `close`, the model is as it was made, to the last bit.
    """

    context_space: Box
    """The ranges, in the order in which they were given, `scaled` first."""
    context_names: tuple[str, ...]
    """The name of each property, for figures."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        scaled: Ranges | None = None,
        absolute: Ranges | None = None,
        *,
        check: bool = True,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, scaled=scaled, absolute=absolute, check=check
        )
        gymnasium.Wrapper.__init__(self, env)
        inner: Any = env.unwrapped
        if not hasattr(inner, "model") or not hasattr(inner, "data"):
            raise ValueError(
                "env must be a MuJoCo environment, with a model and data; "
                f"got {type(inner).__name__}"
            )
        from selfpaced.tasks.mujoco.physics import Physics, has_blown_up

        self._has_blown_up = has_blown_up
        by_factor, by_value = dict(scaled or {}), dict(absolute or {})
        ranges = [*by_factor.items(), *by_value.items()]
        if not ranges:
            raise ValueError("scaled or absolute must have at least one property; got none")
        bounds = np.array([_checked_range(name, given) for name, given in ranges])
        self._physics = Physics(inner.model, tuple(by_factor), tuple(by_value))
        self.context_names = self._physics.names
        self.context_space = Box(bounds[:, 0], bounds[:, 1])
        self._context = self._physics.nominal
        if check:
            self._check_effects()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, with the physics of `options["context"]` if it is given."""
        if options is not None and "context" in options:
            self._context = self.context_space.check("context", [options["context"]])[0]
            self._physics.set(self._context)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment; raise `Infeasible` if the simulation has blown up."""
        found = self.env.step(action)
        if self._blown_up():
            raise Infeasible(f"the simulation blows up at {self._described(self._context)}")
        return found

    def close(self) -> None:
        """Put the model back to what it was, to the last bit, and close the environment."""
        self._physics.restore()
        self.env.close()

    def _described(self, context: Array) -> str:
        pairs = zip(self.context_names, context.tolist(), strict=True)
        return ", ".join(f"{name} = {value:.6g}" for name, value in pairs)

    def _blown_up(self) -> bool:
        inner: Any = self.env.unwrapped
        return self._has_blown_up(inner.data)

    def _check_effects(self) -> None:
        """Raise a ValueError if a range changes nothing, or if the simulation blows up in it.

        Each range is tried at both ends, with the others as the model was made.
        """
        inner: Any = self.env.unwrapped
        generator = inner.np_random  # which the check must not change
        ends = self.context_space.low, self.context_space.high
        try:
            for k, name in enumerate(self.context_names):
                paths: list[Array] = []
                for end in ends:
                    context = self._physics.nominal
                    context[k] = end[k]
                    paths.append(self._path(context))
                    if self._blown_up() or not np.isfinite(paths[-1]).all():
                        raise ValueError(
                            f"the range of {name} must let the simulation run; it blows up at "
                            f"{end[k]:.6g} within {CHECKED_STEPS} steps of random actions"
                        )
                if np.array_equal(paths[0], paths[1]):
                    raise ValueError(
                        f"the range of {name} must change the motion; {ends[0][k]:.6g} and "
                        f"{ends[1][k]:.6g} give the same {CHECKED_STEPS} steps, so it has no effect"
                    )
        finally:
            self._physics.restore()
            inner.np_random = generator

    def _path(self, context: Array) -> Array:
        """(t, n): positions and velocities under random actions that are always the same."""
        inner: Any = self.env.unwrapped
        self._physics.set(context)
        inner.reset(seed=0)
        rng, actions = np.random.default_rng(0), inner.action_space
        path: list[Array] = []
        for _ in range(CHECKED_STEPS):
            inner.step(rng.uniform(actions.low, actions.high).astype(actions.dtype))
            path.append(np.concatenate([inner.data.qpos, inner.data.qvel]))
            if self._blown_up():
                break
        return np.array(path)


def _checked_range(name: str, given: Any) -> Array:
    """`given` as (2,); raise a ValueError unless it is a lower and an upper bound above 0."""
    bounds = check_vector(f"the range of {name}", given, 2)
    if not 0.0 <= bounds[0] < bounds[1]:
        raise ValueError(
            f"the range of {name} must be (low, high) with 0 <= low < high; got {given!r}"
        )
    return bounds
