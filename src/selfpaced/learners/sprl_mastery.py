"""SPRL without a schedule: contexts move on when the current ones are mastered.

The rule, which judges contexts and moves them, is in `maths/mastery_rule.py`. This file adds the
policy, which C-REPS updates on the contexts that the rule has chosen.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from selfpaced.learners.episodic import checked_samples
from selfpaced.learners.mastery_judge import MasteryJudge
from selfpaced.learners.sprl_base import SelfPacedLearner, kl
from selfpaced.learners.update_metrics import dual_metrics, joint_metrics
from selfpaced.maths.arrays import (
    Array,
    check_at_least,
    check_kind,
    check_number,
    check_positive,
)
from selfpaced.maths.kl_bounded_fit import fit_joint, fit_policy, moved_back_until_entropy
from selfpaced.maths.mastery_rule import MOVES, ContextMover, MasteryRule, Move
from selfpaced.maths.narrowing_evidence import (
    entropy_that_may_go,
    floor_without_disasters,
    squared_distances,
)
from selfpaced.maths.particle_rule import ParticleMover
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.reps import Weights, creps_weights, reps_weights
from selfpaced.maths.success_values import values_of
from selfpaced.teachers.context_movers import mover_of
from selfpaced.types import Metrics, Problem, Samples, State, part_of, prefixed

if TYPE_CHECKING:
    from selfpaced.learners.sprl import SPRL

BUFFERED = 300, 850  # rollouts that a buffer of the default size holds, at least and at most
EQUAL = 1e-150  # largest difference of rewards that counts as none: its square is no normal float


@dataclass(frozen=True, kw_only=True)
class Mastery:
    """Pacing without a schedule: contexts move to the target in steps, each when mastered.

    The policy learns by C-REPS on the current contexts. Every part can be switched off.

    >>> from selfpaced import SPRL, Mastery
    >>> SPRL() == SPRL(pacing=Mastery())
    True
    >>> by_reward = SPRL(pacing=Mastery(reward_threshold=0.8))
    """

    LEAST_SAMPLES: ClassVar[int] = 5
    """Smallest number of rollouts in a batch; fewer say too little about a success rate."""

    rule: MasteryRule = field(default_factory=MasteryRule)
    """Thresholds and step size of the contexts' moves."""
    decide_by: int = 50
    """Newest rollouts, at least, whose success rate decides on a move; whole batches count."""
    search_epsilon: float | None = 0.7
    """KL bound of one update during the search, in nats; None for `SPRL.epsilon`.

    The search has to narrow a policy that knows nothing, which takes most of a run's rollouts.
    """
    follow_successes: bool = True
    """Where rewards disagree with successes, updates follow successes and ranks of rewards.

    The formula is in `maths/success_values.py`.
    """
    narrow_contexts: bool = True
    """Contexts that stay become narrower, until the policy can serve all of them.

    This is for Gaussian targets (`maths/mastery_rule.py`); particles keep their width.
    """
    hold_entropy: bool = True
    """Updates may not lower the policy's entropy while contexts move, far from the target.

    Far means that their KL to the target is at least `until_kl`.
    """
    until_kl: float = 1.0
    """KL of the contexts to the target, in nats, below which `hold_entropy` has no effect."""
    narrow_by_evidence: bool = True
    """Other updates lower the policy's entropy only as far as samples justify it.

    The formula is in `maths/narrowing_evidence.py`.
    """
    temperature_floor: float = 0.1
    """Smallest temperature eta of C-REPS, in standard deviations of the rewards without disasters.

    A higher floor makes rare failures count for more.
    """
    reward_threshold: float | None = None
    """Reward from which a rollout counts as a success.

    If None, the task's own successes count. If the task reports none, what counts is how far the
    mean reward has come from that of the initial policy to the best tenth of the buffer.
    """

    def __post_init__(self) -> None:
        check_kind("rule", self.rule, MasteryRule)
        check_positive("until_kl", self.until_kl)
        if self.reward_threshold is not None:
            check_number("reward_threshold", self.reward_threshold)
        check_at_least("decide_by", self.decide_by, 1)
        if self.search_epsilon is not None:
            check_positive("search_epsilon", self.search_epsilon)
        switches = ("follow_successes", "narrow_contexts", "hold_entropy", "narrow_by_evidence")
        for name in switches:
            check_kind(name, getattr(self, name), bool)
        if check_number("temperature_floor", self.temperature_floor) < 0.0:
            raise ValueError(f"temperature_floor must be at least 0; got {self.temperature_floor}")


