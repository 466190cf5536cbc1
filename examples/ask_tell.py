"""The loop by hand, as with a robot: one trial at a time, nothing lost when the power fails.

Run it, stop it at any moment (Ctrl-C), run it again: it continues with the next trial, and ends
as if it had never been stopped.
"""

import sys
from pathlib import Path

import numpy as np

from selfpaced import (
    SPRL,
    Box,
    FunctionTask,
    Gaussian,
    Outcomes,
    Problem,
    Samples,
    generator_state,
    restored_generator,
)


def trial(context, theta):
    """Stands for the robot: how far from `context` (2,) does the movement `theta` (2,) end?"""
    return -float(np.sum((theta - context) ** 2))


def by_hand(contexts, thetas):
    raise RuntimeError("the robot is asked below, one trial at a time")


BOXES = Box([-1.0, -1.0], [1.0, 1.0]), Box([-2.0, -2.0], [2.0, 2.0])
PROBLEM = Problem(FunctionTask(by_hand, *BOXES), Gaussian([0.8, 0.8], 0.01 * np.eye(2)))
BATCHES = 30


def main(file: Path) -> np.ndarray:
    learner = SPRL(n_samples=10, buffer_size=5).learner(PROBLEM)
    rng = np.random.default_rng(0)
    batches, rewards = 0, []
    if file.exists():  # after a restart: the learner, its generator, and the batch under way
        saved = dict(np.load(file, allow_pickle=False))
        learner.restore({k.removeprefix("learner."): v for k, v in saved.items() if "." in k})
        rng = restored_generator(saved["rng"])
        contexts, thetas = saved["contexts"], saved["thetas"]
        batches, rewards = int(saved["batches"]), saved["rewards"].tolist()
        print(f"continuing: batch {batches + 1}, trial {len(rewards) + 1}")
    else:
        contexts, thetas = learner.ask(rng)

    while batches < BATCHES:
        rewards.append(trial(contexts[len(rewards)], thetas[len(rewards)]))
        if len(rewards) == len(contexts):
            outcomes = Outcomes(np.array(rewards), np.full(len(rewards), np.nan))
            metrics = learner.tell(Samples(contexts, thetas, *outcomes))
            batches, rewards = batches + 1, []
            contexts, thetas = learner.ask(rng)
            print(f"batch {batches}: KL to target {metrics.get('kl_to_target', np.nan):.2f}")
        temporary = file.with_suffix(".tmp.npz")
        np.savez(
            temporary,
            rng=generator_state(rng),
            contexts=contexts,
            thetas=thetas,
            batches=batches,
            rewards=np.array(rewards),
            **{f"learner.{name}": value for name, value in learner.state().items()},
        )
        temporary.replace(file)  # atomic: the old state or the new one, never half of it
    return learner.policy.mean([0.8, 0.8])


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "robot.npz")
    print("movement for context (0.8, 0.8):", main(path).round(3))
