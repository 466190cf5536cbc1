"""SPRL without a schedule: contexts move on when the current ones are mastered.

The rule, which judges contexts and moves them, is in `maths/mastery_rule.py`. This file adds the
policy, which C-REPS updates on the contexts that the rule has chosen.
"""

from typing import TYPE_CHECKING

import numpy as np

from selfpaced.learners.dead_ends import COUNTED, DeadEnd, DeadEnds
from selfpaced.learners.episodic import checked_samples
from selfpaced.learners.mastery_judge import MasteryJudge
from selfpaced.learners.mastery_pacing import Mastery, needed_rollouts
from selfpaced.learners.sprl_base import SelfPacedLearner, kl
from selfpaced.learners.update_metrics import dual_metrics, joint_metrics
from selfpaced.maths.arrays import Array
from selfpaced.maths.kl_bounded_fit import fit_joint, fit_policy, moved_back_until_entropy
from selfpaced.maths.mastery_rule import MOVES, ContextMover, Move, Start
from selfpaced.maths.narrowing_evidence import (
    entropy_that_may_go,
    floor_without_disasters,
    squared_distances,
)
from selfpaced.maths.particle_rule import ParticleMover
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.maths.reps import Weights, creps_weights, reps_weights
from selfpaced.maths.success_values import successes_are_rare, values_of
from selfpaced.teachers.context_movers import mover_of
from selfpaced.types import Metrics, Problem, Samples, State, part_of, prefixed

if TYPE_CHECKING:
    from selfpaced.learners.sprl import SPRL

STARTS: tuple[Start, ...] = "target", "initial", "here"  # of attempts 3, 4 and 2; then again
WIDTH_FACTOR = 1.03  # by which COUNTED rollouts change the smallest deviation of contexts
EQUAL = 1e-150  # largest difference of rewards that counts as none: its square is no normal float


