"""The mastery rule as a teacher: contexts move on when the current ones are mastered."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from selfpaced.maths.arrays import check_at_least, check_kind, check_number
from selfpaced.maths.box import Box
from selfpaced.maths.context_step import TriedContexts, step_by_alpha
from selfpaced.maths.mastery_rule import ContextMover, MasteryRule
from selfpaced.maths.particle_rule import ParticleMover
from selfpaced.maths.reps import soft_max, temperature
from selfpaced.targets.target import Target, checked_place
from selfpaced.targets.uniform import default_contexts
from selfpaced.teachers.context_movers import mover_of
from selfpaced.teachers.finite_teachers import FiniteMasteryTeacher, is_finite_set
from selfpaced.teachers.found_threshold import FoundThreshold
from selfpaced.teachers.gaussian_teacher import GaussianTeacher
from selfpaced.types import State, part_of, prefixed


@dataclass(frozen=True, kw_only=True)
class SelfPacedMastery:
    """Moves contexts to the target when the current ones are mastered, and back when they are lost.

    Every step has the same KL. The rule is that of `SPRL()`; it needs neither a schedule nor a
    threshold on the mean return.

    >>> import numpy as np
    >>> from selfpaced import Box, Gaussian, SelfPacedMastery
    >>> teacher = SelfPacedMastery(update_every=20).start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> contexts = teacher.ask(20, np.random.default_rng(0))
    >>> teacher.tell(contexts, rewards=np.zeros(20), successes=np.ones(20))
    >>> teacher
    SelfPacedMasteryTeacher(contexts around [0.6014], KL to the target 679)
    """

    rule: MasteryRule = field(default_factory=MasteryRule)
    """Thresholds and step size of the contexts' moves."""
    reward_threshold: float | Literal["found"] | None = None
    """Return from which an episode counts as a success; None: the environment's successes count.

    "found": half-way from the returns of the first policy to the best so far, whatever their scale
    (`FoundThreshold`); records show it as "threshold". This is for tasks whose success is rare at
    first, even in easy contexts.
    """
    update_every: int = 50
    """Number of episodes after which the contexts may move; a decision uses only these."""

    def __post_init__(self) -> None:
        check_kind("rule", self.rule, MasteryRule)
        if self.reward_threshold not in (None, "found"):
            check_number("reward_threshold", self.reward_threshold)
        check_at_least("update_every", self.update_every, 2)

    def start(
        self, context_space: Box, target: Target
    ) -> "SelfPacedMasteryTeacher | FiniteMasteryTeacher":
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        space, aim = checked_place(context_space, target)
        if is_finite_set(space):
            if self.reward_threshold == "found":
                raise ValueError(
                    "reward_threshold must be a number or None on a finite set of tasks, whose "
                    "returns may differ in scale; got 'found'"
                )
            return FiniteMasteryTeacher(self, space, aim)
        return SelfPacedMasteryTeacher(self, space, aim)


class SelfPacedMasteryTeacher(GaussianTeacher):
    """The teacher of `SelfPacedMastery`, between two decisions."""

    _option = "SelfPacedMastery(reward_threshold=...)"

    def __init__(self, config: SelfPacedMastery, box: Box, target: Target) -> None:
        judged_by = "success" if config.reward_threshold is None else "reward"
        self._mover = mover_of(config.rule, box, target, default_contexts(box))
        super().__init__(box, target, self._mover.contexts, config.update_every, judged_by)
        self._config = config
        self._found = FoundThreshold() if config.reward_threshold == "found" else None

    @property
    def found_threshold(self) -> float | None:
        """The threshold that was found from the returns; None if there is none to be found."""
        return None if self._found is None else self._found.value

    def _update(self, tried: TriedContexts) -> None:
        threshold = self._config.reward_threshold
        if self._found is not None:
            self._found.add(tried.values)
            threshold = self._found.value
        if threshold is not None and threshold != "found":
            tried = tried._replace(values=(tried.values >= threshold).astype(float))
        move = self._mover.decide(tried.value)
        if move == "search":
            self._search(tried)
        elif isinstance(self._mover, ParticleMover):
            self._mover.move_each(move, tried.contexts, tried.values)
        else:
            self._mover.move(move)
        self.contexts = self._mover.contexts

    def _search(self, tried: TriedContexts) -> None:
        """Go where successes are: the paper's step with alpha = 0, or the same with particles."""
        step = self._config.rule.step
        if isinstance(self._mover, ContextMover):
            no_target = np.zeros(len(tried.values))
            found = step_by_alpha(self._mover.contexts, no_target, tried, 0.0, step)
            self._failed_steps += found.failed
            self._mover.follow_search(found.contexts)
        elif np.ptp(tried.values) > 0:
            values = tried.values
            weights = soft_max(values, temperature(values, step)).weights * tried.shares
            self._mover.follow_search(tried.contexts, weights)

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        found = {} if self._found is None else self._found.state()
        return {**super().state(), **found, **prefixed("mover.", self._mover.state())}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        own = ("mean", "covariance", "arrived")
        if isinstance(self._mover, ParticleMover):
            own = ("places", "deviation", "aims", "stage")
        self._check_state(state, [f"mover.{name}" for name in own])
        self._mover.restore(part_of(state, "mover."))
        if self._found is not None:
            self._found.restore(state)
        self.contexts = self._mover.contexts
