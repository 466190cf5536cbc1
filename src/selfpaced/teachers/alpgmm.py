"""Practise where returns change (ALP-GMM; Portelas et al., 2019)."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.mixture import Mixture, fit_mixtures
from selfpaced.teachers.episodes import Judged, Recent, check_judged_by, judged
from selfpaced.types import State

FLOOR = 1e-4  # least variance of a component, in the unit cube


@dataclass(frozen=True, kw_only=True)
class ALPGMM:
    """Absolute learning progress, modelled by a mixture of Gaussians. Needs no target.

    The progress of an episode is how much its return differs from that of the nearest earlier
    context. Contexts are drawn where the mean progress is high.
    """

    judged_by: Judged = "reward"
    fit_every: int = 250  # episodes; as many are fitted
    components: tuple[int, int] = (2, 10)  # least and most; the best by Akaike's criterion
    uniform: float = 0.2  # share of contexts drawn from the whole box
    remembered: int = 2000  # earlier contexts to compare with

    def __post_init__(self) -> None:
        check_at_least("fit_every", self.fit_every, 2)
        check_at_least("remembered", self.remembered, 1)
        least, most = self.components
        if not 1 <= least <= most:
            raise ValueError(f"components must be (least, most) >= 1; got {self.components}")
        if not 0.0 <= self.uniform <= 1.0:
            raise ValueError(f"uniform must be in [0, 1]; got {self.uniform}")
        check_judged_by(self.judged_by)

    def start(self, context_space: Box, target: Gaussian) -> "ALPGMMTeacher":
        return ALPGMMTeacher(self, context_space)


class ALPGMMTeacher:
    """Earlier episodes, the last ones with their progress, and the mixture."""

    def __init__(self, numbers: ALPGMM, box: Box) -> None:
        self._numbers, self._box = numbers, box
        self._earlier = Recent(numbers.remembered, box.dimension)
        self._progress = Recent(numbers.fit_every, box.dimension)
        self._since_fit = 0
        self._mixture: Mixture | None = None

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        if self._since_fit >= self._numbers.fit_every:
            self._fit(rng)
        contexts = self._box.uniform(n, rng)
        if self._mixture is None:
            return contexts
        d = self._box.dimension
        worth = np.maximum(self._mixture.means[:, d], 0.0)
        if worth.sum() <= 0:
            return contexts
        rows = np.flatnonzero(rng.random(n) >= self._numbers.uniform)
        chosen = rng.choice(len(worth), size=len(rows), p=worth / worth.sum())
        for j in np.unique(chosen):
            here = rows[chosen == j]
            C = self._mixture.covariances[j, :d, :d]
            noise = rng.standard_normal((len(here), d)) @ np.linalg.cholesky(C).T
            drawn = np.clip(self._mixture.means[j, :d] + noise, 0.0, 1.0)
            contexts[here] = self._box.low + drawn * self._box.width
        return np.clip(contexts, self._box.low, self._box.high)

    def _fit(self, rng: np.random.Generator) -> None:
        self._since_fit = 0
        alp = self._progress.values
        scale = alp.max() if alp.size and alp.max() > 0 else 1.0
        data = np.column_stack([self._progress.contexts, alp / scale])
        least, most = self._numbers.components
        sizes = range(least, min(most, len(data) - 1) + 1)
        fits = fit_mixtures(data, sizes, FLOOR, rng) if sizes else []
        self._mixture = min(fits, key=lambda fit: fit.aic) if fits else None

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        values = judged(self._numbers.judged_by, rewards, successes, "ALP-GMM")
        if len(values) == 0:
            return
        from scipy.spatial import KDTree  # takes a moment to load

        places = (contexts - self._box.low) / self._box.width
        alp = np.zeros(len(values))
        if len(self._earlier):
            nearest = KDTree(self._earlier.contexts).query(places)[1]
            alp = np.abs(values - self._earlier.values[nearest])
        self._earlier.add(places, values)
        self._progress.add(places, alp)
        self._since_fit += len(values)

    def state(self) -> State:
        found: State = {"since_fit": np.array(self._since_fit)}
        for name, part in (("earlier", self._earlier), ("progress", self._progress)):
            found |= {f"{name}.{key}": value for key, value in part.state().items()}
        if self._mixture is not None:
            weights, means, covariances, likelihood = self._mixture
            found |= {"weights": weights, "means": means, "covariances": covariances}
            found["likelihood"] = np.array(likelihood)
        return found

    def restore(self, state: State) -> None:
        self._since_fit = int(state["since_fit"])
        for name, part in (("earlier", self._earlier), ("progress", self._progress)):
            part.restore({key: state[f"{name}.{key}"] for key in ("contexts", "values")})
        self._mixture = None
        if "weights" in state:
            self._mixture = Mixture(
                np.array(state["weights"]),
                np.array(state["means"]),
                np.array(state["covariances"]),
                float(state["likelihood"]),
            )