def buffered_batches(policy: LinearGaussianPolicy, n_samples: int) -> int:
    """Batches of `n_samples` rollouts that an update of `policy` needs.

    They hold 60 rollouts per parameter and 100 per feature of the context, whichever is more,
    within the bounds of `BUFFERED`, and there are at least two. Rollouts to the target grow in
    proportion to the buffer; with a smaller one more runs are lost.
    """
    needed = max(60 * policy.dimension, 100 * policy.features.outputs)
    rollouts = float(np.clip(needed, *BUFFERED))
    return max(2, int(np.ceil(rollouts / n_samples)))


class MasteryLearner(SelfPacedLearner):
    """SPRL by mastery, between two batches."""

    def __init__(self, config: "SPRL", pacing: Mastery, problem: Problem) -> None:
        self._pacing, threshold = pacing, pacing.reward_threshold
        self._mover = mover_of(
            pacing.rule,
            problem.task.context_space,
            problem.target,
            problem.initial_contexts,
            narrows=pacing.narrow_contexts,
        )
        super().__init__(config, problem, self._mover.contexts)
        self._judge = MasteryJudge(None if threshold is None else threshold + problem.reward_shift)
        # Squared Mahalanobis distance of each buffered theta from the mean of the policy that drew
        # it.
        self._distances = np.zeros(0)

    def tell(self, samples: Samples) -> Metrics:
        """Judge the newest rollouts, move the contexts, then update the policy on them."""
        samples = checked_samples(samples, self._task)
        if len(samples) < Mastery.LEAST_SAMPLES:
            raise ValueError(
                f"samples must hold at least {Mastery.LEAST_SAMPLES} rollouts with Mastery, "
                f"because they decide when contexts move; got {len(samples)}"
            )
        self._buffer.append(samples)
        drawn = squared_distances(self.policy, samples.contexts, samples.thetas)
        self._distances = np.concatenate([self._distances, drawn])
        if not self._buffer.full:
            return {}  # warm-up: sample, do not learn
        self._iteration += 1
        data = self._buffer.pooled()
        self._distances = self._distances[-len(data) :]
        newest = self._buffer.newest(self._pacing.decide_by)
        mastered = self._judge.mastered(newest, data.rewards)
        move = self._mover.decide(mastered)
        before = self.policy, self.contexts
        metrics = self._update(data, move)
        metrics["kl_contexts"] = kl(before[1], self.contexts)
        return {
            "mastered": mastered,
            "move": float(MOVES.index(move)),
            **metrics,
            **self._distance(),
        }

    def _distance(self) -> Metrics:
        """The KL to the target between Gaussians; else W2 in the unit cube, which always exists."""
        if isinstance(self._mover, ContextMover):
            return {"kl_to_target": self._mover.kl_to_target}
        return {"wasserstein_to_target": self._mover.distance}

    def _update(self, data: Samples, move: Move) -> Metrics:
        """Carry out the move and learn from the buffer."""
        old = self.policy
        values = data.rewards
        if self._pacing.follow_successes:
            values = values_of(data.contexts, data.rewards, data.successes)
        learns = np.ptp(values) > EQUAL  # equal values teach nothing
        metrics: Metrics = {"kl_policy": 0.0}
        weights = np.zeros(0)
        if move != "search":
            self._mover.move(move)
            if learns:
                metrics, weights = self._policy_update(data, values)
        elif learns:
            metrics, weights = self._search(data, values)
        self.contexts = self._mover.contexts
        fitted = self.policy
        if learns:
            self._keep_entropy(old, move, weights)
        metrics |= self._hold_min_entropy()
        if self.policy is not fitted:
            metrics["kl_policy"] = old.mean_kl(self.policy, data.contexts)
        return metrics

    def _search(self, data: Samples, values: Array) -> tuple[Metrics, Array]:
        """Joint REPS, the paper's first phase (alpha = 0): policy and contexts follow `values`."""
        epsilon = self._pacing.search_epsilon or self._config.epsilon
        weights = reps_weights(values, epsilon)
        if isinstance(self._mover, ParticleMover):
            return self._search_with_particles(data, weights, epsilon)
        fit = fit_joint(
            self.policy,
            self._mover.contexts,
            data.contexts,
            data.thetas,
            weights.policy,
            weights.contexts,
            epsilon,
        )
        self.policy, self._multipliers = fit.policy, weights.multipliers
        self._mover.follow_search(fit.contexts)
        return joint_metrics(weights, fit), weights.policy

    def _search_with_particles(
        self, data: Samples, weights: Weights, epsilon: float
    ) -> tuple[Metrics, Array]:
        """As `_search`, but particles follow the samples' weights instead of a fitted Gaussian."""
        fit = fit_policy(self.policy, data.contexts, data.thetas, weights.policy, epsilon)
        self.policy, self._multipliers = fit.policy, weights.multipliers
        assert isinstance(self._mover, ParticleMover)
        self._mover.follow_search(data.contexts, weights.contexts)
        fitted = {"kl_policy": fit.kl, "fit_kept_old": float(fit.kept_old)}
        return {**dual_metrics(weights), **fitted}, weights.policy

    def _policy_update(self, data: Samples, values: Array) -> tuple[Metrics, Array]:
        """C-REPS over the buffer's contexts, by the samples' `values` (n,)."""
        config, features = self._config, self._buffer.features()
        floor = self._pacing.temperature_floor
        if values is data.rewards:  # among successes and ranks there are no disasters
            floor = floor_without_disasters(values, self._judge.usual, floor)
        weights = creps_weights(
            values,
            features,
            features.mean(axis=0),
            epsilon=config.epsilon,
            ridge=config.ridge,
            temperature_floor=floor,
            start=self._multipliers,
        )
        fit = fit_policy(self.policy, data.contexts, data.thetas, weights.policy, config.epsilon)
        self.policy, self._multipliers = fit.policy, weights.multipliers
        fitted = {"kl_policy": fit.kl, "fit_kept_old": float(fit.kept_old)}
        return {**dual_metrics(weights), **fitted}, weights.policy

    def _keep_entropy(self, old: LinearGaussianPolicy, move: Move, weights: Array) -> None:
        """Undo narrowing while contexts move on, and narrowing without evidence otherwise."""
        far = self._mover.far(self._pacing.until_kl)
        if self._pacing.hold_entropy and move == "on" and far:
            self.policy = moved_back_until_entropy(old, self.policy, old.entropy)
        elif self._pacing.narrow_by_evidence:
            change = entropy_that_may_go(self._distances, weights, self._buffer.size, old.dimension)
            self.policy = moved_back_until_entropy(old, self.policy, old.entropy + change)

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        return {
            **super().state(),
            **prefixed("mover.", self._mover.state()),
            "judge": np.array([self._judge.first, self._judge.usual, self._judge.largest]),
            "distances": self._distances,
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        self._mover.restore(part_of(state, "mover."))
        self.contexts = self._mover.contexts
        self._judge.first, self._judge.usual, self._judge.largest = state["judge"].tolist()
        self._distances = np.array(state["distances"], dtype=float)
