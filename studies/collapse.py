"""A learner that has mastered the target forgets: which teachers bring it back, and how soon.

python -m studies.collapse --seeds 0 1 2 3 4

The learner is a number, its skill. It succeeds where a context is no harder than that, and its
skill grows with successes near it. Once contexts have been at the target, the skill falls back to
its first value. For every teacher, with and without `retreats`: the episodes after the fall until
half of a batch of 50 succeed, and until the contexts are at the target again.
"""

import argparse

import numpy as np

from selfpaced import (
    Box,
    CurrOT,
    FractionOfReward,
    Gaussian,
    MasteryRule,
    SelfPacedAlpha,
    SelfPacedMastery,
    SelfPacedThreshold,
)

SPACE = Box([0.0, 0.0], [1.0, 1.0])
TARGET = Gaussian([0.9, 0.9], np.diag([0.02, 0.02]) ** 2)
BATCH, NEAR = 50, 0.05
FIRST_SKILL = 0.3


def teachers(retreats, particles=100):
    """The teachers by name."""
    schedule = FractionOfReward(zeta=2.0, k_alpha=5)
    return {
        "mastery": SelfPacedMastery(rule=MasteryRule(retreats=retreats)),
        "threshold": SelfPacedThreshold(retreats=retreats),
        "alpha": SelfPacedAlpha(schedule=schedule, retreats=retreats),
        "currot": CurrOT(retreats=retreats, particles=particles),
    }


class Student:
    """Succeeds where a context is no harder than its skill, and learns where it just succeeds."""

    def __init__(self, seed):
        self.skill, self.rng = FIRST_SKILL, np.random.default_rng(seed)

    def play(self, contexts):
        """(n,): successes at `contexts` (n, 2), whose mean is how hard they are."""
        hard = contexts.mean(axis=1)
        chance = 1.0 / (1.0 + np.exp((hard - self.skill) / 0.03))
        successes = (self.rng.random(len(contexts)) < chance).astype(float)
        learned = 0.002 * (successes * (hard > self.skill - 0.2)).sum()
        self.skill = min(self.skill + learned, 1.1)
        return successes


def lesson(teacher, student, episodes):
    """Of every 50 episodes the success rate, and how far the contexts' mean is from the target."""
    rates, distances = [], []
    for _ in range(episodes // BATCH):
        contexts = teacher.ask(BATCH, student.rng)
        successes = student.play(contexts)
        teacher.tell(contexts, successes, successes)
        rates.append(successes.mean())
        distances.append(np.abs(contexts.mean(axis=0) - 0.9).max())
    return np.array(rates), np.array(distances)


def first(holds):
    """The number of episodes until `holds` is True, as text."""
    return f"{BATCH * (holds.argmax() + 1):,}" if holds.any() else "never"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    seeds = parser.parse_args().seeds
    print("| teacher | retreats | half succeed again after | at the target again after |")
    print("|---|---|---|---|")
    for retreats in (False, True):
        for name, config in teachers(retreats).items():
            half, there = [], []
            for seed in seeds:
                teacher, student = config.start(SPACE, TARGET), Student(seed)
                arrived = lesson(teacher, student, 10_000)[1][-1] < NEAR
                student.skill = FIRST_SKILL
                rates, distances = lesson(teacher, student, 10_000)
                half.append(first(rates >= 0.5))
                back = np.cumsum(distances > 0.2) > 0  # it has gone away from the target
                there.append(first((distances < NEAR) & back) if arrived else "was never there")
            print(f"| {name} | {retreats} | {', '.join(half)} | {', '.join(there)} |", flush=True)


if __name__ == "__main__":
    main()
