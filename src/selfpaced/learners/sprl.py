"""Self-paced reinforcement learning: its configuration, and Algorithm 1 of the paper."""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.learners.episodic import EpisodicTraining, checked_samples
from selfpaced.learners.mastery_pacing import Mastery, buffered_batches
from selfpaced.learners.sprl_base import SelfPacedLearner
from selfpaced.learners.sprl_mastery import MasteryLearner
from selfpaced.learners.update_metrics import joint_metrics
from selfpaced.maths.arrays import (
    Array,
    check_at_least,
    check_kind,
    check_number,
    check_positive,
    has_method,
)
from selfpaced.maths.gaussian import Gaussian, with_variance_floor
from selfpaced.maths.kl_bounded_fit import fit_joint
from selfpaced.maths.randomness import Streams
from selfpaced.maths.reps import PolicyWeights, sprl_weights
from selfpaced.maths.schedule import Progress, Schedule, checked_alpha
from selfpaced.targets.target import density_of, require_density
from selfpaced.types import Metrics, Problem, Samples, State


@dataclass(frozen=True, kw_only=True)
class VarianceFloor:
    """Keeps the contexts wide until they are near the target (appendix, "Reacher Experiment")."""

    variance: float
    """Smallest variance of every context dimension, in the context's own squared unit."""
    until_kl: float
    """The floor holds while the sampled KL of the contexts to the target exceeds this, in nats."""

    def __post_init__(self) -> None:
        check_positive("variance", self.variance)
        check_positive("until_kl", self.until_kl)


@dataclass(frozen=True, kw_only=True)
class Alpha:
    """Pacing of the paper: alpha weighs the KL to the target against the reward (Algorithm 1).

    >>> from selfpaced import SPRL, Alpha, FractionOfReward
    >>> SPRL(pacing=Alpha(schedule=FractionOfReward(zeta=0.02, k_alpha=140))).pacing.policy_weights
    'creps'
    """

    schedule: Schedule
    """How alpha grows: `FractionOfReward`, `FractionOfGain`, or anything with `alpha(progress)`."""
    variance_floor: VarianceFloor | None = None
    """Lower bound of the contexts' variances until they are near the target; None for no bound."""
    policy_weights: PolicyWeights = "creps"
    """Sample weights of the policy: "creps" as in the paper's experiments, or "derived" from the
    optimality conditions of the joint problem (appendix A)."""

    def __post_init__(self) -> None:
        if not has_method(self.schedule, "alpha"):
            raise ValueError(
                f"schedule must have a method alpha, as FractionOfReward has; got {self.schedule!r}"
            )
        if self.variance_floor is not None:
            check_kind("variance_floor", self.variance_floor, VarianceFloor)
        if self.policy_weights not in ("creps", "derived"):
            raise ValueError(
                f"policy_weights must be 'creps' or 'derived'; got {self.policy_weights!r}"
            )


Pacing = Alpha | Mastery


@dataclass(frozen=True, kw_only=True)
class SPRL:
    """Self-paced RL: learns a policy and moves the contexts it practises on to the target.

    `SPRL()` needs no schedule: its contexts move on when they are mastered (`Mastery`).
    `SPRL(pacing=Alpha(schedule=...))` is Algorithm 1 of the paper.

    >>> import numpy as np
    >>> from selfpaced import SPRL, Box, FunctionTask, Gaussian, Problem, train
    >>> def reach(contexts, thetas):
    ...     miss = np.abs(thetas - contexts)[:, 0]
    ...     return -miss, miss < 0.1
    >>> task = FunctionTask(reach, Box([-1], [1]), Box([-2], [2]))
    >>> run = train(Problem(task, Gaussian([0.9], [[1e-4]])), SPRL(), seed=0, iterations=60)
    >>> run.success > 0.9
    True
    """

    epsilon: float = 0.4
    """KL bound of one update, in nats; with `Alpha`, of contexts and policy together (Eq. 3).

    Larger learns faster from many samples; with few samples it makes the policy collapse.
    """
    pacing: Pacing = field(default_factory=Mastery)
    """How the contexts move to the target: `Mastery()` or `Alpha(schedule=...)`."""
    n_samples: int = 50
    """Rollouts per iteration, M in the paper. At least 5 with `Mastery`."""
    buffer_size: int | None = None
    """Iterations whose samples are kept; an update uses n_samples * buffer_size of them.

    None: with `Mastery`, as many as hold 60 rollouts per parameter of the policy and 100 per
    feature of its contexts, at least 300 and at most 500 rollouts, or up to 850 if the target
    covers the space of contexts; with `Alpha` 10. Fewer learn faster, and lose more runs.
    """
    ridge: float = 1e-5
    """Ridge on the value weights v in the dual, in units of the reward's temperature."""
    min_entropy: float | None = None
    """Lower bound of the policy's entropy, in nats (the paper's future work); None for no bound."""

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_at_least("n_samples", self.n_samples, 1)
        if self.buffer_size is not None:
            check_at_least("buffer_size", self.buffer_size, 1)
        check_positive("ridge", self.ridge)
        if self.min_entropy is not None:
            check_number("min_entropy", self.min_entropy)
        if not isinstance(self.pacing, Alpha | Mastery):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"pacing must be Mastery(...) or Alpha(schedule=...); got {self.pacing!r}"
            )
        if isinstance(self.pacing, Mastery) and self.n_samples < Mastery.LEAST_SAMPLES:
            raise ValueError(
                f"n_samples must be at least {Mastery.LEAST_SAMPLES} with Mastery, because they "
                f"decide when contexts move; got {self.n_samples}"
            )

    def batches_kept(self, problem: Problem) -> int:
        """Iterations whose samples are kept for updates of the policy of `problem`."""
        if self.buffer_size is not None:
            return self.buffer_size
        if isinstance(self.pacing, Alpha):
            return 10  # as in all but one of the paper's experiments (Table 1)
        return buffered_batches(problem, self.n_samples)

    def learner(self, problem: Problem) -> SelfPacedLearner:
        """The object to `ask` and `tell`, for closing the loop by hand."""
        if isinstance(self.pacing, Mastery):
            return MasteryLearner(self, self.pacing, problem)
        return AlphaLearner(self, self.pacing, problem)

    def start(self, problem: Problem, streams: Streams) -> EpisodicTraining:
        """A new training on `problem` that draws from `streams`."""
        return EpisodicTraining(self.learner(problem), problem, streams)


