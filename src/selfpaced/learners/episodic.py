"""An episodic learner in its loop: ask, evaluate, tell."""

from collections import Counter
from typing import Any

import numpy as np

from selfpaced.maths.arrays import Array, check_column, check_rows, mean_of_known
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.randomness import generator_state, restored_generator
from selfpaced.types import (
    Learner,
    Metrics,
    NotingTask,
    Outcomes,
    Problem,
    Samples,
    Spent,
    State,
    Streams,
    Task,
    TrajectoryTask,
)

SAMPLED_CONTEXTS = 10  # of a teacher's batch, recorded for figures


class EpisodicTraining:
    """A learner, the task it learns on, and their random streams."""

    def __init__(self, learner: Learner, problem: Problem, streams: Streams) -> None:
        self.learner = learner
        self._problem = problem
        self._learn, self._world = streams.learn, streams.world
        self._rollouts = 0

    @property
    def policy(self) -> LinearGaussianPolicy:
        return self.learner.policy

    @property
    def spent(self) -> Spent:
        return Spent(self._rollouts, 0)

    def advance(self) -> dict[str, Any]:
        """One iteration: batches until one brings an update. The first also fills the buffer."""
        notes: Counter[str] = Counter()
        while True:
            contexts = self.learner.context_distribution  # that the next batch is drawn from
            samples, metrics = self._batch()
            if isinstance(self._problem.task, NotingTask):
                notes.update(self._problem.task.notes())
            if metrics:
                break
        return {
            "rollouts": self._rollouts,
            "reward": float(samples.rewards.mean()) - self._problem.reward_shift,
            "success": mean_of_known(samples.successes),
            "entropy": self.policy.entropy,
            **described(contexts, samples.contexts),
            **notes,
            **metrics,
        }

    def _batch(self) -> tuple[Samples, Metrics]:
        contexts, thetas = self.learner.ask(self._learn)
        outcomes = scored(self._problem.task, contexts, thetas, self._world)
        self._rollouts += len(contexts)
        rewards = outcomes.rewards + self._problem.reward_shift
        samples = Samples(contexts, thetas, rewards, outcomes.successes)
        return samples, self.learner.tell(samples)

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        """The policy as learnt, stochastic, on `contexts`."""
        task = task or self._problem.task
        thetas = self.policy.sample(contexts, rng, task.theta_space)
        return scored(task, contexts, thetas, rng)

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array | None:
        task = self._problem.task
        if not isinstance(task, TrajectoryTask):
            return None
        return task.trajectories(contexts, self.policy.sample(contexts, rng, task.theta_space), rng)

    def state(self) -> State:
        return {
            "rollouts": np.array(self._rollouts),
            "learn": generator_state(self._learn),
            "world": generator_state(self._world),
            **{f"learner.{name}": value for name, value in self.learner.state().items()},
        }

    def restore(self, state: State) -> None:
        self._rollouts = int(state["rollouts"])
        self._learn = restored_generator(state["learn"])
        self._world = restored_generator(state["world"])
        self.learner.restore(part_of(state, "learner."))


def scored(task: Task, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
    """Checked outcomes. The task gets copies: what it does to them must not be learned from."""
    return checked(task.evaluate(contexts.copy(), thetas.copy(), rng), len(contexts))


def described(distribution: Gaussian | None, drawn: Array) -> dict[str, Any]:
    """Where the contexts are: the distribution, or what was drawn and a thin sample of that."""
    if distribution is not None:
        mean, covariance, sample = distribution.mean, distribution.covariance, {}
    else:
        mean = drawn.mean(axis=0)
        covariance = (drawn - mean).T @ (drawn - mean) / len(drawn)
        thin = drawn[:: max(1, len(drawn) // SAMPLED_CONTEXTS)][:SAMPLED_CONTEXTS]
        sample = {"context_sample": thin.round(6).tolist()}
    return {"context_mean": mean.tolist(), "context_covariance": covariance.tolist(), **sample}


def checked_samples(samples: Samples, task: Task) -> Samples:
    """`samples` that a learner may be told, or a ValueError that names the fault."""
    contexts = task.context_space.check("contexts", samples.contexts)
    if len(contexts) == 0:
        raise ValueError("samples must hold at least one rollout; got none")
    thetas = check_rows("thetas", samples.thetas, task.theta_space.dimension)
    if len(thetas) != len(contexts):
        raise ValueError(f"thetas must have {len(contexts)} rows, as contexts; got {len(thetas)}")
    outcomes = checked(Outcomes(samples.rewards, samples.successes), len(contexts))
    return Samples(contexts, thetas, *outcomes)


def checked(outcomes: Outcomes, rows: int) -> Outcomes:
    """`outcomes` of a task, or a ValueError that says what is wrong with them."""
    rewards = check_column("rewards", outcomes.rewards, rows)
    successes = np.asarray(outcomes.successes, dtype=float)
    if successes.shape != (rows,):
        raise ValueError(f"successes must be ({rows},), one per rollout; got {successes.shape}")
    outside = (successes < 0.0) | (successes > 1.0)
    if outside.any():
        raise ValueError(
            f"successes must be from 0 to 1, or nan where nobody knows; got {successes[outside][0]}"
        )
    return Outcomes(rewards, successes)


def part_of(state: State, prefix: str) -> State:
    """The entries of `state` whose names start with `prefix`, without it."""
    return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
