"""Self-paced reinforcement learning, Algorithm 1 of the paper."""

from dataclasses import dataclass

import numpy as np

from selfpaced.learners.buffer import Buffer
from selfpaced.learners.episodic import EpisodicTraining, checked_samples, part_of
from selfpaced.learners.ready import (
    NARROWING,
    Ability,
    Ready,
    evidence_for_narrowing,
    floor_in_deviations,
    squared_distances,
    trust_in_evidence,
)
from selfpaced.learners.schedule import Progress, Schedule
from selfpaced.maths.arrays import (
    Array,
    check_at_least,
    check_kind,
    check_number,
    check_positive,
    has_method,
)
from selfpaced.maths.fit import as_far_as_entropy, fit_joint, fit_policy, with_entropy_floor
from selfpaced.maths.gaussian import Gaussian, with_variance_floor
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.readiness import MOVES, Move, Pace
from selfpaced.maths.reps import (
    PolicyWeights,
    Weights,
    creps_weights,
    effective_samples,
    sprl_weights,
)
from selfpaced.types import Metrics, Problem, Samples, State, Streams

Pair = tuple[LinearGaussianPolicy, Gaussian]
DECIDING = 5  # rollouts of a batch from which on its share of successes says something


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
    """Self-paced RL. The defaults are for a problem nobody has tuned.

    With a `schedule` of alpha it is Algorithm 1 of the paper: reward is weighed against the KL to
    the target. Without one, contexts move on when the learner is `ready` for them.
    """

    epsilon: float = 0.4  # KL bound of one update, contexts and policy together (Eq. 3)
    schedule: Schedule | None = None  # of alpha
    ready: Ready | None = None  # the rule where there is no schedule; `Ready()` if not given
    n_samples: int = 50  # rollouts per iteration, M
    buffer_size: int = 10  # iterations whose samples are kept
    ridge: float = 1e-5  # on v in the dual, in units of the reward's temperature
    variance_floor: VarianceFloor | None = None  # of the contexts, with a schedule
    policy_weights: PolicyWeights = "creps"  # with a schedule; or "derived", see appendix A
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
        if self.min_entropy is not None:
            check_number("min_entropy", self.min_entropy)
        if self.variance_floor is not None:
            check_kind("variance_floor", self.variance_floor, VarianceFloor)
        if self.schedule is not None and not has_method(self.schedule, "alpha"):
            raise ValueError(
                f"schedule must have a method alpha, as FractionOfReward has; got {self.schedule!r}"
            )
        if self.schedule is None and self.ready is None:
            object.__setattr__(self, "ready", Ready())
        if self.ready is not None:
            self._check_ready()

    def _check_ready(self) -> None:
        """Nothing is given that the rule would not look at."""
        check_kind("ready", self.ready, Ready)
        if self.schedule is not None:
            raise ValueError("schedule and ready exclude each other; got both")
        if self.variance_floor is not None:
            raise ValueError("variance_floor needs a schedule; ready has pace.least_deviation")
        if self.policy_weights != "creps":
            raise ValueError(f"policy_weights needs a schedule; got {self.policy_weights!r}")
        if self.n_samples < DECIDING:
            raise ValueError(
                f"n_samples must be at least {DECIDING} without a schedule, for they decide when "
                f"contexts move; got {self.n_samples}"
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
        self._policy_weights = np.zeros(0)  # of the last update
        self._pace: Pace | None = None
        self._distances = np.zeros(0)  # of the buffer's thetas, squared, from who drew them
        if numbers.ready is not None:
            box = problem.task.context_space
            self._pace = Pace(numbers.ready.pace, box, problem.target, self.contexts)
            bound = numbers.ready.reward_bound
            self._ability = Ability(None if bound is None else bound + problem.reward_shift)

    @property
    def context_distribution(self) -> Gaussian:
        return self.contexts

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        contexts = self.contexts.sample(self._numbers.n_samples, rng, self._task.context_space)
        return contexts, self.policy.sample(contexts, rng, self._task.theta_space)

    def tell(self, samples: Samples) -> Metrics:
        samples = checked_samples(samples, self._task)
        if self._pace is not None and len(samples) < DECIDING:
            raise ValueError(
                f"samples must hold at least {DECIDING} rollouts without a schedule, for they "
                f"decide when contexts move; got {len(samples)}"
            )
        self._buffer.append(samples)
        if self._pace is not None:
            drawn = squared_distances(self.policy, samples)
            self._distances = np.concatenate([self._distances, drawn])
        if not self._buffer.full:
            return {}  # warm-up: sample, do not learn
        self._iteration += 1
        data = self._buffer.pooled()
        ready = self._numbers.ready
        metrics = self._weighed(data) if ready is None else self._readied(ready, data, samples)
        return {**metrics, "kl_to_target": self.contexts.kl(self._target)}

    def _weighed(self, data: Samples) -> Metrics:
        """Algorithm 1: one update of policy and contexts, alpha KL against reward."""
        log_ratio = self._target.log_prob(data.contexts) - self.contexts.log_prob(data.contexts)
        alpha = self._alpha(data.rewards, -float(log_ratio.mean()))  # update schedule
        before = self.policy, self.contexts
        metrics = self._joint_update(data, log_ratio, alpha)
        fitted = self.policy, self.contexts
        floors = self._hold_floors(data.contexts)
        moved = self._moved(before, fitted, data.contexts)
        return {"alpha": alpha, **metrics, **floors, **moved}

    def _moved(self, before: Pair, fitted: Pair, contexts: Array) -> Metrics:
        """The realised KLs of what was changed after it was `fitted`."""
        found: Metrics = {}
        if self.policy is not fitted[0]:
            found["kl_policy"] = before[0].mean_kl(self.policy, contexts)
        if self.contexts is not fitted[1]:
            found["kl_contexts"] = before[1].kl(self.contexts)
        return found

    def _joint_update(self, data: Samples, log_ratio: Array, alpha: float) -> Metrics:
        numbers = self._numbers
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
        return {
            **self._of_weights(weights),
            "eta_mu": weights.eta_mu,
            "kl_policy": fit.kl_policy,
            "kl_contexts": fit.kl_contexts,
            "ess_contexts": effective_samples(weights.contexts),
            "fit_kept_old": float(fit.kept_old),
        }

    def _of_weights(self, weights: Weights) -> Metrics:
        """What the dual did; its minimum is where the next one starts."""
        self._multipliers = weights.multipliers
        self._policy_weights = weights.policy
        return {
            "eta_p": weights.eta_p,
            "ess_policy": effective_samples(weights.policy),
            "newton_steps": weights.steps,
            "newton_gradient": weights.gradient,
            "dual_unconverged": float(not weights.converged),
            "epsilon_clamped": float(weights.clamped),
        }

    def _readied(self, ready: Ready, data: Samples, newest: Samples) -> Metrics:
        """Policy and contexts apart: contexts move when the policy can do the current ones."""
        pace = self._pace
        assert pace is not None
        self._distances = self._distances[-len(data) :]
        able = self._ability.of(newest, data.rewards)
        move, before = pace.decide(able), (self.policy, self.contexts)
        metrics: Metrics = {"kl_policy": 0.0}
        learns = np.ptp(data.rewards) > 0.0  # else there is nothing to learn from
        if move != "search":
            pace.go(move)
            if learns:
                metrics = self._policy_update(data, ready.temperature_floor)
        elif learns:  # where can anything be done? Joint REPS, as in the paper's first phase
            metrics = self._joint_update(data, np.zeros(len(data)), 0.0)
            pace.found(self.contexts)
        self.contexts = pace.contexts
        metrics["kl_contexts"] = before[1].kl(self.contexts)
        fitted = self.policy, self.contexts
        if learns:
            self._keep_entropy(ready, before[0], move)
        metrics |= self._hold_entropy() | self._moved(before, fitted, data.contexts)
        return {"able": able, "move": float(MOVES.index(move)), **metrics}

    def _keep_entropy(self, ready: Ready, old: LinearGaussianPolicy, move: Move) -> None:
        """The policy narrows as far as there is evidence for, not at all while contexts move on."""
        if ready.hold_entropy and move == "on" and self.contexts.kl(self._target) >= ready.until_kl:
            self.policy = as_far_as_entropy(old, self.policy, old.entropy)
        elif ready.narrow_by_evidence:
            weights, d = self._policy_weights, old.dimension
            evidence = evidence_for_narrowing(self._distances, weights)
            evidence *= NARROWING * trust_in_evidence(weights, self._numbers.buffer_size, d)
            self.policy = as_far_as_entropy(old, self.policy, old.entropy + evidence * d)

    def _policy_update(self, data: Samples, temperature_floor: float) -> Metrics:
        numbers, features = self._numbers, self._buffer.features()
        weights = creps_weights(
            data.rewards,
            features,
            features.mean(axis=0),
            epsilon=numbers.epsilon,
            ridge=numbers.ridge,
            temperature_floor=floor_in_deviations(
                data.rewards, self._ability.usual, temperature_floor
            ),
            start=self._multipliers,
        )
        fit = fit_policy(self.policy, data.contexts, data.thetas, weights.policy, numbers.epsilon)
        self.policy = fit.policy
        metrics = self._of_weights(weights)
        return {**metrics, "kl_policy": fit.kl, "fit_kept_old": float(fit.kept_old)}

    def _alpha(self, rewards: Array, kl: float) -> float:
        mean_reward = float(rewards.mean())
        if self._iteration == 1:
            self._first_reward = mean_reward
        exact = self.contexts.kl(self._target)
        progress = Progress(self._iteration, mean_reward, self._first_reward, kl, exact)
        schedule = self._numbers.schedule
        alpha = 0.0 if schedule is None else schedule.alpha(progress)
        if not (np.isfinite(alpha) and alpha >= 0):
            raise ValueError(f"schedule must give a finite alpha of at least 0; got {alpha}")
        return alpha

    def _hold_floors(self, contexts: Array) -> Metrics:
        """Raise the contexts' variance and the policy's entropy to their floors, if set."""
        floor, before = self._numbers.variance_floor, self.contexts
        if floor is not None:
            densities = self.contexts.log_prob(contexts) - self._target.log_prob(contexts)
            if densities.mean() > floor.until_kl:
                self.contexts = with_variance_floor(self.contexts, floor.variance)
        raised = not np.array_equal(self.contexts.covariance, before.covariance)
        return {"variance_raised": float(raised), **self._hold_entropy()}

    def _hold_entropy(self) -> Metrics:
        least, before = self._numbers.min_entropy, self.policy
        if least is not None:
            self.policy = with_entropy_floor(self.policy, least)
        return {"entropy_raised": float(self.policy is not before)}

    def state(self) -> State:
        return {
            "A": self.policy.A,
            "covariance": self.policy.covariance,
            "context_mean": self.contexts.mean,
            "context_covariance": self.contexts.covariance,
            "iteration": np.array(self._iteration),
            "first_reward": np.array(self._first_reward),
            "multipliers": self._multipliers,
            **self._ready_state(),
            **{f"buffer.{name}": value for name, value in self._buffer.state().items()},
        }

    def _ready_state(self) -> State:
        if self._pace is None:
            return {}
        known = {f"pace.{name}": value for name, value in self._pace.arrays().items()}
        ability = [self._ability.first, self._ability.usual, self._ability.largest]
        return {**known, "ability": np.array(ability), "distances": self._distances}

    def restore(self, state: State) -> None:
        self.policy = LinearGaussianPolicy(self.policy.features, state["A"], state["covariance"])
        self.contexts = Gaussian(state["context_mean"], state["context_covariance"])
        self._iteration = int(state["iteration"])
        self._first_reward = float(state["first_reward"])
        self._multipliers = np.array(state["multipliers"], dtype=float)
        self._buffer.restore(part_of(state, "buffer."))
        if self._pace is not None:
            self._pace.restore(part_of(state, "pace."))
            self._distances = np.array(state["distances"], dtype=float)
            ability = self._ability
            ability.first, ability.usual, ability.largest = state["ability"].tolist()
