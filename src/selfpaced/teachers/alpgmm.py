"""Contexts where returns change: absolute learning progress (ALP-GMM; Portelas et al., 2019).

A mixture of Gaussians is fitted to the contexts and learning progress of recent episodes, and new
contexts are drawn from the components with much progress.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.box import Box
from selfpaced.maths.mixture import Mixture, fit_mixtures
from selfpaced.maths.nearest import nearest_rows
from selfpaced.spaces.space import checked_space
from selfpaced.targets.target import Target
from selfpaced.teachers.episodes import JudgedBy, RecentEpisodes, check_judged_by, episode_values
from selfpaced.teachers.feasible_teacher import feasible_only
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State, part_of, prefixed

# With more columns than this, a component must have so many points per column that its covariance
# is known; with fewer, Akaike's criterion alone prevents too many components.
FEW_COLUMNS, POINTS_PER_COLUMN = 5, 5
MOST_CATEGORIES = 20  # each is a dimension of the mixture
FLOOR = 1e-4  # smallest variance of a component, with the context space scaled to the unit cube


@dataclass(frozen=True, kw_only=True)
class ALPGMM:
    """Draws contexts where absolute learning progress is high. It needs no target.

    The learning progress of an episode is how much its value differs from that of the nearest
    earlier context.

    >>> import numpy as np
    >>> from selfpaced import ALPGMM, Box, Gaussian
    >>> rng = np.random.default_rng(0)
    >>> teacher = ALPGMM(fit_every=50).start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> for _ in range(4):
    ...     contexts = teacher.ask(50, rng)
    ...     returns = rng.random(50) * (contexts[:, 0] < 0.3)  # nothing changes above 0.3
    ...     teacher.tell(contexts, returns, successes=np.zeros(50))
    >>> bool(np.median(teacher.ask(200, rng)) < 0.3)
    True
    """

    judged_by: JudgedBy = "reward"
    """What an episode's value is: "success" (0 or 1) or "reward" (its return)."""
    fit_every: int = 250
    """Episodes between two fits of the mixture, and the number of episodes that each fit uses."""
    components: tuple[int, int] = (2, 10)
    """Smallest and largest number of components; Akaike's criterion chooses among them."""
    uniform_share: float = 0.2
    """Share of the contexts, from 0 to 1, that is drawn evenly from the whole context space."""
    remembered: int = 2000
    """Earlier episodes that are kept, to find the nearest one to a new context."""

    def __post_init__(self) -> None:
        check_at_least("fit_every", self.fit_every, 2)
        check_at_least("remembered", self.remembered, 1)
        least, most = self.components
        if not 1 <= least <= most:
            raise ValueError(
                f"components must be (least, most) with 1 <= least <= most; got {self.components}"
            )
        if not 0.0 <= self.uniform_share <= 1.0:
            raise ValueError(f"uniform_share must be in [0, 1]; got {self.uniform_share}")
        check_judged_by(self.judged_by)

    def start(self, context_space: Box, target: Target) -> "ALPGMMTeacher":
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        space = checked_space(context_space)
        if space.embedded > space.dimension + MOST_CATEGORIES:
            raise ValueError(
                f"ALPGMM fits Gaussians to contexts, so context_space must have at most "
                f"{MOST_CATEGORIES} categories; use PLR(); got {space!r}"
            )
        return feasible_only(ALPGMMTeacher(self, space), space)


