"""Contextual relative entropy policy search (Sec. 2), with any teacher."""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.learners.buffer import Buffer
from selfpaced.learners.episodic import EpisodicTraining, checked_samples, part_of
from selfpaced.maths.arrays import (
    Array,
    check_at_least,
    check_number,
    check_positive,
    has_method,
)
from selfpaced.maths.fit import fit_policy
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.reps import creps_weights, effective_samples
from selfpaced.teachers.target import Target
from selfpaced.types import Metrics, Problem, Samples, State, Streams, TeacherNumbers


@dataclass(frozen=True, kw_only=True)
class CREPS:
    """C-REPS; its teacher chooses the contexts, by default from the target itself."""

    epsilon: float = 0.4  # KL bound of one update
    teacher: TeacherNumbers = field(default_factory=Target)
    n_samples: int = 50  # rollouts per iteration
    buffer_size: int = 10  # iterations whose samples are kept
    ridge: float = 1e-5  # on v in the dual, in units of the reward's temperature
    temperature_floor: float = 0.01  # of eta, in standard deviations of the buffered rewards

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        if not has_method(self.teacher, "start"):
            raise ValueError(f"teacher must be numbers such as GoalGAN(); got {self.teacher!r}")
        check_at_least("n_samples", self.n_samples, 1)
        check_at_least("buffer_size", self.buffer_size, 1)
        check_positive("ridge", self.ridge)
        if check_number("temperature_floor", self.temperature_floor) < 0.0:
            raise ValueError(f"temperature_floor must be at least 0; got {self.temperature_floor}")

    def learner(self, problem: Problem) -> "CREPSLearner":
        """The object to `ask` and `tell`, for closing the loop by hand."""
        return CREPSLearner(self, problem)

    def start(self, problem: Problem, streams: Streams) -> EpisodicTraining:
        return EpisodicTraining(self.learner(problem), problem, streams)


class CREPSLearner:
    """C-REPS between two batches: policy, teacher, buffer."""

    def __init__(self, numbers: CREPS, problem: Problem) -> None:
        self.policy: LinearGaussianPolicy = problem.initial_policy
        self.teacher = numbers.teacher.start(problem.task.context_space, problem.target)
        self._numbers = numbers
        self._problem = problem
        self._buffer = Buffer(numbers.buffer_size, problem.value_features)
        self._multipliers = np.zeros(0)  # of the last dual, the next one's warm start

    @property
    def context_distribution(self) -> Gaussian | None:
        on_target = isinstance(self._numbers.teacher, Target)
        return self._problem.target if on_target else None

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        task, n = self._problem.task, self._numbers.n_samples
        contexts = self.teacher.ask(n, rng)
        return contexts, self.policy.sample(contexts, rng, task.theta_space)

    def tell(self, samples: Samples) -> Metrics:
        numbers = self._numbers
        samples = checked_samples(samples, self._problem.task)
        self._buffer.append(samples)
        self.teacher.tell(samples.contexts, samples.rewards, samples.successes)
        if not self._buffer.full:
            return {}  # warm-up: sample, do not learn
        data, features = self._buffer.pooled(), self._buffer.features()
        # E_mu[phi_V] over the buffer's own contexts, whoever chose them. The authors draw others
        # from the target; the difference between two samples of it is noise that the weights
        # would have to follow.
        weights = creps_weights(
            data.rewards,
            features,
            features.mean(axis=0),
            epsilon=numbers.epsilon,
            ridge=numbers.ridge,
            temperature_floor=numbers.temperature_floor,
            start=self._multipliers,
        )
        fit = fit_policy(self.policy, data.contexts, data.thetas, weights.policy, numbers.epsilon)
        self.policy = fit.policy
        self._multipliers = weights.multipliers
        return {
            "eta_p": weights.eta_p,
            "kl_policy": fit.kl,
            "ess_policy": effective_samples(weights.policy),
            "newton_steps": weights.steps,
            "newton_gradient": weights.gradient,
            "dual_unconverged": float(not weights.converged),
            "epsilon_clamped": float(weights.clamped),
            "fit_kept_old": float(fit.kept_old),
        }

    def state(self) -> State:
        return {
            "A": self.policy.A,
            "covariance": self.policy.covariance,
            "multipliers": self._multipliers,
            **{f"buffer.{name}": value for name, value in self._buffer.state().items()},
            **{f"teacher.{name}": value for name, value in self.teacher.state().items()},
        }

    def restore(self, state: State) -> None:
        self.policy = LinearGaussianPolicy(self.policy.features, state["A"], state["covariance"])
        self._multipliers = np.array(state["multipliers"], dtype=float)
        self._buffer.restore(part_of(state, "buffer."))
        self.teacher.restore(part_of(state, "teacher."))
