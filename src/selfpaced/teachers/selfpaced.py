"""A Gaussian that moves to the target as performance allows (self-paced deep RL, 2020)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from selfpaced.learners.episodic import part_of
from selfpaced.learners.schedule import FractionOfReward, Progress, Schedule
from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, gaussian_over, with_variance_floor
from selfpaced.maths.pacing import Step, step_to_target, step_to_value, weighed_step
from selfpaced.maths.readiness import Pace, Readiness
from selfpaced.teachers.episodes import Judged, Recent, judged
from selfpaced.types import State

ONE_FOR_ALL = Readiness()
PAPERS = FractionOfReward(zeta=1.0, k_alpha=5)  # the rule; its numbers were the paper's per task


@dataclass(frozen=True, kw_only=True)
class SelfPaced:
    """The self-paced step, for whoever learns. It starts wide over the context box.

    In the "threshold" form, until the expected value first reaches `bound`, it goes where the
    value is highest; from then on to the target, as far as the value stays above `bound`; where
    it has fallen below, it waits. In the form "sprl", the paper's, it always weighs the value
    against alpha KL to the target, with alpha from `schedule`. In the form "ready" it takes steps
    of a fixed KL when the current contexts are mastered, and back when they are lost, by the rule
    that `SPRL` follows, too; judged by reward, an episode succeeds with at least `bound`.
    """

    form: Literal["threshold", "sprl", "ready"] = "threshold"
    judged_by: Judged = "success"
    bound: float = 0.5  # V_LB of the threshold form
    schedule: Schedule = PAPERS  # of alpha in the form "sprl", in updates
    epsilon: float = 0.15  # KL of one update
    pace: Readiness = ONE_FOR_ALL  # of the form "ready"
    update_every: int = 50  # episodes, which the update rests on
    least_deviation: float = 0.02  # of every dimension, in widths of the box, until
    until_kl: float = 20.0  # the KL to the target is below this

    def __post_init__(self) -> None:
        check_at_least("update_every", self.update_every, 2)
        check_positive("epsilon", self.epsilon)
        check_positive("least_deviation", self.least_deviation)
        check_positive("until_kl", self.until_kl)
        if self.form not in ("threshold", "sprl", "ready"):
            raise ValueError(f"form must be 'threshold', 'sprl' or 'ready'; got {self.form!r}")

    def start(self, context_space: Box, target: Gaussian) -> "SelfPacedTeacher":
        return SelfPacedTeacher(self, context_space, target)


class SelfPacedTeacher:
    """The Gaussian, and the episodes since it last moved."""

    def __init__(self, numbers: SelfPaced, box: Box, target: Gaussian) -> None:
        self._numbers, self._box, self._target = numbers, box, target
        self.contexts = gaussian_over(box)
        self._episodes = Recent(max(numbers.update_every, 1000), box.dimension)
        self._reached = False  # the bound, at least once
        self.failed_steps = 0
        self._pace = Pace(numbers.pace, box, target, self.contexts)
        self._updates = 0
        self._first_value = np.nan

    @property
    def context_distribution(self) -> Gaussian:
        return self.contexts

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        return self.contexts.sample(n, rng, self._box)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        values = judged(self._numbers.judged_by, rewards, successes, "SelfPaced")
        self._episodes.add(contexts, values)
        if len(self._episodes) >= self._numbers.update_every:
            self._update()

    def _update(self) -> None:
        if self._numbers.form == "ready":
            self._step_when_ready()
        else:
            by_bound = self._numbers.form == "threshold"
            step = self._step_to_bound() if by_bound else self._step_weighed()
            if step is not None:
                self.failed_steps += step.failed
                self.contexts = self._kept_wide(step.contexts)
        self._episodes = Recent(max(self._numbers.update_every, 1000), self._box.dimension)

    def _step_to_bound(self) -> Step | None:
        numbers, tried, values = self._numbers, self._episodes.contexts, self._episodes.values
        able = float(values.mean()) >= numbers.bound
        self._reached = self._reached or able
        if able:
            return step_to_target(
                *(self.contexts, self._target, tried, values), numbers.bound, numbers.epsilon
            )
        if not self._reached and np.ptp(values) > 0:
            return step_to_value(self.contexts, tried, values, numbers.epsilon)
        return None

    def _step_when_ready(self) -> None:
        tried, values = self._episodes.contexts, self._episodes.values
        if self._numbers.judged_by == "reward":
            values = (values >= self._numbers.bound).astype(float)
        move = self._pace.decide(float(values.mean()))
        if move == "search":
            epsilon = self._numbers.pace.step
            step = weighed_step(self.contexts, self._target, tried, values, 0.0, epsilon)
            self.failed_steps += step.failed
            self._pace.found(step.contexts)
        else:
            self._pace.go(move)
        self.contexts = self._pace.contexts

    def _step_weighed(self) -> Step:
        tried, values = self._episodes.contexts, self._episodes.values
        self._updates += 1
        if self._updates == 1:
            self._first_value = float(values.mean())
        kl = float((self.contexts.log_prob(tried) - self._target.log_prob(tried)).mean())
        exact = self.contexts.kl(self._target)
        progress = Progress(self._updates, float(values.mean()), self._first_value, kl, exact)
        alpha = self._numbers.schedule.alpha(progress)
        return weighed_step(
            *(self.contexts, self._target, tried, values), alpha, self._numbers.epsilon
        )

    def _kept_wide(self, contexts: Gaussian) -> Gaussian:
        if contexts.kl(self._target) < self._numbers.until_kl:
            return contexts
        floor = (self._numbers.least_deviation * self._box.width) ** 2
        return with_variance_floor(contexts, floor)

    def state(self) -> State:
        return {
            "mean": self.contexts.mean,
            "covariance": self.contexts.covariance,
            "reached": np.array(self._reached),
            "failed_steps": np.array(self.failed_steps),
            "updates": np.array([self._updates, self._first_value]),
            **{f"pace.{name}": value for name, value in self._pace.arrays().items()},
            **{f"episodes.{name}": value for name, value in self._episodes.state().items()},
        }

    def restore(self, state: State) -> None:
        self.contexts = Gaussian(np.array(state["mean"]), np.array(state["covariance"]))
        self._reached, self.failed_steps = bool(state["reached"]), int(state["failed_steps"])
        self._pace.restore(part_of(state, "pace."))
        self._updates, self._first_value = int(state["updates"][0]), float(state["updates"][1])
        self._episodes.restore({k: state[f"episodes.{k}"] for k in ("contexts", "values")})
