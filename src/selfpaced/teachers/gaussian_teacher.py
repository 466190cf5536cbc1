"""What the three self-paced teachers share: a distribution of contexts that moves to the target."""

import numpy as np

from selfpaced.maths.box import Box
from selfpaced.maths.context_step import ContextStep
from selfpaced.maths.gaussian import Gaussian, gaussian_over, with_variance_floor
from selfpaced.maths.particles import Particles
from selfpaced.targets.target import Target, points_of, require_density
from selfpaced.teachers.density_teacher import DensityTeacher
from selfpaced.teachers.episodes import JudgedBy
from selfpaced.teachers.retreat import Retreat
from selfpaced.types import State

ARRIVED = 0.5  # contexts may narrow once their KL to the widened target is below this, in nats
SAMPLES = 500  # of a target, by which its mean and covariance are known


class GaussianTeacher(DensityTeacher):
    """Draws contexts from a Gaussian, or from particles, on their way to the target."""

    contexts: Gaussian | Particles
    """What the next contexts are drawn from."""

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
        super().__init__(box, contexts, update_every, judged_by)
        self._target = target
        self._first_contexts = contexts
        gaussian = ("mean", "covariance") if isinstance(contexts, Gaussian) else ()
        self._distribution_names = (*gaussian, *(("retreat.levels",) if retreats else ()))
        self._distribution_rows = gaussian[:1]
        self._retreat = Retreat(judged_by) if retreats else None

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

    def _distribution_state(self) -> State:
        gaussian = {"mean": self.contexts.mean, "covariance": self.contexts.covariance}
        return {
            **(gaussian if isinstance(self.contexts, Gaussian) else {}),  # particles: in the mover
            **({} if self._retreat is None else self._retreat.state()),
        }

    def _restore_distribution(self, state: State) -> None:
        if isinstance(self.contexts, Gaussian):
            self.contexts = Gaussian(np.array(state["mean"]), np.array(state["covariance"]))
        if self._retreat is not None:
            self._retreat.restore(state)


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
