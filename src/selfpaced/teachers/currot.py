"""Particles that move to the target by optimal transport (CURROT; Klink et al., 2022, simplified).

Each particle is matched to a sample of the target and goes there as far as the estimated return
allows. The target may be anything that can be sampled; here it is the problem's Gaussian.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian, checked_target
from selfpaced.teachers.episodes import Judged, Recent, check_judged_by, judged
from selfpaced.types import State


@dataclass(frozen=True, kw_only=True)
class CurrOT:
    """CURROT. Distances count in the context box scaled to the unit cube."""

    judged_by: Judged = "success"
    threshold: float = 0.5  # delta: what a particle's place must be worth, by estimate
    radius: float = 0.08  # epsilon: how far a particle goes in one update, times sqrt(d)
    particles: int = 100
    update_every: int = 50  # episodes
    remembered: int = 400  # episodes that the estimate rests on
    bandwidth: float = 0.06  # of the kernel, times sqrt(d)
    candidates: int = 8  # random places that a particle looks at

    def __post_init__(self) -> None:
        for name in ("particles", "update_every", "remembered", "candidates"):
            check_at_least(name, getattr(self, name), 1)
        check_positive("radius", self.radius)
        check_positive("bandwidth", self.bandwidth)
        check_judged_by(self.judged_by)

    def start(self, context_space: Box, target: Gaussian) -> "CurrOTTeacher":
        return CurrOTTeacher(self, context_space, checked_target(target, context_space))


class CurrOTTeacher:
    """The particles, in the unit cube, and the last episodes. No particles: not started yet."""

    def __init__(self, numbers: CurrOT, box: Box, target: Gaussian) -> None:
        self._numbers, self._box, self._target = numbers, box, target
        self._particles = np.zeros((0, box.dimension))
        self._episodes = Recent(numbers.remembered, box.dimension)
        self._since_update = 0
        self._root = float(np.sqrt(box.dimension))

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        if self._since_update >= self._numbers.update_every:
            self._since_update = 0
            self._update(rng)
        if len(self._particles) == 0:
            return self._box.uniform(n, rng)
        chosen = rng.integers(len(self._particles), size=n)
        drawn = self._box.low + self._particles[chosen] * self._box.width
        return np.clip(drawn, self._box.low, self._box.high)

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        values = judged(self._numbers.judged_by, rewards, successes, "CurrOT")
        self._episodes.add((contexts - self._box.low) / self._box.width, values)
        self._since_update += len(values)

    def estimate(self, places: Array) -> Array:
        """(n,): what `places` (n, d) in the unit cube are worth (Nadaraya-Watson)."""
        known = self._episodes.contexts
        squares = (places**2).sum(1)[:, None] + (known**2).sum(1) - 2 * places @ known.T
        exponents = -squares / (2 * (self._numbers.bandwidth * self._root) ** 2)
        kernel = np.exp(exponents - exponents.max(axis=1, keepdims=True))  # far away: the nearest
        return kernel @ self._episodes.values / kernel.sum(axis=1)

    def _update(self, rng: np.random.Generator) -> None:
        from scipy.optimize import linear_sum_assignment  # takes a moment to load

        numbers = self._numbers
        good = self._episodes.contexts[self._episodes.values >= numbers.threshold]
        if len(self._particles) == 0:
            worth = self.estimate(self._episodes.contexts)
            if worth.max() < numbers.threshold:
                return  # nothing can be done anywhere yet: go on everywhere
            able = self._episodes.contexts[worth >= numbers.threshold]
            self._particles = able[rng.integers(len(able), size=numbers.particles)]
        aims = self._target.sample(numbers.particles, rng, self._box)
        aims = (aims - self._box.low) / self._box.width
        costs = ((self._particles[:, None] - aims) ** 2).sum(axis=2)
        aims = aims[linear_sum_assignment(costs)[1]]
        places = self._candidates(aims, rng)  # (k, particles, d)
        worth = self.estimate(places.reshape(-1, self._box.dimension)).reshape(places.shape[:2])
        far = np.where(worth >= numbers.threshold, ((places - aims) ** 2).sum(axis=2), np.inf)
        best = far.argmin(axis=0)
        index = np.arange(numbers.particles)
        moved = places[best, index]
        lost = ~np.isfinite(far[best, index])  # nothing in reach is good enough
        if lost.any():
            moved[lost] = self._towards(self._particles[lost], good)
        self._particles = moved

    def _candidates(self, aims: Array, rng: np.random.Generator) -> Array:
        """(k, particles, d): here, straight to the aim, and random places within reach."""
        reach = self._numbers.radius * self._root
        offset = aims - self._particles
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        straight = self._particles + offset * np.minimum(1.0, reach / np.maximum(length, 1e-300))
        shape = (self._numbers.candidates, *self._particles.shape)
        directions = rng.standard_normal(shape)
        directions /= np.linalg.norm(directions, axis=2, keepdims=True)
        shares = rng.random((*shape[:2], 1)) ** (1.0 / self._box.dimension)
        around = np.clip(self._particles + reach * shares * directions, 0.0, 1.0)
        return np.concatenate([self._particles[None], straight[None], around])

    def _towards(self, places: Array, good: Array) -> Array:
        """`places` (n, d), one step nearer to the nearest of the `good` episodes, if any."""
        if len(good) == 0:
            return places
        nearest = good[((places[:, None] - good) ** 2).sum(axis=2).argmin(axis=1)]
        offset = nearest - places
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        reach = self._numbers.radius * self._root
        return places + offset * np.minimum(1.0, reach / np.maximum(length, 1e-300))

    def state(self) -> State:
        episodes = {f"episodes.{name}": value for name, value in self._episodes.state().items()}
        return {
            "particles": self._particles,
            "since_update": np.array(self._since_update),
            **episodes,
        }

    def restore(self, state: State) -> None:
        self._particles = np.array(state["particles"])
        self._since_update = int(state["since_update"])
        self._episodes.restore({k: state[f"episodes.{k}"] for k in ("contexts", "values")})
