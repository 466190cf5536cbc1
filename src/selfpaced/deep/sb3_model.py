"""The environments and the model of Stable-Baselines3 that a `PPO` configuration describes."""

# Stable-Baselines3's and torch's types are partly unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from typing import TYPE_CHECKING, Any

import gymnasium
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from selfpaced.deep.batched_env import BatchedVecEnv
from selfpaced.deep.contextual_env import make_contextual, wrappers_leave_env_unchanged
from selfpaced.maths.arrays import Array
from selfpaced.maths.network import CLIP, EPSILON

if TYPE_CHECKING:
    from selfpaced.deep.ppo import PPO


def make_model(config: "PPO", context: Array) -> tuple[Any, Any, int]:
    """The normalised vector environment, Stable-Baselines3's model, and the steps of an episode.

    `context`: the default context of every environment.
    """

    def make_one() -> Any:
        made = make_contextual(config.environment)
        made.get_wrapper_attr("set_default_context")(context)
        return made

    first = make_one()
    steps = None if first.spec is None else first.spec.max_episode_steps
    if steps is None:
        raise ValueError(
            f"environment must be registered with max_episode_steps; {config.environment} is not"
        )
    if config.steps < steps:
        raise ValueError(
            f"steps must be at least those of an episode, {steps}, because each update begins with "
            f"new episodes; got {config.steps}"
        )
    n, inner = config.environments, first.unwrapped
    discrete = isinstance(first.action_space, gymnasium.spaces.Discrete)
    if not discrete and not (
        (first.action_space.low == -1).all() and (first.action_space.high == 1).all()
    ):
        raise ValueError(
            f"actions of {config.environment} must lie in [-1, 1] "
            f"(gymnasium.wrappers.RescaleAction); got {first.action_space}"
        )
    if hasattr(inner, "batched_episodes") and wrappers_leave_env_unchanged(first):
        parallel: Any = BatchedVecEnv(
            episodes=inner.batched_episodes(n),
            n=n,
            steps=steps,
            spaces=(inner.observation_space, inner.action_space),
            context=context,
        )
    else:
        parallel = DummyVecEnv([lambda: Monitor(first), *[lambda: Monitor(make_one())] * (n - 1)])
    environment = VecNormalize(parallel, gamma=config.gamma, clip_obs=CLIP, epsilon=EPSILON)
    model = stable_baselines3.PPO(
        "MlpPolicy",
        environment,
        learning_rate=config.learning_rate,
        n_steps=config.steps,
        batch_size=config.environments * config.steps // config.minibatches,
        n_epochs=config.epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip,
        ent_coef=config.entropy_weight,
        vf_coef=config.value_weight,
        max_grad_norm=config.max_gradient_norm,
        policy_kwargs={"net_arch": list(config.hidden), "activation_fn": torch.nn.Tanh},
        device="cpu",
    )
    # Stable-Baselines3's default logger makes a folder per update.
    model.set_logger(Logger(folder=None, output_formats=[]))
    return environment, model, steps
