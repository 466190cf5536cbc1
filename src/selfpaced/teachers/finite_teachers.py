"""Self-paced teachers over a finite set without an order: a probability for every task.

The steps are those of `maths/categorical_step.py`, in closed form. The value of a task is the mean
over its last episodes; a task that was not tried yet is worth as little as the worst one. Episodes
of tasks that are related to a task (`TaskSet.related`) count for it, too: `SHARED` times their
number, and again `SHARED` times less with every further relation.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from selfpaced.maths import categorical_step
from selfpaced.maths.arrays import Array, check_number
from selfpaced.maths.box import Box
from selfpaced.maths.mastery_rule import decided
from selfpaced.maths.schedule import Progress, checked_alpha
from selfpaced.spaces.constrained import Constrained
from selfpaced.spaces.discrete import TaskSet
from selfpaced.targets.categorical import MOST_POINTS, index_of, points_in
from selfpaced.targets.target import Target, require_density
from selfpaced.teachers.episodes import JudgedBy, episode_values
from selfpaced.teachers.found_threshold import FoundThreshold
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State

if TYPE_CHECKING:
    from selfpaced.teachers.selfpaced_alpha import SelfPacedAlpha
    from selfpaced.teachers.selfpaced_mastery import SelfPacedMastery
    from selfpaced.teachers.selfpaced_threshold import SelfPacedThreshold

SHARED, RELATIONS = 0.3, 3  # weight of a related task's episodes; relations that are followed
TRIED = 0.05  # share of the episodes that goes to all tasks alike, to notice what has changed
PRIOR = 0.05  # episodes of the worst value that every task is taken to have had
AGED = 0.9  # weight of earlier episodes after another update, because the learner changes
KEPT = 0.9  # weight of a task's earlier episodes when another is counted: about the last ten
LEARNABLE = 0.1  # success rate from which there are enough successes to learn from


def is_finite_set(space: Box) -> bool:
    """True if `space` is a finite set with categories that is small enough to be listed."""
    return not space.ordered and space.size is not None and space.size <= MOST_POINTS


class FiniteTeacher(StartedTeacher, ABC):
    """Draws tasks by their probabilities and updates these after every `update_every` episodes."""

    _who: ClassVar[str] = ""  # name of the configuration, for messages

    def __init__(
        self, config: Any, space: Box, target: Target, update_every: int, judged_by: JudgedBy
    ) -> None:
        require_density(target, f"{self._who} on a finite set", "CurrOT()")
        self._config, self._box, self._target = config, space, target
        self._judged_by: JudgedBy = judged_by
        self._update_every = update_every
        self._points = points_in(space)
        density: Any = target
        log_mu = np.maximum(
            np.asarray(density.log_prob(self._points), dtype=float), categorical_step.LEAST
        )
        self._log_mu = categorical_step.tilted(log_mu, np.zeros(len(log_mu)))
        self._log_p = np.full(len(self._points), -np.log(len(self._points)))
        self._sums = np.zeros(len(self._points))  # of each task's values, older ones fading
        self._counts = np.zeros(len(self._points))  # of its episodes, faded alike
        self._relations = _relations(space, len(self._points))
        self._worst = np.inf  # least value of an episode so far
        self._recent = np.zeros(0)  # values since the last update

    def __repr__(self) -> str:
        likely = self._box.decode(self._points[int(self._log_p.argmax())])
        share = float(np.exp(self._log_p.max()))
        return f"{type(self).__name__}({len(self._points)} tasks, {share:.0%} on {likely!r:.60})"

    @property
    def probabilities(self) -> Array:
        """(k,): the probability of each task, in the order of the space."""
        return np.exp(self._log_p)

    @property
    def values(self) -> Array:
        """(k,): the estimated value of each task."""
        prior = self._worst if np.isfinite(self._worst) else 0.0
        return (self._shared(self._sums) + PRIOR * prior) / (self._shared(self._counts) + PRIOR)

    def _shared(self, column: Array) -> Array:
        """(k,): `column` (k,), to which related tasks have added their shares."""
        return column if self._relations is None else self._relations @ column

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n tasks (n, d) by their probabilities."""
        p = self.probabilities
        return self._points[rng.choice(len(p), size=n, p=p / p.sum())]

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes, and update once there are enough of them."""
        values = episode_values(self._judged_by, rewards, successes, self._who, self._option)
        if len(values) == 0:
            return
        self._worst = min(self._worst, float(values.min()))
        index = index_of(contexts, self._points)
        counts = np.bincount(index[index >= 0], minlength=len(self._points))
        sums = np.bincount(index[index >= 0], values[index >= 0], minlength=len(self._points))
        faded = KEPT**counts
        weight = (1.0 - faded) / (1.0 - KEPT)  # of new episodes: 1 + KEPT + KEPT^2 + ...
        self._sums = faded * self._sums + weight * sums / np.maximum(counts, 1)
        self._counts = faded * self._counts + weight
        self._recent = np.concatenate([self._recent, values])
        if len(self._recent) >= self._update_every:
            p = np.exp(self._updated(float(self._recent.mean())))
            # Earlier episodes fade, but not to less than the weight of one.
            aged = np.clip(1.0 / np.maximum(self._counts, 1.0), AGED, 1.0)
            self._sums, self._counts = aged * self._sums, aged * self._counts
            self._log_p = np.log((1.0 - TRIED) * p / p.sum() + TRIED / len(p))
            self._recent = np.zeros(0)

    @abstractmethod
    def _updated(self, mean: float) -> Array:
        """(k,): the next log-probabilities, after episodes of the mean value `mean`."""

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {
            "log_p": self._log_p,
            "sums": self._sums,
            "counts": self._counts,
            "worst": np.array(self._worst),
            "recent": self._recent,
            **self._own(),
        }

    def _own(self) -> State:
        """What a subclass remembers besides."""
        return {}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        self._check_state(state, tuple(self.state()))
        if state["log_p"].shape != self._log_p.shape:
            raise ValueError(
                f"state must be of {len(self._log_p)} tasks; got {len(state['log_p'])}"
            )
        self._log_p, self._recent = np.array(state["log_p"]), np.array(state["recent"])
        self._sums, self._counts = np.array(state["sums"]), np.array(state["counts"])
        self._worst = float(state["worst"])


def _relations(space: Box, tasks: int) -> Array | None:
    """(tasks, tasks): the weight in row i of task j's episodes; None if no tasks are related."""
    while isinstance(space, Constrained):
        space = space.space
    if not isinstance(space, TaskSet) or not space.related or len(space.names) != tasks:
        return None
    near = np.zeros((tasks, tasks))
    for one, other in space.related:
        near[one, other] = near[other, one] = 1.0
    near /= np.maximum(near.sum(axis=1, keepdims=True), 1.0)
    total, power = np.eye(tasks), np.eye(tasks)
    for _ in range(RELATIONS):
        power = SHARED * near @ power
        total += power
    return total


