"""CPU seconds per 100,000 steps of PPO: ours beside a plain Stable-Baselines3 script.

Both learn the same task with the same networks, the same number of gradient steps and the same
minibatches. Stable-Baselines3 has as many environments in a `DummyVecEnv` as ours has in a batch,
and then one environment, as the authors of the benchmarks have. The teacher's share of our time is
printed as well, for every teacher of the experiment.

    python benchmarks/deep.py            # about two CPU minutes; --updates 5 is quicker
"""

import argparse
import time
from dataclasses import replace

import gymnasium
import stable_baselines3
import torch
from stable_baselines3.common.env_util import make_vec_env

from selfpaced.experiments import experiment
from selfpaced.maths.randomness import streams_of

NAME = "selfpaced.deep.environments:selfpaced/ContextualPointMass2D-v0"


def ours(config, problem, updates):
    """CPU seconds of updates, and those of them that the teacher took."""
    training = config.start(problem, streams_of(0))
    training.advance()  # what is imported or compiled once does not count
    taught, began = training.teacher_seconds, time.process_time()
    for _ in range(updates):
        training.advance()
    return time.process_time() - began, training.teacher_seconds - taught


def plain(config, environments, updates):
    """CPU seconds of as many updates by Stable-Baselines3."""
    steps = config.environments * config.steps
    model = stable_baselines3.PPO(
        "MlpPolicy",
        make_vec_env(lambda: gymnasium.make(NAME), n_envs=environments),
        n_steps=steps // environments,
        batch_size=steps // config.minibatches,
        n_epochs=config.epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        learning_rate=config.learning_rate,
        vf_coef=config.value_weight,
        max_grad_norm=config.max_gradient_norm or 1e9,
        policy_kwargs={"net_arch": list(config.hidden), "activation_fn": torch.nn.Tanh},
        device="cpu",
    )
    model.learn(steps)
    began = time.process_time()
    model.learn(steps * updates)
    return time.process_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=15)
    updates = parser.parse_args().updates
    torch.set_num_threads(1)
    for name in ("pointmass-spdl", "pointmass-currot"):
        found = experiment(name)
        problem, config = found.built_problem(), found.algorithm("uniform")
        # All gradient steps, on both sides.
        config = replace(config, target_kl=None, adapts_rate=False)
        per = 1e5 / (config.environments * config.steps * updates)
        print(f"{name}: CPU seconds per 100,000 steps, {updates} updates")
        mine = per * ours(config, problem, updates)[0]
        print(f"  ours, {config.environments} environments in a batch: {mine:.1f}")
        for n in (config.environments, 1):
            theirs = per * plain(config, n, updates)
            print(f"  Stable-Baselines3, {n} in a DummyVecEnv: {theirs:.1f}, {theirs / mine:.1f}x")
        for algorithm, other in found.algorithms.items():
            seconds, taught = ours(other, problem, updates)
            print(f"  teacher {algorithm}: {taught / seconds:.1%} of the CPU time")


if __name__ == "__main__":
    main()