class MasteryLearner(SelfPacedLearner):
    """SPRL by mastery, between two batches."""

    def __init__(self, config: "SPRL", pacing: Mastery, problem: Problem) -> None:
        self._pacing, threshold = pacing, pacing.reward_threshold
        # Small batches move contexts more often, and each of their moves counts for less.
        counted = min(1.0, config.n_samples / COUNTED)
        self._mover = mover_of(
            pacing.rule,
            problem.task.context_space,
            problem.target,
            problem.initial_contexts,
            width_factor=WIDTH_FACTOR**counted if pacing.narrow_contexts else 1.0,
        )
        super().__init__(config, problem, self._mover.contexts)
        self._judge = MasteryJudge(None if threshold is None else threshold + problem.reward_shift)
        self._first_policy = problem.initial_policy
        # With a smaller buffer than needed, learning is slower, and more patience is called for.
        buffered, needed = self._buffer.size * config.n_samples, needed_rollouts(problem)
        self._dead_ends = DeadEnds(max(buffered, needed))
        self._narrowing = pacing.narrowing * min(1.0, buffered / needed)
        self._attempt = 1
        self._neutral = False  # True in an attempt whose search keeps its contexts at first
        self._seen = 0.0  # successes in this attempt
        self._nearest: tuple[float, State] | None = None  # the best of earlier attempts
        # Squared Mahalanobis distance of each buffered theta from the mean of the policy that drew
        # it.
        self._distances = np.zeros(0)

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """As every learner's; the judge may want the second half to repeat the first one."""
        contexts, thetas = super().ask(rng)
        if self._pacing.measure_noise and self._judge.wants_repeats:
            half = len(contexts) // 2
            contexts[half : 2 * half], thetas[half : 2 * half] = contexts[:half], thetas[:half]
        return contexts, thetas

    def tell(self, samples: Samples) -> Metrics:
        """Judge the newest rollouts, move the contexts, then update the policy on them."""
        samples = checked_samples(samples, self._task)
        if len(samples) < Mastery.LEAST_SAMPLES:
            raise ValueError(
                f"samples must hold at least {Mastery.LEAST_SAMPLES} rollouts with Mastery, "
                f"because they decide when contexts move; got {len(samples)}"
            )
        self._buffer.append(samples)
        self._judge.look(samples)
        self._seen += float((samples.successes > 0.5).sum())
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
        metrics = {
            "mastered": mastered,
            "move": float(MOVES.index(move)),
            "attempt": float(self._attempt),
            **metrics,
            **self._distance(),
        }
        if self._judge.by_rewards:
            metrics["by_rewards"] = 1.0  # health says what that means
        if self._attempt <= self._pacing.attempts > 1:
            self._leave_dead_ends(move, mastered, len(samples))
        return metrics

    def _leave_dead_ends(self, move: Move, mastered: float, rollouts: int) -> None:
        """Begin anew in a dead end; after the last attempt, return to the best of all."""
        distance = self._squared_distance
        far = self._mover.far(self._pacing.until_kl)
        found = self._dead_ends.after(move, rollouts, mastered=mastered, distance=distance, far=far)
        if found is None:
            return
        nearest = self._nearest
        if found == "stuck" and (nearest is None or distance < nearest[0]):
            self._nearest = distance, self._place()
        self._attempt += 1
        self._dead_ends.forget()
        if self._attempt <= self._pacing.attempts:
            self._begin_anew(found)
        elif nearest is not None and (found == "fruitless" or nearest[0] < distance):
            self._return_to(nearest[1])

    @property
    def _squared_distance(self) -> float:
        """From the contexts to the target: the KL, or the squared W2."""
        if isinstance(self._mover, ContextMover):
            return self._mover.kl_to_target
        return self._mover.distance**2

    def _begin_anew(self, found: DeadEnd) -> None:
        """Search with the initial policy, elsewhere with every attempt.

        The first is where contexts are stuck, since another way may be open there; the next at the
        target, beyond what may have closed on the way; then again from the initial contexts. A
        search after a fruitless one begins there as well, and does not follow rewards before
        anything succeeds.
        """
        self._neutral = self._neutral != (found == "fruitless")
        self._seen = 0.0
        where = STARTS[self._attempt % len(STARTS)] if found == "stuck" else "initial"
        self._mover.begin_anew(where)
        self.policy, self.contexts = self._first_policy, self._mover.contexts
        self._forget_samples()

    def _place(self) -> State:
        """Policy and contexts, to return to."""
        mover = prefixed("mover.", self._mover.state())
        return {"A": self.policy.A, "covariance": self.policy.covariance, **mover}

    def _return_to(self, place: State) -> None:
        features = self.policy.features
        self.policy = LinearGaussianPolicy(features, place["A"], place["covariance"])
        self._mover.restore(part_of(place, "mover."))
        self.contexts = self._mover.contexts
        self._forget_samples()

    def _forget_samples(self) -> None:
        self._buffer.clear()
        self._distances, self._multipliers = np.zeros(0), np.zeros(0)

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
                metrics, weights = self._policy_update(data, values, self._config.epsilon)
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
        if self._keeps_contexts(data):
            return self._policy_update(data, values, epsilon)
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

    def _keeps_contexts(self, data: Samples) -> bool:
        """True while successes are too rare to follow, and rewards may mislead the search."""
        if not self._pacing.wait_for_successes or not (self._neutral or self._seen > 0.0):
            return False
        return successes_are_rare(data.successes)

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

    def _policy_update(self, data: Samples, values: Array, epsilon: float) -> tuple[Metrics, Array]:
        """C-REPS over the buffer's contexts, by the samples' `values` (n,)."""
        config, features = self._config, self._buffer.features()
        floor = self._pacing.temperature_floor
        if values is data.rewards:  # among successes and ranks there are no disasters
            floor = floor_without_disasters(values, self._judge.usual, floor)
        uniform = np.full(len(features), 1 / len(features))
        weights = creps_weights(
            values,
            features,
            features.T @ uniform,
            epsilon=epsilon,
            ridge=config.ridge,
            temperature_floor=floor,
            start=self._multipliers,
        )
        fit = fit_policy(self.policy, data.contexts, data.thetas, weights.policy, epsilon)
        self.policy, self._multipliers = fit.policy, weights.multipliers
        fitted = {"kl_policy": fit.kl, "fit_kept_old": float(fit.kept_old)}
        return {**dual_metrics(weights), **fitted}, weights.policy

    def _keep_entropy(self, old: LinearGaussianPolicy, move: Move, weights: Array) -> None:
        """Undo narrowing while contexts move on, and narrowing without evidence otherwise."""
        far = self._mover.far(self._pacing.until_kl)
        if self._pacing.hold_entropy and move == "on" and far:
            self.policy = moved_back_until_entropy(old, self.policy, old.entropy)
        elif self._pacing.narrow_by_evidence:
            change = entropy_that_may_go(
                self._distances, weights, self._buffer.size, old.dimension, self._narrowing
            )
            self.policy = moved_back_until_entropy(old, self.policy, old.entropy + change)

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        nearest = {}
        if self._nearest is not None:
            distance, place = self._nearest
            nearest = prefixed("nearest.", {"distance": np.array(distance), **place})
        return {
            **super().state(),
            **prefixed("mover.", self._mover.state()),
            **self._judge.state(),
            **nearest,
            "distances": self._distances,
            "attempt": np.array([self._attempt, self._neutral, self._seen], dtype=float),
            "dead_ends": self._dead_ends.state(),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`; older ones come from a first attempt."""
        super().restore(state)
        self._mover.restore(part_of(state, "mover."))
        self.contexts = self._mover.contexts
        self._judge.restore(state)
        self._distances = np.array(state["distances"], dtype=float)
        if "attempt" in state:
            attempt, neutral, self._seen = (float(value) for value in state["attempt"])
            self._attempt, self._neutral = int(attempt), bool(neutral)
            self._dead_ends.restore(state["dead_ends"])
        if place := part_of(state, "nearest."):
            self._nearest = float(place.pop("distance")), place