class FiniteAlphaTeacher(FiniteTeacher):
    """The teacher of `SelfPacedAlpha` on a finite set."""

    _who, _option = "SelfPacedAlpha", "SelfPacedAlpha(judged_by='reward')"

    def __init__(self, config: "SelfPacedAlpha", space: Box, target: Target) -> None:
        super().__init__(config, space, target, config.update_every, config.judged_by)
        self._updates, self._first = 0, np.nan

    def _updated(self, mean: float) -> Array:
        self._updates += 1
        self._first = mean if self._updates == 1 else self._first
        far = categorical_step.kl(self._log_p, self._log_mu)
        progress = Progress(
            iteration=self._updates,
            mean_reward=mean,
            first_reward=self._first,
            kl=far,
            exact_kl=far,
        )
        alpha = checked_alpha(self._config.schedule, progress)
        return categorical_step.step_by_alpha(
            self._log_p, self._log_mu, self.values, alpha, self._config.epsilon
        )

    def _own(self) -> State:
        return {"updates": np.array([self._updates, self._first])}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        self._updates, self._first = int(state["updates"][0]), float(state["updates"][1])


class FiniteThresholdTeacher(FiniteTeacher):
    """The teacher of `SelfPacedThreshold` on a finite set."""

    _who, _option = "SelfPacedThreshold", "SelfPacedThreshold(judged_by='reward')"

    def __init__(self, config: "SelfPacedThreshold", space: Box, target: Target) -> None:
        judged_by: JudgedBy = "reward" if config.judged_by == "reward" else "success"
        super().__init__(config, space, target, config.update_every, judged_by)
        found = config.judged_by == "reward" and config.threshold is None
        self._found = FoundThreshold() if found else None

    @property
    def found_threshold(self) -> float | None:
        """The threshold that was found from the returns; None if one was given."""
        return None if self._found is None else self._found.value

    def _updated(self, mean: float) -> Array:
        values, threshold = self.values, self._config.threshold
        if self._config.judged_by == "learnability":
            values = 4.0 * values * (1.0 - values)
            threshold = 0.5 * float(values.max())
        elif self._found is not None:
            self._found.add(self._recent)
            threshold = self._found.value
        bound = check_number("threshold", threshold)
        return categorical_step.step_to_target(
            self._log_p, self._log_mu, values, bound, self._config.epsilon
        )

    def _own(self) -> State:
        return {} if self._found is None else self._found.state()

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        super().restore(state)
        if self._found is not None:
            self._found.restore(state)


