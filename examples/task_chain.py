"""A curriculum over 200 tasks for a learner of your own: each task needs the one before it.

python examples/task_chain.py

The learner has one ability, a number from 0 to 200. It succeeds at tasks below its ability, and at
tasks slightly above it sometimes. An episode teaches it something only if the task is near its
ability. So tasks must be practised in order. The teacher is told which tasks are related, but not
which is easy or hard, and that the last ten tasks count. It practises where tasks are solved half
the time, as near to the target as this allows.
"""

import numpy as np

from selfpaced import Categorical, Curriculum, SelfPacedThreshold, TaskSet, UniformTeacher

TASKS = [{"level": k} for k in range(200)]
SPACE = TaskSet(TASKS, related=[(k, k + 1) for k in range(199)])
TARGET = Categorical(np.where(np.arange(200) >= 190, 0.1, 0.0))
TEACHER = SelfPacedThreshold(judged_by="learnability", epsilon=1.0)


class Learner:
    """Learns from tasks near its ability, whatever the teacher is."""

    def __init__(self):
        self.ability = 0.0

    def success_chances(self, levels):
        return 1.0 / (1.0 + np.exp(levels + 0.5 - self.ability))

    def practise(self, levels, rng):
        chances = self.success_chances(levels)
        for level in levels:  # a task teaches most where it is solved half the time
            chance = self.success_chances(level)
            self.ability += 0.4 * chance * (1.0 - chance)
        return rng.random(len(levels)) < chances


def episodes_until_solved(teacher, seed, at_most):
    """Episodes until the last task is solved nine times in ten; infinity if it never is."""
    curriculum = Curriculum(teacher, SPACE, TARGET, seed=seed)
    learner, rng = Learner(), np.random.default_rng(seed)
    environments = np.arange(50)
    while curriculum.episodes < at_most:
        contexts = curriculum.next_contexts(environments)
        levels = np.array([SPACE.decode(row)["level"] for row in contexts])
        wins = learner.practise(levels, rng)
        curriculum.finished(environments, returns=wins, successes=wins)
        if learner.success_chances(199) >= 0.9:
            return curriculum.episodes
    return np.inf


def main(seeds=(0,), at_most=400_000):
    for seed in seeds:
        paced = episodes_until_solved(TEACHER, seed, at_most)
        uniform = episodes_until_solved(UniformTeacher(), seed, at_most)
        print(f"seed {seed}: {paced} episodes self-paced, {uniform} uniform")
    return paced, uniform


if __name__ == "__main__":
    main()
