"""The configuration of SPRL without a schedule: how contexts move on and what updates may do."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from selfpaced.maths.arrays import check_at_least, check_kind, check_number, check_positive
from selfpaced.maths.mastery_rule import MasteryRule
from selfpaced.targets.target import breadth_of
from selfpaced.types import Problem

BUFFERED = 300, 500  # rollouts in a buffer of the default size, at least and at most
BUFFERED_BROAD = 350  # how many more it may hold if the target covers the space of contexts
SWITCHES = (
    "follow_successes",
    "wait_for_successes",
    "narrow_contexts",
    "hold_entropy",
    "narrow_by_evidence",
    "measure_noise",
)


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
    wait_for_successes: bool = True
    """While successes are rare, a search that has seen one keeps its contexts.

    Otherwise it follows rewards to contexts where they are high by nature. On tasks without
    successes it has an effect only after a search that has found nothing.
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
    narrowing: float = 10.0
    """Nats of entropy that one update may remove per nat of evidence, for many samples.

    With a smaller buffer than the default one it counts less, in proportion.
    """
    temperature_floor: float = 0.1
    """Smallest temperature eta of C-REPS, in standard deviations of the rewards without disasters.

    A higher floor makes rare failures count for more.
    """
    attempts: int = 4
    """How often learning may begin, at most; 1 never begins anew.

    It begins anew, with the initial policy, where it is stuck, then at the target, then from the
    initial contexts; and there after a search that has found nothing. What counts as such is in
    `learners/dead_ends.py`. After the last attempt the one that came nearest to the target goes on.
    """
    measure_noise: bool = True
    """Where a task reports no successes, repeat 50 rollouts once to see how noisy rewards are."""
    reward_threshold: float | None = None
    """Reward from which a rollout counts as a success.

    If None, the task's own successes count. If the task reports none, what counts is how far the
    mean reward has come from that of the initial policy to the best tenth of the buffer.
    """

    def __post_init__(self) -> None:
        check_kind("rule", self.rule, MasteryRule)
        check_positive("until_kl", self.until_kl)
        check_positive("narrowing", self.narrowing)
        if self.reward_threshold is not None:
            check_number("reward_threshold", self.reward_threshold)
        check_at_least("decide_by", self.decide_by, 1)
        check_at_least("attempts", self.attempts, 1)
        if self.search_epsilon is not None:
            check_positive("search_epsilon", self.search_epsilon)
        for name in SWITCHES:
            check_kind(name, getattr(self, name), bool)
        if check_number("temperature_floor", self.temperature_floor) < 0.0:
            raise ValueError(f"temperature_floor must be at least 0; got {self.temperature_floor}")


def needed_rollouts(problem: Problem) -> float:
    """Rollouts that an update of the policy of `problem` needs.

    These are 60 per parameter and 100 per feature of the context, whichever is more, within the
    bounds of `BUFFERED`. A target that covers more than half of the space of contexts asks the
    policy to serve many of them at once, and may have up to `BUFFERED_BROAD` more.
    Rollouts to the target grow in proportion to the buffer; with a smaller one more runs are lost.
    """
    policy = problem.initial_policy
    broad = breadth_of(problem.target, problem.task.context_space)
    least, most = BUFFERED[0], BUFFERED[1] + BUFFERED_BROAD * max(0.0, 2 * broad - 1)
    needed = max(60 * policy.dimension, 100 * policy.features.outputs)
    return float(np.clip(needed, least, most))


def buffered_batches(problem: Problem, n_samples: int) -> int:
    """Batches of `n_samples` that hold the `needed_rollouts` of `problem`; at least two."""
    return max(2, int(np.ceil(needed_rollouts(problem) / n_samples)))
