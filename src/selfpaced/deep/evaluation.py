"""A policy's success on the target, in environments of its own (extra `gym`)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from selfpaced.deep.curriculum_vector_env import CurriculumVectorEnv
from selfpaced.maths.arrays import check_at_least
from selfpaced.targets.target import Target
from selfpaced.teachers.target import TargetTeacher
from selfpaced.types import Outcomes


def measure_on_target(
    env: Any,
    act: Callable[[Any], Any],
    target: Target,
    episodes: int = 100,
    *,
    seed: int = 0,
    **arguments: Any,
) -> Outcomes:
    """Returns and successes of at least `episodes` episodes on contexts of the target.

    `env`: a vector environment of the same kind as the one that is learned in, but not that one,
    whose episodes would be cut short. Contexts that it refuses are left out. `act`: actions for a
    batch of observations. Every environment plays equally many episodes, so that short ones do not
    count more often. `seed`: of the contexts and of the environments. `arguments`: those of
    `CurriculumVectorEnv`, such as `apply` and `success`.
    """
    check_at_least("episodes", episodes, 1)
    if isinstance(env, CurriculumVectorEnv):
        raise ValueError("env must be a vector environment of its own; got a CurriculumVectorEnv")
    envs = CurriculumVectorEnv(env, TargetTeacher(), target, seed=seed, **arguments)
    each = -(-episodes // envs.num_envs)
    returns, successes = np.zeros((2, envs.num_envs, each))
    counts = np.zeros(envs.num_envs, dtype=np.int64)
    observations, _ = envs.reset(seed=seed)
    disabled = envs.metadata["autoreset_mode"].name == "DISABLED"
    while (counts < each).any():
        observations, _, _, _, infos = envs.step(act(observations))
        if "_episode" not in infos:
            continue
        counted = infos["_episode"] & ~infos["episode"]["replaced"]  # on the feasible part only
        rows = np.flatnonzero(counted & (counts < each))
        returns[rows, counts[rows]] = infos["episode"]["r"][rows]
        successes[rows, counts[rows]] = infos["episode"]["success"][rows]
        counts[rows] += 1
        if disabled:
            observations, _ = envs.reset(options={"reset_mask": infos["_episode"]})
    return Outcomes(returns.reshape(-1), successes.reshape(-1))
