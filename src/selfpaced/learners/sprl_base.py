"""What both pacings of SPRL share: a policy, a context distribution, a buffer and their state."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from selfpaced.learners.buffer import Buffer
from selfpaced.maths.arrays import Array
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.kl_bounded_fit import with_entropy_floor
from selfpaced.maths.particles import Particles
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.types import Metrics, Problem, Samples, State, part_of, prefixed

if TYPE_CHECKING:
    from selfpaced.learners.sprl import SPRL

Contexts = Gaussian | Particles
Pair = tuple[LinearGaussianPolicy, Contexts]


TO_THE_TARGET = {  # metrics that say how far contexts are from the target, in words
    "kl_to_target": "KL to the target",
    "sampled_kl_to_target": "sampled KL to the target",
    "wasserstein_to_target": "W2 to the target",
}


class SelfPacedLearner(ABC):
    """SPRL between two batches: policy p(theta | c), context distribution q(c), buffer.

    A subclass updates policy and contexts in its `tell`.
    """

    def __init__(self, config: "SPRL", problem: Problem, contexts: Contexts) -> None:
        least = config.min_entropy
        if least is not None and problem.initial_policy.entropy < least:
            raise ValueError(
                f"min_entropy must not be above the initial policy's entropy, "
                f"{problem.initial_policy.entropy:.4g} nats; got {least}"
            )
        self.policy: LinearGaussianPolicy = problem.initial_policy
        self.contexts: Contexts = contexts
        self._config = config
        self._task, self._target = problem.task, problem.target
        batches = config.batches_kept(problem)
        self._buffer = Buffer(batches, problem.value_features)
        self._iteration = 0
        self._multipliers = np.zeros(0)  # eta and v of the last dual; the next solve starts there

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(iteration {self._iteration}, "
            f"contexts around {self.contexts.mean.round(4).tolist()}, "
            f"{self._distance_in_words()}, "
            f"policy entropy {self.policy.entropy:.3g})"
        )

    @property
    def context_distribution(self) -> Contexts:
        """The distribution q(c) that the next contexts are drawn from."""
        return self.contexts

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Contexts (n_samples, d_c) and parameters (n_samples, d_theta) to try next."""
        contexts = self.contexts.sample(self._config.n_samples, rng, self._task.context_space)
        return contexts, self.policy.sample(contexts, rng, self._task.theta_space)

    def _distance_in_words(self) -> str:
        """How far the contexts are from the target, by the measure that exists."""
        ((name, value),) = self._distance().items()
        return f"{TO_THE_TARGET[name]} {value:.3g}"

    @abstractmethod
    def _distance(self) -> Metrics:
        """How far the contexts are from the target, named after the measure."""

    @abstractmethod
    def tell(self, samples: Samples) -> Metrics:
        """Learn from `samples`; an empty dictionary means that the buffer is still filling."""

    def _hold_min_entropy(self) -> Metrics:
        """Raise the policy's entropy to `min_entropy`, if one is set."""
        least, before = self._config.min_entropy, self.policy
        if least is not None:
            self.policy = with_entropy_floor(self.policy, least)
        return {"entropy_raised": float(self.policy is not before)}

    def _realised_kls(self, before: Pair, fitted: Pair, contexts: Array) -> Metrics:
        """KLs of this update, measured again for what a floor has changed after it was `fitted`."""
        realised: Metrics = {}
        if self.policy is not fitted[0]:
            realised["kl_policy"] = before[0].mean_kl(self.policy, contexts)
        if self.contexts is not fitted[1]:
            realised["kl_contexts"] = kl(before[1], self.contexts)
        return realised

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        return {
            "A": self.policy.A,
            "covariance": self.policy.covariance,
            **self._contexts_state(),
            "iteration": np.array(self._iteration),
            "multipliers": self._multipliers,
            **prefixed("buffer.", self._buffer.state()),
        }

    def _contexts_state(self) -> State:
        """The Gaussian of the contexts; particles are part of their mover's state."""
        if isinstance(self.contexts, Particles):
            return {}
        return {
            "context_mean": self.contexts.mean,
            "context_covariance": self.contexts.covariance,
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self.policy = LinearGaussianPolicy(self.policy.features, state["A"], state["covariance"])
        if isinstance(self.contexts, Gaussian):
            self.contexts = Gaussian(state["context_mean"], state["context_covariance"])
        self._iteration = int(state["iteration"])
        self._multipliers = np.array(state["multipliers"], dtype=float)
        self._buffer.restore(part_of(state, "buffer."))


def kl(one: Contexts, other: Contexts) -> float:
    """KL(one || other) of two distributions of the same kind."""
    if isinstance(one, Gaussian) and isinstance(other, Gaussian):
        return one.kl(other)
    assert isinstance(one, Particles)
    assert isinstance(other, Particles)
    return one.kl(other)
