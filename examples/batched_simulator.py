"""Thousands of environments in one batch of torch tensors, with a curriculum.

Simulators on a GPU step all environments at once and have no Gymnasium environments inside. The
lines marked with # + are all it takes. Here the simulator is a point mass that shall pass a narrow
gate, in plain torch, and the learner is PPO. Some minutes on one core:

    python examples/batched_simulator.py
"""

import sys
import time

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

from selfpaced import Box, Curriculum, Gaussian, SelfPacedThreshold, TargetTeacher

SPACE = Box([-4.0, 0.5], [4.0, 8.0])  # position and width of the gate
TARGET = Gaussian([2.5, 0.6], np.diag([0.05**2, 0.05**2]))
EPISODE, ROLLOUT, EPOCHS, MINIBATCH = 100, 50, 4, 8192
GAMMA, LAMBDA, CLIP, LEARNING_RATE = 0.99, 0.95, 0.2, 1e-3


class PointMass:
    """n point masses at once: forces of -1 to 1, a wall with a gate at y = 0, a goal below."""

    def __init__(self, n, device="cpu"):
        self.positions, self.velocities = torch.zeros(n, 2), torch.zeros(n, 2)
        self.contexts, self.steps = torch.zeros(n, 2), torch.zeros(n, dtype=torch.long)
        self.goal = torch.tensor([0.0, -3.0], device=device)
        for name, tensor in list(vars(self).items()):
            setattr(self, name, tensor.to(device))

    def begin(self, rows, contexts):
        self.positions[rows] = torch.tensor([0.0, 3.0], device=self.goal.device)
        self.velocities[rows], self.steps[rows], self.contexts[rows] = 0.0, 0, contexts

    def step(self, actions):
        """Rewards, touched walls, time limits and successes (n,) of one step."""
        self.velocities += 0.05 * (8.0 * actions.clamp(-1, 1) - self.velocities)
        before = self.positions
        after = (before + 0.05 * self.velocities).clamp(-6, 6)
        crossing = (before[:, 1] > 0) != (after[:, 1] > 0)
        climb = torch.where(crossing, after[:, 1] - before[:, 1], 1.0)
        x = before[:, 0] - before[:, 1] / climb * (after[:, 0] - before[:, 0])
        touched = crossing & ((x - self.contexts[:, 0]).abs() > self.contexts[:, 1] / 2)
        wall = torch.stack([x, torch.zeros_like(x)], 1)
        self.positions = torch.where(touched[:, None], wall, after)
        self.steps += 1
        distance = (self.positions - self.goal).norm(dim=1)
        late = (self.steps >= EPISODE) & ~touched
        return 0.05 * torch.exp(-0.6 * distance), touched, late, distance < 0.3

    def observe(self):
        return torch.cat([self.positions / 3, self.velocities / 4, self.contexts / 4], 1)


class Agent(nn.Module):
    """A Gaussian policy and a value function."""

    def __init__(self):
        super().__init__()
        self.policy, self.value = (
            nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last)
            for last in (nn.Linear(64, 2), nn.Linear(64, 1))
        )
        nn.init.normal_(self.policy[-1].weight, std=0.01)
        self.log_std = nn.Parameter(torch.zeros(2))

    def forward(self, observed):
        return Normal(self.policy(observed), self.log_std.exp()), self.value(observed)[:, 0]


class Loop:
    """The simulator, the curriculum and what they cost."""

    def __init__(self, n, teacher, seed):
        self.simulator, self.agent = PointMass(n), Agent()
        self.curriculum = Curriculum(teacher, SPACE, TARGET, seed=seed)  # +
        everyone = torch.arange(n)
        self.simulator.begin(everyone, self.curriculum.next_contexts(everyone))  # +
        self.returns, self.curriculum_seconds = torch.zeros(n), 0.0

    def episodes_end(self, done, solved):
        begun = time.process_time()
        rows = torch.nonzero(done)[:, 0]
        self.curriculum.finished(rows, self.returns[rows], solved[rows])  # +
        self.simulator.begin(rows, self.curriculum.next_contexts(rows))  # +
        self.returns[rows] = 0.0
        self.curriculum_seconds += time.process_time() - begun

    @torch.no_grad()
    def collect(self):
        rows = []
        for _ in range(ROLLOUT):
            observed = self.simulator.observe()
            policy, values = self.agent(observed)
            actions = policy.sample()
            rewards, touched, late, solved = self.simulator.step(actions)
            self.returns += rewards
            # A time limit is no end of the world: the value of the last state counts.
            last = self.agent.value(self.simulator.observe())[:, 0]
            gains = rewards / 0.05 + GAMMA * torch.where(late, last, 0.0)
            done = touched | late
            rows.append((observed, actions, policy.log_prob(actions).sum(1), values, gains, done))
            if done.any():
                self.episodes_end(done, solved)
        observed, actions, logs, values, rewards, ends = map(torch.stack, zip(*rows, strict=True))
        values = torch.cat([values, self.agent.value(self.simulator.observe())[None, :, 0]])
        advantages, last = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
        for t in reversed(range(ROLLOUT)):
            alive = ~ends[t]
            delta = rewards[t] + GAMMA * values[t + 1] * alive - values[t]
            advantages[t] = last = delta + GAMMA * LAMBDA * alive * last
        parts = observed, actions, logs, advantages, advantages + values[:-1]
        return [part.flatten(0, 1) for part in parts]


def update(agent, optimiser, batch):
    for _ in range(EPOCHS):
        for some in torch.randperm(len(batch[0])).split(MINIBATCH):
            observed, actions, logs, gains, aims = (part[some] for part in batch)
            policy, values = agent(observed)
            ratio = (policy.log_prob(actions).sum(1) - logs).exp()
            gains = (gains - gains.mean()) / (gains.std() + 1e-8)
            surrogate = torch.min(gains * ratio, gains * ratio.clamp(1 - CLIP, 1 + CLIP))
            optimiser.zero_grad()
            (((values - aims) ** 2).mean() * 0.005 - surrogate.mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimiser.step()


@torch.no_grad()
def success_on_target(agent, episodes=200, seed=1):
    simulator, rows = PointMass(episodes), torch.arange(episodes)
    contexts = TARGET.sample(episodes, np.random.default_rng(seed), SPACE)
    simulator.begin(rows, torch.as_tensor(contexts, dtype=torch.float32))
    over = solved = torch.zeros(episodes, dtype=torch.bool)
    for _ in range(EPISODE):
        _, touched, _, near = simulator.step(agent(simulator.observe())[0].mean)
        over = over | touched
        solved = near & ~over
    return float(solved.float().mean())


def main(n=4096, iterations=140, teacher=None, seed=0, show=print):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    # With thousands of environments, an update from 50 episodes would come at every step.
    teacher = teacher or SelfPacedThreshold(update_every=max(50, n // 4))
    loop = Loop(n, teacher, seed)
    optimiser = torch.optim.Adam(loop.agent.parameters(), lr=LEARNING_RATE)
    begun = time.process_time()
    for k in range(1, iterations + 1):
        update(loop.agent, optimiser, loop.collect())
        if k % max(1, iterations // 10) == 0:
            share = loop.curriculum_seconds / (time.process_time() - begun)
            show(
                f"iteration {k}: {success_on_target(loop.agent):.0%} on the target, the curriculum "
                f"cost {share:.1%} of the time; {loop.curriculum!r}"
            )
    share = loop.curriculum_seconds / (time.process_time() - begun)
    return success_on_target(loop.agent), share


if __name__ == "__main__":
    if "--target" in sys.argv:
        main(teacher=TargetTeacher())
    else:
        main()