class AlphaLearner(SelfPacedLearner):
    """Algorithm 1 between two batches."""

    def __init__(self, config: SPRL, pacing: Alpha, problem: Problem) -> None:
        space, initial = problem.task.context_space, problem.initial_contexts
        who = "SPRL(pacing=Alpha(...))"
        require_density(problem.target, who, "SPRL()")
        if not space.ordered or not isinstance(initial, Gaussian):
            raise ValueError(
                f"{who} draws contexts from a Gaussian, so initial_contexts must be one and the "
                f"space must have an order; use SPRL(); got {initial!r} in {space!r}"
            )
        super().__init__(config, problem, initial)
        self._density = density_of(problem.target, space)
        self._pacing = pacing
        self._sampled_kl = np.nan  # to the target, over the buffer; nan before the first update
        self._first_reward = np.nan  # mean reward of the first full buffer

    @property
    def _gaussian(self) -> Gaussian:
        """The contexts' Gaussian: this pacing never has particles."""
        assert isinstance(self.contexts, Gaussian)
        return self.contexts

    def tell(self, samples: Samples) -> Metrics:
        """One iteration of Algorithm 1; an empty dictionary while the buffer fills."""
        self._buffer.append(checked_samples(samples, self._task))
        if not self._buffer.full:
            return {}  # warm-up: sample, do not learn
        self._iteration += 1
        data = self._buffer.pooled()
        log_ratio = self._density.log_prob(data.contexts) - self._gaussian.log_prob(data.contexts)
        self._sampled_kl = -float(log_ratio.mean())
        alpha = self._alpha(data.rewards, log_ratio)  # update schedule
        weights = sprl_weights(  # optimise dual, calculate sample weights
            data.rewards,
            log_ratio,
            self._buffer.features(),
            alpha=alpha,
            epsilon=self._config.epsilon,
            ridge=self._config.ridge,
            start=self._multipliers,
            policy_weights=self._pacing.policy_weights,
        )
        fit = fit_joint(  # infer policy and context distributions
            self.policy,
            self._gaussian,
            data.contexts,
            data.thetas,
            weights.policy,
            weights.contexts,
            self._config.epsilon,
        )
        before = self.policy, self.contexts
        self.policy, self.contexts = fit.policy, fit.contexts  # assign
        self._multipliers = weights.multipliers
        floors = self._hold_variance_floor(data.contexts) | self._hold_min_entropy()
        realised = self._realised_kls(before, (fit.policy, fit.contexts), data.contexts)
        return {
            "alpha": alpha,
            **joint_metrics(weights, fit),
            **floors,
            **realised,
            **self._distance(),
        }

    def _distance(self) -> Metrics:
        """The KL to the target: exact for a Gaussian, else of the samples before this update."""
        if isinstance(self._target, Gaussian):
            return {"kl_to_target": self._gaussian.kl(self._target)}
        return {"sampled_kl_to_target": self._sampled_kl}

    def _alpha(self, rewards: Array, log_ratio: Array) -> float:
        """alpha of this update. The schedule gets the sampled and the exact KL to the target."""
        mean_reward = float(rewards.mean())
        if self._iteration == 1:
            self._first_reward = mean_reward
        progress = Progress(
            iteration=self._iteration,
            mean_reward=mean_reward,
            first_reward=self._first_reward,
            kl=-float(log_ratio.mean()),
            exact_kl=next(iter(self._distance().values())),
        )
        return checked_alpha(self._pacing.schedule, progress)

    def _hold_variance_floor(self, contexts: Array) -> Metrics:
        """Raise the contexts' variances to their floor, if one is set and the target is far."""
        floor, before = self._pacing.variance_floor, self._gaussian
        if floor is not None:
            densities = self._gaussian.log_prob(contexts) - self._density.log_prob(contexts)
            if densities.mean() > floor.until_kl:
                self.contexts = with_variance_floor(self._gaussian, floor.variance)
        raised = not np.array_equal(self._gaussian.covariance, before.covariance)
        return {"variance_raised": float(raised)}

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        sampled = {} if isinstance(self._target, Gaussian) else {"kl": np.array(self._sampled_kl)}
        return {**super().state(), "first_reward": np.array(self._first_reward), **sampled}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        self._first_reward = float(state["first_reward"])
        self._sampled_kl = float(state.get("kl", np.nan))
