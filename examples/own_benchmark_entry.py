"""A teacher and a task of your own in the comparison of docs/benchmarks.md.

The teacher is entered beside those of a published experiment, with its learner and its budget. The
task is entered with the same learner and some teachers. From the folder of this file:

    selfpaced run own_benchmark_entry:WITH_MINE --algorithms mine uniform --seeds 5
    selfpaced run own_benchmark_entry:DOCKING --seeds 5
"""

from dataclasses import dataclass, replace

import numpy as np

from selfpaced import Box, Experiment, Gaussian, Problem, SelfPacedMastery, UniformTeacher
from selfpaced.experiments import experiment
from selfpaced.tasks.stepwise_task import Step, StepwiseTask


@dataclass(frozen=True)
class Widening:
    """Contexts drawn uniformly around the easiest one, over a share of the box that grows."""

    easiest: tuple[float, ...] = (0.0, 8.0)
    episodes: int = 4000
    """Episodes after which contexts are drawn from the whole box."""

    def start(self, context_space, target):
        return WideningTeacher(self, context_space)


class WideningTeacher:
    """The teacher between two batches: it only counts episodes."""

    def __init__(self, config, box):
        self._config, self._box, self._episodes = config, box, 0

    def ask(self, n, rng):
        share = min(1.0, 0.05 + self._episodes / self._config.episodes)
        contexts = self._box.uniform(n, rng)
        return (1 - share) * np.array(self._config.easiest) + share * contexts

    def tell(self, contexts, rewards, successes):
        self._episodes += len(rewards)

    def state(self):
        return {"episodes": np.array(self._episodes)}

    def restore(self, state):
        self._episodes = int(state["episodes"])


SPDL = experiment("pointmass-spdl")
WITH_MINE = replace(
    SPDL,
    name="pointmass-spdl-mine",
    algorithms={**SPDL.algorithms, "mine": replace(SPDL.algorithm("uniform"), teacher=Widening())},
)


class Docking(StepwiseTask):
    """A cart on a rail stops at a distance, within a tolerance; contexts (n, 2) say both."""

    name = "Docking"
    context_space = Box([0.0, 0.02], [4.0, 1.0])
    context_names = ("distance", "tolerance")
    observation_space = Box([-10.0, -10.0, 0.0, 0.02], [10.0, 10.0, 4.0, 1.0])
    action_dimension = 1
    steps = 60
    discount = 0.95
    step_noise = 1

    def begin(self, contexts, noise):
        return np.zeros((len(contexts), 2))

    def move(self, contexts, states, actions, noise):
        velocity = states[:, 1] + 0.1 * (2.0 * actions[:, 0] + 0.1 * noise[:, 0])
        position = np.clip(states[:, 0] + 0.1 * velocity, -10.0, 10.0)
        docked = np.abs(position - contexts[:, 0]) < contexts[:, 1]
        reward = np.exp(-np.abs(position - contexts[:, 0])) + docked
        never = np.zeros(len(states), dtype=bool)
        return Step(np.column_stack([position, velocity]), reward, never, docked)

    def observe(self, contexts, states):
        return np.hstack([states, contexts])

    def draw(self, context, trajectories, axes):
        axes.axvspan(context[0] - context[1], context[0] + context[1], color="0.8")
        for path in trajectories:
            axes.plot(path[:, 0], range(len(path)))


def docking():
    return Problem(Docking(), target=Gaussian([3.5, 0.05], np.diag([0.01, 1e-5])))


LEARNER = replace(SPDL.algorithm("uniform"), target_kl=0.03)
DOCKING = Experiment(
    name="docking",
    problem=docking,
    algorithms={
        "mastery": replace(LEARNER, teacher=SelfPacedMastery(reward_threshold="found")),
        "uniform": replace(LEARNER, teacher=UniformTeacher()),
    },
    iterations=100,
)
