"""Self-paced reinforcement learning, Algorithm 1 of the paper."""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.learners.buffer import Buffer
from selfpaced.learners.episodic import EpisodicTraining, checked_samples, part_of
from selfpaced.learners.schedule import FractionOfGain, Progress, Schedule
from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.fit import fit_joint, with_entropy_floor
from selfpaced.maths.gaussian import Gaussian, with_variance_floor
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.reps import PolicyWeights, effective_samples, sprl_weights
from selfpaced.types import Metrics, Problem, Samples, State, Streams


@dataclass(frozen=True, kw_only=True)
class VarianceFloor:
    """Keeps the contexts wide until they are near the target (appendix, "Reacher")."""

    variance: float  # least variance of every context dimension
    until_kl: float  # the floor holds while the contexts are farther than this from the target

    def __post_init__(self) -> None:
        check_positive("variance", self.variance)
        check_positive("until_kl", self.until_kl)


@dataclass(frozen=True, kw_only=True)
class SPRL:
    """Self-paced RL (Algorithm 1). The defaults are for a problem nobody has tuned."""

    epsilon: float = 0.4  # KL bound of one update, contexts and policy together (Eq. 3)
    schedule: Schedule = field(default_factory=FractionOfGain)  # of alpha
    n_samples: int = 50  # rollouts per iteration, M
    buffer_size: int = 10  # iterations whose samples are kept
    ridge: float = 1e-5  # on v in the dual, in units of the reward's temperature
    variance_floor: VarianceFloor | None = None  # of the contexts
    policy_weights: PolicyWeights = "creps"  # or "derived", see appendix A
    min_entropy: float | None = None  # of the policy, in nats (the paper's future work)

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_at_least("n_samples", self.n_samples, 1)
        check_at_least("buffer_size", self.buffer_size, 1)
        check_positive("ridge", self.ridge)
        if self.policy_weights not in ("creps", "derived"):
            raise ValueError(
                f"policy_weights must be 'creps' or 'derived'; got {self.policy_weights!r}"
            )

    def learner(self, problem: Problem) -> "SPRLLearner":
        """The object to `ask` and `tell`, for closing the loop by hand."""
        return SPRLLearner(self, problem)

    def start(self, problem: Problem, streams: Streams) -> EpisodicTraining:
        return EpisodicTraining(self.learner(problem), problem, streams)


class SPRLLearner:
    """SPRL between two batches: policy, context distribution, buffer."""

    def __init__(self, numbers: SPRL, problem: Problem) -> None:
        if numbers.min_entropy is not None and problem.initial_policy.entropy < numbers.min_entropy:
            raise ValueError(
                f"min_entropy must not be above the initial policy's entropy, "
                f"{problem.initial_policy.entropy:.4g} nats; got {numbers.min_entropy}"
            )
        self.policy: LinearGaussianPolicy = problem.initial_policy
        self.contexts: Gaussian = problem.initial_contexts
        self._numbers = numbers
        self._task, self._target = problem.task, problem.target
        self._buffer = Buffer(numbers.buffer_size, problem.value_features)
        self._iteration = 0
        self._first_reward = np.nan
        self._multipliers = np.zeros(0)  # of the last dual, the next one's warm start

    @property
    def context_distribution(self) -> Gaussian:
        return self.contexts

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        contexts = self.contexts.sample(self._numbers.n_samples, rng, self._task.context_space)
        return contexts, self.policy.sample(contexts, rng, self._task.theta_space)

    def tell(self, samples: Samples) -> Metrics:
        numbers = self._numbers
        self._buffer.append(checked_samples(samples, self._task))
        if not self._buffer.full:
            return {}  # warm-up: sample, do not learn
        data = self._buffer.pooled()
        self._iteration += 1

        log_ratio = self._target.log_prob(data.contexts) - self.contexts.log_prob(data.contexts)
        alpha = self._alpha(data.rewards, -float(log_ratio.mean()))  # update schedule
        weights = sprl_weights(  # optimise dual, calculate sample weights
            data.rewards,
            log_ratio,
            self._buffer.features(),
            alpha=alpha,
            epsilon=numbers.epsilon,
            ridge=numbers.ridge,
            start=self._multipliers,
            policy_weights=numbers.policy_weights,
        )
        fit = fit_joint(  # infer policy and context distributions
            self.policy,
            self.contexts,
            data.contexts,
            data.thetas,
            weights.policy,
            weights.contexts,
            numbers.epsilon,
        )
        self.policy, self.contexts = fit.policy, fit.contexts  # assign
        self._multipliers = weights.multipliers
        return {
            "alpha": alpha,
            "eta_p": weights.eta_p,
            "eta_mu": weights.eta_mu,
            "kl_policy": fit.kl_policy,
            "kl_contexts": fit.kl_contexts,
            "ess_policy": effective_samples(weights.policy),
            "ess_contexts": effective_samples(weights.contexts),
            "newton_steps": weights.steps,
            "newton_gradient": weights.gradient,
            "dual_unconverged": float(not weights.converged),
            "epsilon_clamped": float(weights.clamped),
            "fit_kept_old": float(fit.kept_old),
            **self._hold_floors(data.contexts),
            "kl_to_target": self.contexts.kl(self._target),
        }

    def _alpha(self, rewards: Array, kl: float) -> float:
        mean_reward = float(rewards.mean())
        if self._iteration == 1:
            self._first_reward = mean_reward
        progress = Progress(self._iteration, mean_reward, self._first_reward, kl)
        alpha = self._numbers.schedule.alpha(progress)
        if not (np.isfinite(alpha) and alpha >= 0):
            raise ValueError(f"schedule must give a finite alpha of at least 0; got {alpha}")
        return alpha

    def _hold_floors(self, contexts: Array) -> Metrics:
        """Raise the contexts' variance and the policy's entropy to their floors, if set."""
        floor, least = self._numbers.variance_floor, self._numbers.min_entropy
        before = self.contexts, self.policy
        if floor is not None:
            densities = self.contexts.log_prob(contexts) - self._target.log_prob(contexts)
            if densities.mean() > floor.until_kl:
                self.contexts = with_variance_floor(self.contexts, floor.variance)
        if least is not None:
            self.policy = with_entropy_floor(self.policy, least)
        raised = [
            not np.array_equal(self.contexts.covariance, before[0].covariance),
            self.policy is not before[1],
        ]
        return {"variance_raised": float(raised[0]), "entropy_raised": float(raised[1])}

    def state(self) -> State:
        return {
            "A": self.policy.A,
            "covariance": self.policy.covariance,
            "context_mean": self.contexts.mean,
            "context_covariance": self.contexts.covariance,
            "iteration": np.array(self._iteration),
            "first_reward": np.array(self._first_reward),
            "multipliers": self._multipliers,
            **{f"buffer.{name}": value for name, value in self._buffer.state().items()},
        }

    def restore(self, state: State) -> None:
        self.policy = LinearGaussianPolicy(self.policy.features, state["A"], state["covariance"])
        self.contexts = Gaussian(state["context_mean"], state["context_covariance"])
        self._iteration = int(state["iteration"])
        self._first_reward = float(state["first_reward"])
        self._multipliers = np.array(state["multipliers"], dtype=float)
        self._buffer.restore(part_of(state, "buffer."))
