"""Contextual relative entropy policy search (C-REPS, Sec. 2 of the paper), with any teacher.

C-REPS learns a policy from the contexts that it is given; a teacher chooses them. It is the
paper's baseline, and the learner of GoalGAN and SAGG-RIAC in its experiments.
"""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.learners.buffer import Buffer
from selfpaced.learners.episodic import EpisodicTraining, checked_samples
from selfpaced.learners.update_metrics import dual_metrics
from selfpaced.maths.arrays import (
    Array,
    check_at_least,
    check_number,
    check_positive,
    has_method,
)
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.kl_bounded_fit import fit_policy
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.randomness import Streams
from selfpaced.maths.reps import creps_weights
from selfpaced.teachers.target import TargetTeacher
from selfpaced.types import (
    Metrics,
    Problem,
    Samples,
    State,
    TeacherConfig,
    part_of,
    prefixed,
)


@dataclass(frozen=True, kw_only=True)
class CREPS:
    """C-REPS: learns a policy on contexts that its teacher chooses, by default from the target.

    >>> import numpy as np
    >>> from selfpaced import CREPS, Box, CurrOT, FunctionTask, Gaussian, Problem, train
    >>> def reach(contexts, thetas):
    ...     miss = np.abs(thetas - contexts)[:, 0]
    ...     return -miss, miss < 0.1
    >>> task = FunctionTask(reach, Box([-1], [1]), Box([-2], [2]))
    >>> problem = Problem(task, Gaussian([0.9], [[1e-4]]))
    >>> train(problem, CREPS(teacher=CurrOT()), seed=0, iterations=40).success > 0.9
    True
    """

    epsilon: float = 0.4
    """KL bound of one update of the policy, in nats.

    Larger learns faster from many samples; with few samples it makes the policy collapse.
    """
    teacher: TeacherConfig = field(default_factory=TargetTeacher)
    """Configuration of the teacher that chooses the contexts, such as `CurrOT()`."""
    n_samples: int = 50
    """Rollouts per iteration."""
    buffer_size: int = 10
    """Iterations whose samples are kept; an update uses n_samples * buffer_size of them."""
    ridge: float = 1e-5
    """Ridge on the value weights v in the dual, in units of the reward's temperature."""
    temperature_floor: float = 0.01
    """Smallest temperature eta, in standard deviations of the buffered rewards; 0 for no floor."""

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        if not has_method(self.teacher, "start"):
            raise ValueError(
                f"teacher must be a configuration such as GoalGAN(); got {self.teacher!r}"
            )
        check_at_least("n_samples", self.n_samples, 1)
        check_at_least("buffer_size", self.buffer_size, 1)
        check_positive("ridge", self.ridge)
        if check_number("temperature_floor", self.temperature_floor) < 0.0:
            raise ValueError(f"temperature_floor must be at least 0; got {self.temperature_floor}")

    def learner(self, problem: Problem) -> "CREPSLearner":
        """The object to `ask` and `tell`, for closing the loop by hand."""
        return CREPSLearner(self, problem)

    def start(self, problem: Problem, streams: Streams) -> EpisodicTraining:
        """A new training on `problem` that draws from `streams`."""
        return EpisodicTraining(self.learner(problem), problem, streams)


class CREPSLearner:
    """C-REPS between two batches: policy, teacher, buffer."""

    def __init__(self, config: CREPS, problem: Problem) -> None:
        self.policy: LinearGaussianPolicy = problem.initial_policy
        self.teacher = config.teacher.start(problem.task.context_space, problem.target)
        self._config = config
        self._problem = problem
        self._buffer = Buffer(config.buffer_size, problem.value_features)
        self._multipliers = np.zeros(0)  # eta and v of the last dual; the next solve starts there

    def __repr__(self) -> str:
        return (
            f"CREPSLearner({self.teacher!r}, {self._buffer!r}, "
            f"policy entropy {self.policy.entropy:.3g})"
        )

    @property
    def context_distribution(self) -> Gaussian | None:
        """The target if contexts are drawn from it and it is Gaussian; None with other teachers."""
        target = self._problem.target
        on_target = isinstance(self._config.teacher, TargetTeacher)
        return target if on_target and isinstance(target, Gaussian) else None

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Contexts (n_samples, d_c) of the teacher and parameters (n_samples, d_theta) to try."""
        task, n = self._problem.task, self._config.n_samples
        contexts = self.teacher.ask(n, rng)
        return contexts, self.policy.sample(contexts, rng, task.theta_space)

    def tell(self, samples: Samples) -> Metrics:
        """Update the policy and tell the teacher; an empty dictionary while the buffer fills."""
        config = self._config
        samples = checked_samples(samples, self._problem.task)
        self._buffer.append(samples)
        self.teacher.tell(samples.contexts, samples.rewards, samples.successes)
        if not self._buffer.full:
            return {}  # warm-up: sample, do not learn
        data, features = self._buffer.pooled(), self._buffer.features()
        # E_mu[phi_V] is the mean over the buffer's own contexts, whoever chose them. The authors
        # draw other contexts from the target instead. Two samples of the target differ by chance,
        # and the weights would have to follow that noise.
        weights = creps_weights(
            data.rewards,
            features,
            features.mean(axis=0),
            epsilon=config.epsilon,
            ridge=config.ridge,
            temperature_floor=config.temperature_floor,
            start=self._multipliers,
        )
        fit = fit_policy(self.policy, data.contexts, data.thetas, weights.policy, config.epsilon)
        self.policy = fit.policy
        self._multipliers = weights.multipliers
        return {
            "eta_p": weights.eta_p,  # before kl_policy, as in stored records
            "kl_policy": fit.kl,
            **dual_metrics(weights),
            "fit_kept_old": float(fit.kept_old),
        }

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        return {
            "A": self.policy.A,
            "covariance": self.policy.covariance,
            "multipliers": self._multipliers,
            **prefixed("buffer.", self._buffer.state()),
            **prefixed("teacher.", self.teacher.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self.policy = LinearGaussianPolicy(self.policy.features, state["A"], state["covariance"])
        self._multipliers = np.array(state["multipliers"], dtype=float)
        self._buffer.restore(part_of(state, "buffer."))
        self.teacher.restore(part_of(state, "teacher."))
