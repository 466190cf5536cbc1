"""A Gaussian that moves to the target as performance allows (self-paced deep RL, 2020)."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, gaussian_over, with_variance_floor
from selfpaced.maths.pacing import step_to_target, step_to_value
from selfpaced.teachers.episodes import Judged, Recent, judged
from selfpaced.types import State


@dataclass(frozen=True, kw_only=True)
class SelfPaced:
    """The self-paced step in its threshold form, for whoever learns.

    It starts wide over the context box. Until the expected value first reaches `bound` it goes
    where the value is highest; from then on to the target, as far as the value stays above
    `bound`; where it has fallen below, it waits.
    """

    judged_by: Judged = "success"
    bound: float = 0.5  # V_LB
    epsilon: float = 0.15  # KL of one update
    update_every: int = 50  # episodes, which the update rests on
    least_deviation: float = 0.02  # of every dimension, in widths of the box, until
    until_kl: float = 20.0  # the KL to the target is below this

    def __post_init__(self) -> None:
        check_at_least("update_every", self.update_every, 2)
        check_positive("epsilon", self.epsilon)
        check_positive("least_deviation", self.least_deviation)
        check_positive("until_kl", self.until_kl)

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
        numbers, tried, values = self._numbers, self._episodes.contexts, self._episodes.values
        able = float(values.mean()) >= numbers.bound
        self._reached = self._reached or able
        if able:
            step = step_to_target(
                *(self.contexts, self._target, tried, values), numbers.bound, numbers.epsilon
            )
        elif not self._reached and np.ptp(values) > 0:
            step = step_to_value(self.contexts, tried, values, numbers.epsilon)
        else:
            step = None
        if step is not None:
            self.failed_steps += step.failed
            self.contexts = self._kept_wide(step.contexts)
        self._episodes = Recent(max(numbers.update_every, 1000), self._box.dimension)

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
            **{f"episodes.{name}": value for name, value in self._episodes.state().items()},
        }

    def restore(self, state: State) -> None:
        self.contexts = Gaussian(np.array(state["mean"]), np.array(state["covariance"]))
        self._reached, self.failed_steps = bool(state["reached"]), int(state["failed_steps"])
        self._episodes.restore({k: state[f"episodes.{k}"] for k in ("contexts", "values")})