class ALPGMMTeacher(StartedTeacher):
    """ALP-GMM between two batches: earlier episodes, recent progress, and the mixture.

    Inside, the context space is scaled to the unit cube.
    """

    _option = "ALPGMM(judged_by='reward')"

    def __init__(self, config: ALPGMM, box: Box) -> None:
        self._config, self._box = config, box
        self._earlier = RecentEpisodes(config.remembered, box.embedded)
        self._progress = RecentEpisodes(config.fit_every, box.embedded)  # values: progress
        self._since_fit = 0  # episodes since the last fit
        self._mixture: Mixture | None = None  # over contexts and, in the last column, progress
        self._chols = np.zeros((0, box.embedded, box.embedded))  # of its covariances of contexts
        self._chances: Array | None = None  # of its components, summed up; None: no progress

    def __repr__(self) -> str:
        where = "contexts over the whole space"
        if self._mixture is not None:
            means, d = self._mixture.means, self._box.embedded
            peak = self._box.unembed(means[means[:, d].argmax(), :d][None])[0]
            where = f"{len(means)} components, most progress around {peak.round(4).tolist()}"
        return f"ALPGMMTeacher({where}, {len(self._earlier)} episodes remembered)"

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d), most of them from components in proportion to their progress."""
        if self._since_fit >= self._config.fit_every:
            self._fit(rng)
        contexts = self._box.uniform(n, rng)
        if self._mixture is None:
            return contexts
        if self._chances is None:
            return contexts
        d = self._box.embedded
        rows = np.flatnonzero(rng.random(n) >= self._config.uniform_share)
        # What rng.choice does with these chances, without its checks.
        chosen = self._chances.searchsorted(rng.random(len(rows)), side="right")
        order = chosen.argsort(kind="stable")  # component by component
        rows, chosen = rows[order], chosen[order]
        noise = rng.standard_normal((len(rows), d))
        noise = np.einsum("nij,nj->ni", self._chols[chosen], noise)
        drawn = np.clip(self._mixture.means[chosen, :d] + noise, 0.0, 1.0)
        contexts[rows] = self._box.unembed(drawn)
        return np.clip(contexts, self._box.low, self._box.high)

    def _fit(self, rng: np.random.Generator) -> None:
        """Fit mixtures of every allowed size to the recent progress and keep the best."""
        self._since_fit = 0
        progress = self._progress.values
        scale = progress.max() if progress.size and progress.max() > 0 else 1.0
        data = np.column_stack([self._progress.contexts, progress / scale])
        least, most = self._config.components
        if data.shape[1] > FEW_COLUMNS:
            most = min(most, max(least, len(data) // (POINTS_PER_COLUMN * data.shape[1])))
        sizes = range(least, min(most, len(data) - 1) + 1)
        fits = fit_mixtures(data, sizes, FLOOR, rng) if sizes else []
        self._draw_from(min(fits, key=lambda fit: fit.aic) if fits else None)

    def _draw_from(self, mixture: Mixture | None) -> None:
        """Draw contexts from `mixture` from now on; None: from the whole space."""
        self._mixture, self._chances = mixture, None
        if mixture is None:
            return
        d = self._box.embedded
        self._chols = np.linalg.cholesky(mixture.covariances[:, :d, :d])
        progress = np.maximum(mixture.means[:, d], 0.0)  # mean of each component
        if progress.sum() > 0:
            reached = (progress / progress.sum()).cumsum()
            self._chances = reached / reached[-1]

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes and of the progress that each shows."""
        judged_by = self._config.judged_by
        values = episode_values(judged_by, rewards, successes, "ALP-GMM", self._option)
        if len(values) == 0:
            return
        places = self._box.embed(contexts)
        progress = np.zeros(len(values))
        if len(self._earlier):
            nearest = nearest_rows(places, self._earlier.contexts)
            progress = np.abs(values - self._earlier.values[nearest])
        self._earlier.add(places, values)
        self._progress.add(places, progress)
        self._since_fit += len(values)

    @property
    def _columns(self) -> int:
        return self._box.embedded

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        found: State = {
            "since_fit": np.array(self._since_fit),
            **prefixed("earlier.", self._earlier.state()),
            **prefixed("progress.", self._progress.state()),
        }
        if self._mixture is not None:
            weights, means, covariances, likelihood = self._mixture
            found |= {"weights": weights, "means": means, "covariances": covariances}
            found["likelihood"] = np.array(likelihood)
        return found

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        names = ("since_fit", "earlier.contexts", "earlier.values", "progress.contexts")
        self._check_state(state, names, rows=("earlier.contexts",))
        self._since_fit = int(state["since_fit"])
        self._earlier.restore(part_of(state, "earlier."))
        self._progress.restore(part_of(state, "progress."))
        self._draw_from(None)
        if "weights" in state:
            mixture = Mixture(
                weights=np.array(state["weights"]),
                means=np.array(state["means"]),
                covariances=np.array(state["covariances"]),
                log_likelihood=float(state["likelihood"]),
            )
            self._draw_from(mixture)
