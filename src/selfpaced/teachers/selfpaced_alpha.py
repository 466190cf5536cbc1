"""The paper's context step (Eq. 2 and 7) as a teacher: alpha weighs the KL to the target."""

from dataclasses import dataclass, field

import numpy as np

from selfpaced.maths.arrays import (
    check_at_least,
    check_kind,
    check_positive,
    check_share,
    has_method,
)
from selfpaced.maths.box import Box
from selfpaced.maths.context_step import TriedContexts, step_by_alpha
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.schedule import FractionOfReward, Progress, Schedule, checked_alpha
from selfpaced.targets.target import Target, checked_place, density_of
from selfpaced.teachers.episodes import JudgedBy, check_judged_by
from selfpaced.teachers.finite_teachers import FiniteAlphaTeacher, is_finite_set
from selfpaced.teachers.gaussian_teacher import (
    GaussianTeacher,
    WidthKeeper,
    gaussian_of_teacher,
)
from selfpaced.types import State


def _default_schedule() -> FractionOfReward:
    """The paper's schedule with our values, because the paper tuned its values for every task."""
    return FractionOfReward(zeta=1.0, k_alpha=5)


@dataclass(frozen=True, kw_only=True)
class SelfPacedAlpha:
    """Weighs the expected value against alpha times the KL to the target, as Algorithm 1 does.

    The contexts start wide over the context space.

    >>> import numpy as np
    >>> from selfpaced import Box, FractionOfReward, Gaussian, SelfPacedAlpha
    >>> config = SelfPacedAlpha(schedule=FractionOfReward(zeta=0.5, k_alpha=10))
    >>> teacher = config.start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> teacher.ask(3, np.random.default_rng(0)).shape
    (3, 1)
    """

    judged_by: JudgedBy = "success"
    """What an episode's value is: "success" (0 or 1) or "reward" (its return)."""
    schedule: Schedule = field(default_factory=_default_schedule)
    """How alpha grows over updates: any object with `alpha(progress)`."""
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
        check_judged_by(self.judged_by)
        if not has_method(self.schedule, "alpha"):
            raise ValueError(
                f"schedule must have a method alpha, as FractionOfReward has; got {self.schedule!r}"
            )
        check_positive("epsilon", self.epsilon)
        check_at_least("update_every", self.update_every, 2)
        check_share("least_deviation", self.least_deviation, "the width of the box")
        check_positive("until_kl", self.until_kl)
        check_kind("retreats", self.retreats, bool)

    def start(
        self, context_space: Box, target: Target
    ) -> "SelfPacedAlphaTeacher | FiniteAlphaTeacher":
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        space, aim = checked_place(context_space, target)
        if is_finite_set(space):
            return FiniteAlphaTeacher(self, space, aim)
        return SelfPacedAlphaTeacher(self, space, aim)


class SelfPacedAlphaTeacher(GaussianTeacher):
    """The teacher of `SelfPacedAlpha`, between two updates."""

    _own_state = ("updates", "arrived")
    _option = "SelfPacedAlpha(judged_by='reward')"

    def __init__(self, config: SelfPacedAlpha, box: Box, target: Target) -> None:
        contexts = gaussian_of_teacher(box, target, "SelfPacedAlpha")
        super().__init__(
            box, target, contexts, config.update_every, config.judged_by, retreats=config.retreats
        )
        self._density = density_of(target, box)
        self._config = config
        self._updates = 0
        self._first_value = np.nan  # expected value at the first update
        self._width = WidthKeeper(box, target, config.least_deviation, config.until_kl)

    def _update(self, tried: TriedContexts) -> None:
        self._updates += 1
        if self._updates == 1:
            self._first_value = tried.value
        log_target = self._density.log_prob(tried.contexts)
        kl = float(tried.shares @ (self._gaussian.log_prob(tried.contexts) - log_target))
        target = self._target
        progress = Progress(
            iteration=self._updates,
            mean_reward=tried.value,
            first_reward=self._first_value,
            kl=kl,
            exact_kl=self._gaussian.kl(target) if isinstance(target, Gaussian) else kl,
        )
        alpha = checked_alpha(self._config.schedule, progress)
        if self._retreated(tried.value):
            self._width.arrived = False
            return
        step = step_by_alpha(self._gaussian, log_target, tried, alpha, self._config.epsilon)
        self._failed_steps += step.failed
        self.contexts = self._width.kept_wide(step)

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {
            **super().state(),
            "updates": np.array([self._updates, self._first_value]),
            "arrived": np.array(self._width.arrived),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        self._updates, self._first_value = int(state["updates"][0]), float(state["updates"][1])
        self._width.arrived = bool(state["arrived"])
