"""The model of Stable-Baselines3 that a `StepwiseSAC` configuration describes."""

# Stable-Baselines3's and torch's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger

from selfpaced.tasks.stepwise_task import StepwiseTask

if TYPE_CHECKING:
    from selfpaced.deep.stepwise_sac import StepwiseSAC


def make_sac(config: "StepwiseSAC", task: StepwiseTask) -> Any:
    """Networks, optimisers and the replay buffer. There are no environments in the model.

    Actions in the replay buffer lie in [-1, 1], as Stable-Baselines3 keeps them.
    """
    seen = task.observation_space
    model: Any = stable_baselines3.SAC(
        "MlpPolicy",
        None,  # type: ignore[arg-type]
        learning_rate=config.learning_rate,
        buffer_size=config.buffer_size,
        batch_size=config.batch_size,
        target_entropy=-float(task.action_dimension),  # what "auto" means; it asks environments
        gamma=config.gamma,
        policy_kwargs={"net_arch": list(config.hidden), "activation_fn": torch.nn.ReLU},
        device="cpu",
        _init_setup_model=False,
    )
    model.observation_space = gymnasium.spaces.Box(
        seen.low.astype(np.float32), seen.high.astype(np.float32), dtype=np.float32
    )
    model.action_space = gymnasium.spaces.Box(-1.0, 1.0, (task.action_dimension,), np.float32)
    model.n_envs = config.environments
    model._setup_model()
    model._current_progress_remaining = 1.0  # for the learning rate, which is constant
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model
