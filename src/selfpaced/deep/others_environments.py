"""Registers environments that others wrote, with contexts, when it is imported (extra `others`).

Gymnasium imports this module by itself if the name of an environment starts with it:

    gymnasium.make("selfpaced.deep.others_environments:selfpaced/MultiRoom-v0")
"""

# Gymnasium's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from typing import Any

import gymnasium

from selfpaced.deep.contextual_env import ContextualEnv
from selfpaced.deep.physics_env import PhysicsEnv
from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box

WEATHER = Box([-11.0, 0.0, 0.0], [-2.0, 20.0, 2.0])
"""Contexts of LunarLander: gravity, wind and turbulence, in the ranges that Gymnasium allows."""
LANDED = 200.0  # the return that counts as a solution in Gymnasium's documentation
PHYSICS = {
    "body:torso.mass": (0.4, 1.6),
    "body:thigh.mass": (0.4, 1.6),
    "body:leg.mass": (0.4, 1.6),
    "body:foot.mass": (0.4, 1.6),
    "geom:foot_geom.friction": (0.4, 1.6),
    "gravity": (0.6, 1.4),
}
"""Contexts of Hopper: factors of masses, of the foot's friction and of gravity."""
HOPPED = 1000.0  # the return of a thousand steps without a fall; faster ones need fewer


def _multi_room() -> Any:
    from selfpaced.deep.grid_worlds import multi_room

    return multi_room()


def _crossings() -> Any:
    from selfpaced.deep.grid_worlds import crossings

    return crossings()


def set_weather(env: Any, context: Array) -> None:
    """Let the next episode of a `LunarLander` have the gravity and the winds of `context`."""
    env.gravity, env.wind_power, env.turbulence_power = (float(value) for value in context)


def windy_lander() -> ContextualEnv:
    """Gymnasium's LunarLander with wind; the context is gravity, wind and turbulence."""
    lander = gymnasium.make("LunarLander-v3", enable_wind=True)
    return ContextualEnv(lander, WEATHER, apply=set_weather, success=LANDED)


def random_hopper() -> ContextualEnv:
    """Gymnasium's Hopper-v5; the context is its masses, friction and gravity."""
    # The ranges are checked by a test; checking them in every environment would take long.
    hopper = PhysicsEnv(gymnasium.make("Hopper-v5"), PHYSICS, check=False)
    return ContextualEnv(hopper, success=HOPPED)


OTHERS: dict[str, tuple[Any, int]] = {
    "selfpaced/MultiRoom-v0": (_multi_room, 80),
    "selfpaced/Crossings-v0": (_crossings, 324),
    "selfpaced/WindyLander-v0": (windy_lander, 1000),
    "selfpaced/RandomHopper-v0": (random_hopper, 1000),
}
"""The function that makes each environment, and the steps of an episode at most, by name."""

for _name, (_make, _steps) in OTHERS.items():
    if _name not in gymnasium.registry:
        gymnasium.register(_name, _make, max_episode_steps=_steps, disable_env_checker=True)
