"""PPO in one file, with a curriculum: the lines marked with # + are all it takes.

A loop of your own over a Gymnasium vector environment, in the manner of single-file reference
implementations. A point mass is steered through a narrow gate beside the straight way, which PPO
does not learn on the target alone. Some minutes per run on one core:

    python examples/ppo_one_file.py --seed 0
    python examples/ppo_one_file.py --seed 0 --teacher target
"""

import argparse

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

from selfpaced import (
    ContextualEnv,
    CurriculumVectorEnv,
    Gaussian,
    SelfPacedThreshold,
    TargetTeacher,
    measure_on_target,
)

ENVIRONMENT = "selfpaced.deep.environments:selfpaced/PointMass2D-v0"
TARGET = Gaussian([2.5, 0.6], np.diag([0.05**2, 0.05**2]))  # position and width of the gate
TEACHERS = {"threshold": SelfPacedThreshold(), "target": TargetTeacher()}
ENVS, STEPS, MINIBATCHES, EPOCHS, EVALUATION = 8, 300, 20, 10, 200
GAMMA, LAMBDA, CLIP, LEARNING_RATE, MAX_NORM = 0.99, 0.95, 0.2, 3e-4, 0.5


def make():
    return ContextualEnv(gymnasium.make(ENVIRONMENT))  # +


def vector(n):
    return gymnasium.vector.SyncVectorEnv([make] * n)  # resets in the step after an episode's end


def layer(inputs, outputs, gain=2**0.5):
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


def network(inputs, outputs, gain):
    return nn.Sequential(
        layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, outputs, gain)
    )


class Agent(nn.Module):
    """A Gaussian policy and a value function, on observations scaled to unit variance."""

    def __init__(self, observed, actions):
        super().__init__()
        self.policy, self.value = network(observed, actions, 0.01), network(observed, 1, 1.0)
        self.log_std = nn.Parameter(torch.zeros(actions))
        self.mean, self.variance, self.count = np.zeros(observed), np.ones(observed), 1e-4

    def observe(self, seen):
        """Take note of observations (n, o), for their scale."""
        total = self.count + len(seen)
        shift = seen.mean(axis=0) - self.mean
        spread = self.variance * self.count + seen.var(axis=0) * len(seen)
        self.variance = (spread + shift**2 * self.count * len(seen) / total) / total
        self.mean, self.count = self.mean + shift * len(seen) / total, total

    def scaled(self, seen):
        scaled = (seen - self.mean) / np.sqrt(self.variance + 1e-8)
        return torch.as_tensor(np.clip(scaled, -10, 10), dtype=torch.float32)

    def distribution(self, observations):
        return Normal(self.policy(observations), self.log_std.exp())

    def act(self, seen):
        with torch.no_grad():
            return np.clip(self.distribution(self.scaled(seen)).mean.numpy(), -1, 1)


class RewardScale:
    """Divides rewards by the standard deviation of discounted returns."""

    def __init__(self, n):
        self.returns, self.seen = np.zeros(n), []

    def __call__(self, rewards, done):
        self.returns = self.returns * GAMMA + rewards
        self.seen.append(self.returns.copy())
        self.returns[done] = 0.0
        if len(self.seen) % STEPS == 0 or not hasattr(self, "scale"):
            self.scale = np.std(self.seen[-20 * STEPS :]) + 1e-8
        return np.clip(rewards / self.scale, -10, 10)


def collect(envs, agent, scale, seen, begun):
    """One rollout of STEPS steps; a row that only resets an environment is left out later."""
    rows = {name: [] for name in ("observations", "actions", "logs", "rewards", "ends", "real")}
    values = []
    for _ in range(STEPS):
        agent.observe(seen)
        observations = agent.scaled(seen)
        with torch.no_grad():
            distribution = agent.distribution(observations)
            actions = distribution.sample()
            rows["logs"].append(distribution.log_prob(actions).sum(1))
            values.append(agent.value(observations)[:, 0])
        rows["observations"].append(observations)
        rows["actions"].append(actions)
        rows["real"].append(torch.as_tensor(~begun))  # the step after an end is a reset
        seen, rewards, terminated, truncated, _ = envs.step(np.clip(actions.numpy(), -1, 1))
        done = terminated | truncated
        # A time limit is no end of the world: the value of the last state counts.
        bonus = np.zeros(ENVS)
        if truncated.any():
            with torch.no_grad():
                bonus = GAMMA * agent.value(agent.scaled(seen))[:, 0].numpy() * truncated
        rows["rewards"].append(torch.as_tensor(scale(rewards, done) + bonus, dtype=torch.float32))
        rows["ends"].append(torch.as_tensor(done, dtype=torch.float32))
        begun = done
    with torch.no_grad():
        values.append(agent.value(agent.scaled(seen))[:, 0])
    batch = {name: torch.stack(found) for name, found in rows.items()}
    return {**batch, "values": torch.stack(values)}, seen, begun


def advantages(batch):
    """Generalised advantage estimates (steps, envs)."""
    found = torch.zeros_like(batch["rewards"])
    last = torch.zeros(ENVS)
    for t in reversed(range(STEPS)):
        alive = 1.0 - batch["ends"][t]
        delta = batch["rewards"][t] + GAMMA * batch["values"][t + 1] * alive - batch["values"][t]
        last = delta + GAMMA * LAMBDA * alive * last
        found[t] = last
    return found


def update(agent, optimiser, batch, generator):
    gains = advantages(batch)
    aims = gains + batch["values"][:-1]
    real = batch["real"].reshape(-1)
    flat = [
        part.reshape(STEPS * ENVS, -1)[real]
        for part in (batch["observations"], batch["actions"], batch["logs"], gains, aims)
    ]
    for _ in range(EPOCHS):
        order = torch.randperm(int(real.sum()), generator=generator)
        for some in order.chunk(MINIBATCHES):
            observations, actions, logs, gain, aim = (part[some] for part in flat)
            ratio = (agent.distribution(observations).log_prob(actions).sum(1) - logs[:, 0]).exp()
            gain = (gain[:, 0] - gain.mean()) / (gain.std() + 1e-8)
            policy_loss = -torch.min(gain * ratio, gain * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            value_loss = ((agent.value(observations) - aim) ** 2).mean()
            optimiser.zero_grad()
            (policy_loss + 0.5 * value_loss).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), MAX_NORM)
            optimiser.step()


def main(teacher="threshold", seed=0, steps=300_000, show=print):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    envs = CurriculumVectorEnv(vector(ENVS), TEACHERS[teacher], TARGET, seed=seed)  # +
    seen, _ = envs.reset(seed=seed)
    agent = Agent(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
    optimiser = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE, eps=1e-5)
    scale, begun = RewardScale(ENVS), np.zeros(ENVS, dtype=bool)
    updates = max(1, steps // (ENVS * STEPS))
    for k in range(1, updates + 1):
        batch, seen, begun = collect(envs, agent, scale, seen, begun)
        update(agent, optimiser, batch, generator)
        if k % max(1, updates // 4) == 0:
            outcomes = measure_on_target(vector(ENVS), agent.act, TARGET, EVALUATION // 5, seed=1)
            success = outcomes.successes.mean()
            show(f"{k * ENVS * STEPS} steps: {success:.0%} on the target, {envs.curriculum!r}")
    outcomes = measure_on_target(vector(ENVS), agent.act, TARGET, EVALUATION, seed=2)
    success = float(outcomes.successes.mean())
    show(f"seed {seed}, {teacher}: success {success:.2f} on the target")
    return success


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--teacher", default="threshold", choices=sorted(TEACHERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300_000)
    main(**vars(parser.parse_args()))
