"""An episodic learner as a training: ask, evaluate, tell."""

from collections import Counter
from typing import Any

import numpy as np

from selfpaced.maths.arrays import (
    Array,
    BoolArray,
    as_floats,
    check_column,
    check_rows,
    mean_of_known,
)
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.particles import Particles
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.randomness import Streams, generator_state, restored_generator
from selfpaced.spaces.refusals import RefusedContexts
from selfpaced.types import (
    DiagnosticTask,
    Learner,
    Metrics,
    Outcomes,
    Problem,
    Samples,
    Spent,
    State,
    Task,
    TrajectoryTask,
    part_of,
    prefixed,
)

SAMPLED_PARTICLES = 32  # particles that are recorded for figures
ASKS = 50  # requests to a learner for contexts that are not refused, in place of others
SAMPLED_CONTEXTS = 10  # contexts of a teacher's batch that are recorded for figures


class EpisodicTraining:
    """A learner, the task it learns on, and their random streams."""

    def __init__(self, learner: Learner, problem: Problem, streams: Streams) -> None:
        self.learner = learner
        self._problem = problem
        self._diagnosed = problem.task if isinstance(problem.task, DiagnosticTask) else None
        self._learn, self._world = streams.learn, streams.world
        self._rollouts = 0
        self._refused = RefusedContexts(problem.task.context_space)

    def __repr__(self) -> str:
        return f"EpisodicTraining({self.learner!r}, {self._rollouts} rollouts)"

    @property
    def policy(self) -> LinearGaussianPolicy:
        """The policy learned so far."""
        return self.learner.policy

    @property
    def spent(self) -> Spent:
        """Rollouts used so far."""
        return Spent(self._rollouts, 0)

    def advance(self) -> dict[str, Any]:
        """One iteration: batches until the learner has updated. The first also fills the buffer."""
        diagnostics: Counter[str] = Counter()
        while True:
            contexts = self.learner.context_distribution  # the next batch is drawn from it
            samples, metrics = self._batch()
            if self._diagnosed is not None:
                diagnostics.update(self._diagnosed.diagnostics())
            if metrics:
                break
        return {
            "rollouts": self._rollouts,
            "reward": float(samples.rewards.mean()) - self._problem.reward_shift,
            "success": mean_of_known(samples.successes),
            "entropy": self.policy.entropy,
            **described(contexts, samples.contexts, self._refused),
            **diagnostics,
            **metrics,
        }

    def _batch(self) -> tuple[Samples, Metrics]:
        """Ask for a batch, evaluate it and tell the learner, which checks it."""
        contexts, thetas = self._asked()
        contexts, thetas, outcomes = self._played(contexts, thetas)
        self._rollouts += len(contexts)
        rewards = as_floats("rewards", outcomes.rewards) + self._problem.reward_shift
        successes = as_floats("successes", outcomes.successes)
        samples = Samples(contexts, thetas, rewards, successes)
        return samples, self.learner.tell(samples)

    def _asked(self) -> tuple[Array, Array]:
        """What the learner asks for; contexts near refused ones are replaced by later ones.

        If the learner asks for nothing else, allowed contexts of the whole space take their place.
        """
        contexts, thetas = self.learner.ask(self._learn)
        bad = np.flatnonzero(~self._refused.allows(contexts))
        for _ in range(ASKS):
            if bad.size == 0:
                return contexts, thetas
            others, their_thetas = self.learner.ask(self._learn)
            good = np.flatnonzero(self._refused.allows(others))[: bad.size]
            rows, bad = bad[: good.size], bad[good.size :]
            contexts[rows], thetas[rows] = others[good], their_thetas[good]
        contexts[bad] = self._refused.allowed_uniform(len(bad), self._learn)
        box = self._problem.task.theta_space
        thetas[bad] = self.policy.sample(contexts[bad], self._learn, box)
        return contexts, thetas

    def _played(self, contexts: Array, thetas: Array) -> tuple[Array, Array, Outcomes]:
        """The outcomes of a batch; rollouts whose contexts are refused are done elsewhere."""
        task = self._problem.task
        outcomes = _evaluated(task, contexts, thetas, self._world)
        bad = np.flatnonzero(refused_rows(task, len(contexts)))
        if bad.size == 0:
            return contexts, thetas, outcomes
        rewards, successes = np.array(outcomes.rewards), np.array(outcomes.successes)
        for _ in range(ASKS):
            self._refused.add(contexts[bad])
            others, their_thetas = self._asked()
            bad = bad[: len(others)]
            contexts[bad], thetas[bad] = others[: bad.size], their_thetas[: bad.size]
            again = _evaluated(task, contexts[bad], thetas[bad], self._world)
            rewards[bad], successes[bad] = again.rewards, again.successes
            bad = bad[refused_rows(task, len(bad))]
            if bad.size == 0:
                return contexts, thetas, Outcomes(rewards, successes)
        raise ValueError(
            f"task must play some of the contexts that it is given; it has refused "
            f"{len(self._refused)}, the last at {contexts[bad[0]].tolist()}"
        )

    def measure(
        self, contexts: Array, rng: np.random.Generator, task: Task | None = None
    ) -> Outcomes:
        """Score the stochastic policy on `contexts`, in the problem's task or another one.

        Contexts that the task refuses are left out, so there may be fewer outcomes than contexts;
        if it refuses all, there is one, which is nan.
        """
        task = task or self._problem.task
        thetas = self.policy.sample(contexts, rng, task.theta_space)
        outcomes = _evaluated(task, contexts, thetas, rng)
        bad = refused_rows(task, len(contexts))
        if not bad.any():
            return checked_outcomes(outcomes, len(contexts))
        if bad.all():
            return Outcomes(np.array([np.nan]), np.array([np.nan]))
        kept = Outcomes(outcomes.rewards[~bad], outcomes.successes[~bad])
        return checked_outcomes(kept, int((~bad).sum()))

    def trajectories(self, contexts: Array, rng: np.random.Generator) -> Array | None:
        """(n, t, d): what the policy does over time; None if the task has no trajectories."""
        task = self._problem.task
        if not isinstance(task, TrajectoryTask):
            return None
        return task.trajectories(contexts, self.policy.sample(contexts, rng, task.theta_space), rng)

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        return {
            "rollouts": np.array(self._rollouts),
            "learn": generator_state(self._learn),
            "world": generator_state(self._world),
            **({"refused": self._refused.contexts} if len(self._refused) else {}),
            **prefixed("learner.", self.learner.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._rollouts = int(state["rollouts"])
        self._refused = RefusedContexts(self._problem.task.context_space)
        if "refused" in state:
            self._refused.add(np.array(state["refused"], dtype=float))
        self._learn = restored_generator(state["learn"])
        self._world = restored_generator(state["world"])
        self.learner.restore(part_of(state, "learner."))


def refused_rows(task: Task, rows: int) -> BoolArray:
    """(rows,): True for each row of the last batch whose context `task` has refused."""
    refused = getattr(task, "refused", None)
    return np.zeros(rows, dtype=bool) if refused is None else np.asarray(refused, dtype=bool)


def described(
    distribution: Gaussian | Particles | None, drawn: Array, refused: RefusedContexts
) -> dict[str, Any]:
    """Where the contexts are, for a record: mean and covariance; and some that were refused.

    They are those of the `distribution` if there is one. Otherwise they are those of the contexts
    `drawn` (n, d), and a few of these contexts are recorded, too. Particles are recorded as some
    of their contexts, without those that are never played.
    """
    if isinstance(distribution, Gaussian):
        mean, covariance, sample = distribution.mean, distribution.covariance, {}
    elif distribution is not None:
        mean, covariance = distribution.mean, distribution.covariance
        places = distribution.contexts
        places = places[distribution.space.feasible(places) & refused.allows(places)]
        few = places[:: max(1, len(places) // SAMPLED_PARTICLES)][:SAMPLED_PARTICLES]
        sample = {"context_sample": few.round(6).tolist()}
    else:
        mean = drawn.mean(axis=0)
        covariance = (drawn - mean).T @ (drawn - mean) / len(drawn)
        few = drawn[:: max(1, len(drawn) // SAMPLED_CONTEXTS)][:SAMPLED_CONTEXTS]
        sample = {"context_sample": few.round(6).tolist()}
    moments = {"context_mean": mean.tolist(), "context_covariance": covariance.tolist()}
    return {**moments, **sample, **refused.described()}


def checked_samples(samples: Samples, task: Task) -> Samples:
    """`samples` as arrays that a learner may learn from; raise a ValueError if they are not.

    Every learner calls it at the beginning of `tell`, and nobody else does.
    """
    contexts = task.context_space.check("contexts", samples.contexts)
    if len(contexts) == 0:
        raise ValueError("samples must hold at least one rollout; got none")
    thetas = check_rows("thetas", samples.thetas, task.theta_space.dimension)
    if len(thetas) != len(contexts):
        raise ValueError(f"thetas must have {len(contexts)} rows, as contexts; got {len(thetas)}")
    outcomes = checked_outcomes(Outcomes(samples.rewards, samples.successes), len(contexts))
    return Samples(contexts, thetas, *outcomes)


def checked_outcomes(outcomes: Outcomes, rows: int) -> Outcomes:
    """`outcomes` of a task as arrays; raise a ValueError that says what is wrong with them."""
    rewards = check_column("rewards", outcomes.rewards, rows)
    successes = np.asarray(outcomes.successes, dtype=float)
    if successes.shape != (rows,):
        raise ValueError(f"successes must be ({rows},), one per rollout; got {successes.shape}")
    outside = (successes < 0.0) | (successes > 1.0)
    if outside.any():
        raise ValueError(
            f"successes must be from 0 to 1, or nan if unknown; got {successes[outside][0]}"
        )
    return Outcomes(rewards, successes)


def _evaluated(task: Task, contexts: Array, thetas: Array, rng: np.random.Generator) -> Outcomes:
    """The task's outcomes. It gets copies, because a task may change its arguments."""
    return task.evaluate(contexts.copy(), thetas.copy(), rng)
