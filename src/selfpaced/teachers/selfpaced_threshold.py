"""Self-paced deep RL with a threshold on the expected return (Klink et al., 2020)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from selfpaced.maths.arrays import check_at_least, check_kind, check_positive, check_share
from selfpaced.maths.box import Box
from selfpaced.maths.context_step import (
    ContextStep,
    TriedContexts,
    step_to_density,
    step_to_target,
    step_to_value,
)
from selfpaced.maths.gaussian import Gaussian
from selfpaced.targets.target import Target, checked_place, density_of
from selfpaced.teachers.episodes import JudgedBy, check_judged_by, resolved_threshold
from selfpaced.teachers.finite_teachers import FiniteThresholdTeacher, is_finite_set
from selfpaced.teachers.found_threshold import FoundThreshold
from selfpaced.teachers.gaussian_teacher import (
    GaussianTeacher,
    WidthKeeper,
    gaussian_of_teacher,
)
from selfpaced.types import State


@dataclass(frozen=True, kw_only=True)
class SelfPacedThreshold:
    """Moves contexts towards the target while their expected value stays above a threshold.

    Until the expected value first reaches `threshold`, the contexts go where the value is highest.
    From then on they go to the target as far as the threshold allows, and wait where the value has
    fallen below it. They start wide over the context space.

    >>> import numpy as np
    >>> from selfpaced import Box, Gaussian, SelfPacedThreshold
    >>> teacher = SelfPacedThreshold(threshold=0.6).start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> contexts = teacher.ask(20, np.random.default_rng(0))
    >>> teacher.tell(contexts, rewards=np.zeros(20), successes=(contexts[:, 0] < 0.5) * 1.0)
    """

    judged_by: JudgedBy | Literal["learnability"] = "success"
    """What an episode's value is: "success" (0 or 1) or "reward" (its return).

    On a finite set of tasks also "learnability": the value of a task is then 4 s (1 - s), with its
    success rate s, highest where it is solved half the time.
    """
    threshold: float | None = None
    """V_LB: the least expected value of the contexts, in the unit of `judged_by`.

    None: 0.5 if successes are judged. If returns are, half-way from those of the first policy to
    the best so far, whatever their scale (`FoundThreshold`); records show it as "threshold". If
    learnability is, half of that of the most learnable task.
    """
    epsilon: float = 0.15
    """KL bound of one update of the contexts, in nats."""
    update_every: int = 50
    """Number of episodes after which the contexts are updated; an update uses only these."""
    least_deviation: float = 0.02
    """Smallest standard deviation of contexts before they arrive, as a share of the box's width."""
    until_kl: float = 20.0
    """KL to the target, in nats, below which contexts may be narrower than `least_deviation`."""
    retreats: bool = False
    """Contexts whose success is lost go back through those of before, to the first if need be.

    Off, as its authors have it: then a learner that forgets at the target stays there. See
    `teachers/retreat.py` for what counts as lost. On a finite set it has no effect, because
    there all tasks are tried now and then and what they are worth is known.
    """

    def __post_init__(self) -> None:
        check_judged_by(self.judged_by, "learnability")
        if self.judged_by != "learnability":
            resolved = resolved_threshold(self.judged_by, self.threshold)
            object.__setattr__(self, "threshold", resolved)
        elif self.threshold is not None:
            raise ValueError(
                "threshold must be None with judged_by='learnability', which has its own; "
                f"got {self.threshold}"
            )
        check_positive("epsilon", self.epsilon)
        check_at_least("update_every", self.update_every, 2)
        check_share("least_deviation", self.least_deviation, "the width of the box")
        check_positive("until_kl", self.until_kl)
        check_kind("retreats", self.retreats, bool)

    def start(
        self, context_space: Box, target: Target
    ) -> "SelfPacedThresholdTeacher | FiniteThresholdTeacher":
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        space, aim = checked_place(context_space, target)
        if is_finite_set(space):
            return FiniteThresholdTeacher(self, space, aim)
        if self.judged_by == "learnability":
            raise ValueError(
                "judged_by='learnability' needs a finite set of tasks, which are tried repeatedly; "
                f"use judged_by='success' or PLR(); got {space!r}"
            )
        return SelfPacedThresholdTeacher(self, space, aim)


class SelfPacedThresholdTeacher(GaussianTeacher):
    """The teacher of `SelfPacedThreshold`, between two updates."""

    _own_state = ("reached",)
    _option = "SelfPacedThreshold(judged_by='reward')"

    def __init__(self, config: SelfPacedThreshold, box: Box, target: Target) -> None:
        contexts = gaussian_of_teacher(box, target, "SelfPacedThreshold")
        judged_by: JudgedBy = "reward" if config.judged_by == "reward" else "success"
        super().__init__(
            box, target, contexts, config.update_every, judged_by, retreats=config.retreats
        )
        self._density = density_of(target, box)
        self._config = config
        self._reached = False  # True once the expected value has reached the threshold
        self._found = FoundThreshold() if config.threshold is None else None
        self._width = WidthKeeper(box, target, config.least_deviation, config.until_kl)

    @property
    def found_threshold(self) -> float | None:
        """The threshold that was found from the returns; None if one was given."""
        return None if self._found is None else self._found.value

    def _update(self, tried: TriedContexts) -> None:
        threshold = self._config.threshold
        if self._found is not None:
            self._found.add(tried.values)
            threshold = self._found.value
        assert threshold is not None
        if self._retreated(tried.value, threshold):
            self._width.arrived = False
            return
        step = self._step(tried, threshold)
        if step is not None:
            self._failed_steps += step.failed
            self.contexts = self._width.kept_wide(step)

    def _begin_anew(self) -> None:
        self._reached = False

    def _step(self, tried: TriedContexts, threshold: float) -> ContextStep | None:
        """The next contexts; None to wait."""
        config, contexts = self._config, self._gaussian
        reached = tried.value >= threshold
        self._reached = self._reached or reached
        if reached:
            if isinstance(self._target, Gaussian):
                return step_to_target(contexts, self._target, tried, threshold, config.epsilon)
            log_target = self._density.log_prob(tried.contexts)
            return step_to_density(contexts, log_target, tried, threshold, config.epsilon)
        if not self._reached and np.ptp(tried.values) > 0:
            return step_to_value(contexts, tried, config.epsilon)
        return None

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        found = {} if self._found is None else self._found.state()
        reached = np.array([self._reached, self._width.arrived])
        return {**super().state(), "reached": reached, **found}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        self._reached, self._width.arrived = (bool(flag) for flag in state["reached"])
        if self._found is not None:
            self._found.restore(state)
