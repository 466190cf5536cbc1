"""A distribution of contexts as particles: points in the unit cube, each with a Gaussian around it.

With the places x_1, ..., x_N in the unit cube of the space (`Box.embed`) and the deviations h_i,
which are one number h as a rule, the density in that cube is

    q(x) = (1/N) sum_i N(x | x_i, h_i^2 I).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from selfpaced.maths.arrays import Array, IntArray, frozen
from selfpaced.maths.box import Box
from selfpaced.maths.nearest import nearest_rows

TRIES = 30  # draws of an infeasible context before the nearest of some feasible ones is taken
CANDIDATES = 500  # feasible contexts among which the nearest one is looked for
Draw = Callable[[int, np.random.Generator], Array]
"""A function that draws n contexts (n, d)."""


@dataclass(frozen=True, eq=False, repr=False)
class Particles:
    """Contexts drawn around particles, truncated to the space and rounded to what exists there."""

    space: Box
    """Which contexts exist."""
    places: Array
    """(N, e): the particles, in the unit cube of the space."""
    deviation: float | Array
    """h or (N,) h_i: standard deviation around each particle, as a share of each width."""
    draw: Draw | None = None
    """Draws contexts of the target itself, once the particles have arrived there; else None."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", frozen(self.places))
        if isinstance(self.deviation, np.ndarray):
            h = self.deviation
            shared = float(h.flat[0]) if h.min() == h.max() else frozen(h)
            object.__setattr__(self, "deviation", shared)

    def __repr__(self) -> str:
        mean = self.mean.round(4).tolist()
        widest = np.max(self.deviation)
        return f"Particles({len(self.places)} around {mean}, deviation {widest:.3g})"

    @property
    def dimension(self) -> int:
        """d: the number of context dimensions."""
        return self.space.dimension

    @property
    def contexts(self) -> Array:
        """(N, d): the contexts nearest to the particles."""
        return self.space.unembed(self.places)

    @property
    def mean(self) -> Array:
        """(d,): the mean of the particles' contexts."""
        return self.contexts.mean(axis=0)

    @property
    def covariance(self) -> Array:
        """(d, d): the covariance of the contexts, with that around each particle."""
        apart = self.contexts - self.mean
        h = self.deviation
        mean_h = float(np.sqrt((h**2).mean())) if isinstance(h, np.ndarray) else h
        noise = np.diag((mean_h * self.space.width) ** 2)
        return apart.T @ apart / len(apart) + noise

    def sample(self, n: int, rng: np.random.Generator, box: Box | None = None) -> Array:
        """(n, d): feasible contexts; `box` must be the space itself, if it is given.

        An infeasible draw is drawn again, around any particle. If nearly all particles are inside
        an obstacle, that does not end: then the nearest of some feasible contexts is taken.
        """
        if self.draw is not None:
            return self.draw(n, rng)
        chosen = rng.integers(len(self.places), size=n)
        contexts = self._around(chosen, rng)
        for _ in range(TRIES):
            bad = np.flatnonzero(~self.space.feasible(contexts))
            if bad.size == 0:
                return contexts
            contexts[bad] = self._around(rng.integers(len(self.places), size=bad.size), rng)
        bad = np.flatnonzero(~self.space.feasible(contexts))
        if bad.size:
            free = self.space.uniform(CANDIDATES, rng)
            nearest = nearest_rows(self.space.embed(contexts[bad]), self.space.embed(free))
            contexts[bad] = free[nearest]
        return contexts

    def _around(self, chosen: IntArray, rng: np.random.Generator) -> Array:
        """(n, d): contexts around particles, by number; draws outside the cube are drawn again."""
        e = self.places.shape[1]
        cube = Box(np.zeros(e), np.ones(e))
        if not isinstance(self.deviation, np.ndarray):
            drawn = cube.truncated(self.places[chosen], self.deviation * np.eye(e), rng)
            return self.space.unembed(drawn)
        # `truncated` has one deviation for all rows, so those with the same one are drawn together.
        deviations, drawn = self.deviation[chosen], np.zeros((len(chosen), e))
        for deviation in np.unique(deviations):
            rows = np.flatnonzero(deviations == deviation)
            places = self.places[chosen[rows]]
            drawn[rows] = cube.truncated(places, deviation * np.eye(e), rng)
        return self.space.unembed(drawn)

    def log_prob(self, contexts: Array) -> Array:
        """(n,): log-densities in the unit cube of `contexts` (n, d)."""
        return log_density(self.space.embed(contexts), self.places, self.deviation)

    def kl(self, other: "Particles") -> float:
        """KL(self || other), estimated with one sample around each particle, always the same."""
        noise = fixed_noise(*self.places.shape)
        h = self.deviation
        drawn = self.places + (h[:, None] if isinstance(h, np.ndarray) else h) * noise
        mine = log_density(drawn, self.places, self.deviation)
        theirs = log_density(drawn, other.places, other.deviation)
        return float((mine - theirs).mean())


def log_density(points: Array, places: Array, deviation: float | Array) -> Array:
    """(n,): log q(x) of each of the `points` (n, e), for particles at `places` (N, e)."""
    exponents = (points**2).sum(axis=1)[:, None] + (places**2).sum(axis=1) - 2 * points @ places.T
    np.maximum(exponents, 0.0, out=exponents)  # squared distances, but for rounding
    exponents *= -0.5 / deviation**2
    e, shared = places.shape[1], deviation
    if isinstance(deviation, np.ndarray):
        shared = float(deviation.max())
        exponents -= e * np.log(deviation / shared)
    # SciPy's logsumexp takes five times as long for arrays of this size.
    largest = exponents.max(axis=1)
    exponents -= largest[:, None]
    np.exp(exponents, out=exponents)
    constant = np.log(len(places)) + 0.5 * e * np.log(2 * np.pi * shared**2)
    return largest + np.log(exponents.sum(axis=1)) - constant


@lru_cache(maxsize=8)
def fixed_noise(n: int, e: int) -> Array:
    """(n, e): standard normal numbers, the same in every process, with mean 0 and variance 1."""
    noise = np.random.default_rng(0).standard_normal((n, e))
    return frozen((noise - noise.mean(axis=0)) / noise.std(axis=0))
