"""A Gaussian that moves to the target as performance allows (self-paced deep RL, 2020)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from selfpaced.learners.episodic import part_of
from selfpaced.learners.schedule import FractionOfReward, Progress, Schedule
from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import (
    Gaussian,
    checked_target,
    gaussian_over,
    with_variance_floor,
)
from selfpaced.maths.pacing import Step, Tried, step_to_target, step_to_value, weighed_step
from selfpaced.maths.readiness import Pace, Readiness
from selfpaced.teachers.episodes import Judged, check_judged_by, judged
from selfpaced.types import State

ONE_FOR_ALL = Readiness()
PAPERS = FractionOfReward(zeta=1.0, k_alpha=5)  # the rule; its numbers were the paper's per task
ARRIVED = 0.5  # KL to the target, as wide as on the way, from which on contexts may narrow
UNDER_WAY = 10_000  # contexts asked for and not told of yet that are remembered


@dataclass(frozen=True, kw_only=True)
class SelfPaced:
    """The self-paced step, for whoever learns. It starts wide over the context box.

    In the "threshold" form, until the expected value first reaches `bound`, it goes where the
    value is highest; from then on to the target, as far as the value, by the last episodes, stays
    above `bound`; where it has fallen below, it waits. In the form "sprl", the paper's, it always
    weighs the value against alpha KL to the target, with alpha from `schedule`. In the form "ready"
    it takes steps of a fixed KL when the current contexts are mastered, and back when they are
    lost, by the rule that `SPRL` follows, too; judged by reward, an episode succeeds with at least
    `bound`.
    """

    form: Literal["threshold", "sprl", "ready"] = "threshold"
    judged_by: Judged = "success"
    bound: float = 0.5  # V_LB of the threshold form
    schedule: Schedule = PAPERS  # of alpha in the form "sprl", in updates
    epsilon: float = 0.15  # KL of one update
    pace: Readiness = ONE_FOR_ALL  # of the form "ready"
    update_every: int = 50  # episodes, which the update rests on; older draws count for less
    least_deviation: float = 0.02  # of every dimension, in widths of the box, until
    until_kl: float = 20.0  # the KL to the target is below this, or they are as near as can be

    def __post_init__(self) -> None:
        check_at_least("update_every", self.update_every, 2)
        check_positive("epsilon", self.epsilon)
        check_positive("least_deviation", self.least_deviation)
        check_positive("until_kl", self.until_kl)
        if self.form not in ("threshold", "sprl", "ready"):
            raise ValueError(f"form must be 'threshold', 'sprl' or 'ready'; got {self.form!r}")
        check_judged_by(self.judged_by)

    def start(self, context_space: Box, target: Gaussian) -> "SelfPacedTeacher":
        return SelfPacedTeacher(self, context_space, checked_target(target, context_space))


class SelfPacedTeacher:
    """The Gaussian, and the episodes since it last moved."""

    def __init__(self, numbers: SelfPaced, box: Box, target: Gaussian) -> None:
        self._numbers, self._box, self._target = numbers, box, target
        self.contexts = gaussian_over(box)
        self._forget()
        self._asked: dict[bytes, float] = {}  # contexts under way: log q of each when it was drawn
        self._reached = False  # the bound, at least once
        self._arrived = False  # near enough to the target to narrow down
        self.failed_steps = 0
        self._pace = Pace(numbers.pace, box, target, self.contexts)
        self._updates = 0
        self._first_value = np.nan

    @property
    def context_distribution(self) -> Gaussian:
        return self.contexts

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        contexts = self.contexts.sample(n, rng, self._box)
        for context, density in zip(contexts, self.contexts.log_prob(contexts), strict=True):
            self._asked[context.tobytes()] = float(density)
        while len(self._asked) > UNDER_WAY:
            del self._asked[next(iter(self._asked))]  # nobody will tell of it any more
        return contexts

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        values = judged(self._numbers.judged_by, rewards, successes, "SelfPaced")
        # Environments play contexts that were drawn before the last steps, too. What is not known
        # to have been is taken for a draw from now.
        now = self.contexts.log_prob(contexts)
        rows = np.ascontiguousarray(contexts, dtype=float)
        drawn = [
            self._asked.pop(row.tobytes(), float(density))
            for row, density in zip(rows, now, strict=True)
        ]
        ratios = np.exp(np.minimum(now - drawn, 3.0))
        new = np.column_stack([rows, values, ratios])
        self._episodes = np.concatenate([self._episodes, new])
        ratios = self._episodes[:, -1]
        count = min(ratios.sum(), ratios.sum() ** 2 / max(ratios @ ratios, 1e-300))
        if count >= self._numbers.update_every - 1e-6:
            self._update()

    def _forget(self) -> None:
        # Since the last update: contexts, values, and how likely each is now and was when drawn.
        self._episodes = np.zeros((0, self._box.dimension + 2))

    @property
    def _tried(self) -> Tried:
        contexts, values, ratios = np.split(self._episodes, [self._box.dimension, -1], axis=1)
        return Tried(contexts, values[:, 0], ratios[:, 0] / ratios.sum())

    def _update(self) -> None:
        if self._numbers.form == "ready":
            self._step_when_ready(self._tried)
        else:
            by_bound = self._numbers.form == "threshold"
            step = self._step_to_bound(self._tried) if by_bound else self._step_weighed(self._tried)
            if step is not None:
                self.failed_steps += step.failed
                self.contexts = self._kept_wide(step.contexts)
        self._forget()

    def _step_to_bound(self, tried: Tried) -> Step | None:
        numbers = self._numbers
        able = tried.value >= numbers.bound
        self._reached = self._reached or able
        if able:
            return step_to_target(
                self.contexts, self._target, tried, numbers.bound, numbers.epsilon
            )
        if not self._reached and np.ptp(tried.values) > 0:
            return step_to_value(self.contexts, tried, numbers.epsilon)
        return None

    def _step_when_ready(self, tried: Tried) -> None:
        if self._numbers.judged_by == "reward":
            tried = tried._replace(values=(tried.values >= self._numbers.bound).astype(float))
        move = self._pace.decide(tried.value)
        if move == "search":
            epsilon = self._numbers.pace.step
            step = weighed_step(self.contexts, self._target, tried, 0.0, epsilon)
            self.failed_steps += step.failed
            self._pace.found(step.contexts)
        else:
            self._pace.go(move)
        self.contexts = self._pace.contexts

    def _step_weighed(self, tried: Tried) -> Step:
        self._updates += 1
        if self._updates == 1:
            self._first_value = tried.value
        densities = self.contexts.log_prob(tried.contexts) - self._target.log_prob(tried.contexts)
        kl, exact = float(tried.shares @ densities), self.contexts.kl(self._target)
        progress = Progress(self._updates, tried.value, self._first_value, kl, exact)
        alpha = self._numbers.schedule.alpha(progress)
        return weighed_step(self.contexts, self._target, tried, alpha, self._numbers.epsilon)

    def _kept_wide(self, contexts: Gaussian) -> Gaussian:
        floor = (self._numbers.least_deviation * self._box.width) ** 2
        wide = with_variance_floor(self._target, floor)
        self._arrived = self._arrived or contexts.kl(wide) < ARRIVED
        if self._arrived or contexts.kl(self._target) < self._numbers.until_kl:
            return contexts
        return with_variance_floor(contexts, floor)

    def state(self) -> State:
        return {
            "mean": self.contexts.mean,
            "covariance": self.contexts.covariance,
            "reached": np.array([self._reached, self._arrived]),
            "failed_steps": np.array(self.failed_steps),
            "updates": np.array([self._updates, self._first_value]),
            **{f"pace.{name}": value for name, value in self._pace.arrays().items()},
            "episodes": self._episodes,
            "asked": np.frombuffer(b"".join(self._asked)).reshape(-1, self._box.dimension),
            "asked_densities": np.array(list(self._asked.values())),
        }

    def restore(self, state: State) -> None:
        self.contexts = Gaussian(np.array(state["mean"]), np.array(state["covariance"]))
        self._reached, self._arrived = (bool(flag) for flag in state["reached"])
        self.failed_steps = int(state["failed_steps"])
        self._pace.restore(part_of(state, "pace."))
        self._updates, self._first_value = int(state["updates"][0]), float(state["updates"][1])
        self._episodes = np.array(state["episodes"])
        asked = [context.tobytes() for context in np.array(state["asked"])]
        self._asked = dict(zip(asked, state["asked_densities"].tolist(), strict=True))
