"""What the three self-paced teachers share: a distribution of contexts that moves to the target."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.context_step import ContextStep, TriedContexts
from selfpaced.maths.gaussian import Gaussian, gaussian_over, with_variance_floor
from selfpaced.maths.particles import Particles
from selfpaced.targets.target import Target, points_of, require_density
from selfpaced.teachers.episodes import JudgedBy, episode_values
from selfpaced.teachers.retreat import Retreat
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State

ARRIVED = 0.5  # contexts may narrow once their KL to the widened target is below this, in nats
SAMPLES = 500  # of a target, by which its mean and covariance are known
UNDER_WAY = 10_000  # contexts remembered from `ask` to `tell`; the oldest are forgotten first


class GaussianTeacher(StartedTeacher, ABC):
    """Draws contexts from a Gaussian and updates it after every `update_every` episodes.

    Environments also run contexts that were drawn before the last update. Each episode therefore
    counts by the ratio of the context's density now and when it was drawn, and an update waits
    until the ratios are worth `update_every` episodes. Contexts that this teacher did not issue
    count as drawn from its current distribution.
    """

    _own_state: ClassVar[tuple[str, ...]] = ()  # entries of a state besides those below

    def __init__(
        self,
        box: Box,
        target: Target,
        contexts: Gaussian | Particles,
        update_every: int,
        judged_by: JudgedBy,
        *,
        retreats: bool = False,
    ) -> None:
        self._box, self._target = box, target
        self._update_every = update_every
        self._judged_by: JudgedBy = judged_by
        self.contexts: Gaussian | Particles = contexts
        self._first_contexts = contexts
        self._retreat = Retreat(judged_by) if retreats else None
        self._forget()
        self._issued: dict[bytes, float] = {}  # log q of each context when it was drawn
        self._failed_steps = 0

    def __repr__(self) -> str:
        mean = self.contexts.mean.round(4).tolist()
        far = ""
        if isinstance(self.contexts, Gaussian) and isinstance(self._target, Gaussian):
            far = f", KL to the target {self.contexts.kl(self._target):.3g}"
        return f"{type(self).__name__}(contexts around {mean}{far})"

    @property
    def context_distribution(self) -> Gaussian | Particles:
        """What the next contexts are drawn from, truncated to the context space."""
        return self.contexts

    @property
    def _gaussian(self) -> Gaussian:
        """The contexts' Gaussian, for teachers that never have particles."""
        assert isinstance(self.contexts, Gaussian)
        return self.contexts

    @property
    def failed_steps(self) -> int:
        """Updates whose solver found nothing better, so that the distribution was kept."""
        return self._failed_steps

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d) from the current distribution."""
        contexts = self.contexts.sample(n, rng, self._box)
        for context, density in zip(contexts, self.contexts.log_prob(contexts), strict=True):
            self._issued[context.tobytes()] = float(density)
        while len(self._issued) > UNDER_WAY:
            del self._issued[next(iter(self._issued))]
        return contexts

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes, and update once there are enough of them."""
        who = type(self).__name__
        values = episode_values(self._judged_by, rewards, successes, who, self._option)
        now = self.contexts.log_prob(contexts)
        rows = np.ascontiguousarray(contexts, dtype=float)
        drawn = [
            self._issued.pop(row.tobytes(), float(density))
            for row, density in zip(rows, now, strict=True)
        ]
        ratios = np.exp(np.minimum(now - drawn, 3.0))
        new = np.column_stack([rows, values, ratios])
        self._episodes = np.concatenate([self._episodes, new])
        ratios = self._episodes[:, -1]
        count = min(ratios.sum(), ratios.sum() ** 2 / max(ratios @ ratios, 1e-300))
        if count >= self._update_every - 1e-6:
            self._update(self._tried())
            self._forget()

    @abstractmethod
    def _update(self, tried: TriedContexts) -> None:
        """Replace `self.contexts`, given the episodes since the last update."""

    def _retreated(self, value: float, threshold: float | None = None) -> bool:
        """Go back if success is lost; True if the contexts were replaced by earlier ones."""
        if self._retreat is None:
            return False
        now = self._gaussian
        found = self._retreat.back_to(value, threshold, now.mean, now.covariance)
        if found is None:
            return False
        if found == "beginning":
            self.contexts = self._first_contexts
            self._begin_anew()
        else:
            self.contexts = Gaussian(*found)
        return True

    def _begin_anew(self) -> None:
        """Forget what was mastered: the contexts are the first ones again."""

    def _forget(self) -> None:
        # Episodes since the last update: contexts, values, and density ratios.
        self._episodes = np.zeros((0, self._box.dimension + 2))

    def _tried(self) -> TriedContexts:
        contexts, values, ratios = np.split(self._episodes, [self._box.dimension, -1], axis=1)
        return TriedContexts(contexts, values[:, 0], ratios[:, 0] / ratios.sum())

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        gaussian = {"mean": self.contexts.mean, "covariance": self.contexts.covariance}
        return {
            **(gaussian if isinstance(self.contexts, Gaussian) else {}),  # particles: in the mover
            **({} if self._retreat is None else self._retreat.state()),
            "failed_steps": np.array(self._failed_steps),
            "episodes": self._episodes,
            "issued": np.frombuffer(b"".join(self._issued)).reshape(-1, self._box.dimension),
            "issued_densities": np.array(list(self._issued.values())),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        names = ("failed_steps", "episodes", "issued", "issued_densities")
        gaussian = ("mean", "covariance") if isinstance(self.contexts, Gaussian) else ()
        retreat = () if self._retreat is None else ("retreat.levels",)
        needed = (*gaussian, *names, *retreat, *self._own_state)
        self._check_state(state, needed, rows=(*gaussian[:1], "issued"))
        if isinstance(self.contexts, Gaussian):
            self.contexts = Gaussian(np.array(state["mean"]), np.array(state["covariance"]))
        if self._retreat is not None:
            self._retreat.restore(state)
        self._failed_steps = int(state["failed_steps"])
        self._episodes = np.array(state["episodes"])
        issued = [context.tobytes() for context in np.array(state["issued"])]
        self._issued = dict(zip(issued, state["issued_densities"].tolist(), strict=True))


def gaussian_of_teacher(box: Box, target: Target, who: str) -> Gaussian:
    """The first contexts of a teacher that draws from a Gaussian.

    Raise a ValueError that names an alternative if it cannot work with the space or the target.
    """
    if not box.ordered:
        raise ValueError(
            f"{who} draws contexts from a Gaussian, or from a finite set, so context_space must "
            f"not have categories beside numbers; use SelfPacedMastery() or CurrOT(); got {box!r}"
        )
    require_density(target, who, "SelfPacedMastery() or CurrOT()")
    return gaussian_over(Box(box.low, box.high))


def gaussian_like(target: Target, box: Box) -> Gaussian:
    """`target` if it is Gaussian, else the Gaussian with the mean and covariance of its samples."""
    if isinstance(target, Gaussian):
        return target
    points = points_of(target, SAMPLES, box)
    least = np.diag((1e-3 * box.width) ** 2)
    return Gaussian(points.mean(axis=0), np.cov(points.T).reshape(2 * (box.dimension,)) + least)


class WidthKeeper:
    """Keeps contexts at least `least_deviation` wide until they are near the target.

    They may narrow down once their KL to the target is below `until_kl`, or once they have come
    as near to the target as contexts of that width can. Of a target that is not Gaussian, the
    Gaussian with its mean and covariance counts.
    """

    def __init__(self, box: Box, target: Target, least_deviation: float, until_kl: float) -> None:
        self._target, self._until_kl = gaussian_like(target, box), until_kl
        self._least_variance = (least_deviation * box.width) ** 2
        self._wide_target = with_variance_floor(self._target, self._least_variance)
        self.arrived = False

    def kept_wide(self, step: ContextStep) -> Gaussian:
        """The contexts of `step`, widened if they must not narrow down yet."""
        contexts = step.contexts
        self.arrived = self.arrived or contexts.kl(self._wide_target) < ARRIVED
        if self.arrived or contexts.kl(self._target) < self._until_kl:
            return contexts
        return with_variance_floor(contexts, self._least_variance)