class FiniteMasteryTeacher(FiniteTeacher):
    """The teacher of `SelfPacedMastery` on a finite set.

    Where tasks have several columns, such as a number beside a category, some are nearer to the
    target than others. Then contexts go to a wider target first, as Gaussian ones do, and a search
    prefers what is near it: see `_searched`.
    """

    _who, _option = "SelfPacedMastery", "SelfPacedMastery(reward_threshold=...)"

    def __init__(self, config: "SelfPacedMastery", space: Box, target: Target) -> None:
        judged_by = "success" if config.reward_threshold is None else "reward"
        super().__init__(config, space, target, config.update_every, judged_by)
        self._mastered = np.zeros(0)  # log-probabilities that were mastered last; empty: none
        self._log_wide: Array | None = None  # the wider target
        if space.dimension > 1:  # tasks of a single category are all at the same distance
            places = space.embed(self._points)
            least = config.rule.least_deviation
            self._log_wide = categorical_step.widened(self._log_mu, places, least)
        self._arrived = False  # True once at the wider target; then the aim is the target itself

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes; with a threshold, returns count as successes."""
        threshold = self._config.reward_threshold
        if threshold is not None:
            rewards = (np.asarray(rewards) >= threshold).astype(float)
        super().tell(contexts, rewards, successes)

    def _updated(self, mean: float) -> Array:
        rule = self._config.rule
        move = decided(rule, mean, anything_mastered=len(self._mastered) > 0)
        if move == "back" and rule.retreats:
            move, self._mastered = "search", np.zeros(0)  # what every task is worth is known
            self._arrived = False
        if move == "search":
            return self._searched()
        if move == "on":
            self._mastered = self._log_p
            return categorical_step.step_towards(self._log_p, self._aim(), rule.step)
        if move == "back":
            return categorical_step.step_towards(self._log_p, self._mastered, rule.step)
        return self._log_p

    def _searched(self) -> Array:
        """(k,): the next log-probabilities, while nothing is mastered.

        They are as near to the wider target as they can be while a share of `LEARNABLE` episodes
        succeeds. Where that share cannot be reached, or no task is nearer to the target than
        others, they go where episodes succeed most often.
        """
        log_p, step = self._log_p, self._config.rule.step
        if self._log_wide is None:
            return categorical_step.step_by_alpha(log_p, self._log_mu, self.values, 0.0, step)
        return categorical_step.step_to_target(log_p, self._log_wide, self.values, LEARNABLE, step)

    def _aim(self) -> Array:
        """(k,): the wider target until the contexts have arrived there, then the target."""
        if self._log_wide is None:
            return self._log_mu
        near = categorical_step.kl(self._log_wide, self._log_p) <= self._config.rule.step
        self._arrived = self._arrived or near
        return self._log_mu if self._arrived else self._log_wide

    def _own(self) -> State:
        arrived = {} if self._log_wide is None else {"arrived": np.array(float(self._arrived))}
        return {"mastered": self._mastered, **arrived}

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        state = {"arrived": np.array(0.0), **state}  # earlier versions saved none
        super().restore(state)
        self._mastered = np.array(state["mastered"])
        self._arrived = bool(state["arrived"])
