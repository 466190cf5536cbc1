"""Contexts worth replaying (prioritised level replay on a box; Jiang et al., 2021)."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.teachers.episodes import judged
from selfpaced.types import State


@dataclass(frozen=True, kw_only=True)
class PLR:
    """Prioritised replay: needs successes, and no target.

    A context's score is s (1 - s) of its success rate s: highest where it is solved half the time
    (Rutherford et al., 2024). A rate from few episodes is drawn towards one half, so that what was
    tried once is worth another try.
    """

    capacity: int = 500  # contexts that are remembered
    replay: float = 0.5  # share of the contexts that are replayed, once there are `enough`
    enough: int = 50
    temperature: float = 0.3  # beta: chances go as (1 / rank)^(1 / beta)
    staleness: float = 0.1  # share of the chances that goes to what was not drawn for long

    def __post_init__(self) -> None:
        check_at_least("capacity", self.capacity, 1)
        check_at_least("enough", self.enough, 1)
        check_positive("temperature", self.temperature)
        for name in ("replay", "staleness"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in [0, 1]; got {getattr(self, name)}")

    def start(self, context_space: Box, target: Gaussian) -> "PLRTeacher":
        return PLRTeacher(self, context_space)


class PLRTeacher:
    """Remembered contexts with their episodes, wins, and when each was last drawn."""

    def __init__(self, numbers: PLR, box: Box) -> None:
        self._numbers, self._box = numbers, box
        self._contexts = np.zeros((0, box.dimension))
        self._episodes, self._wins = np.zeros(0), np.zeros(0)
        self._drawn = np.zeros(0)  # the ask that last drew each
        self._asks = 0

    @property
    def scores(self) -> Array:
        """(k,): s (1 - s) of each remembered context."""
        rate = (self._wins + 1.0) / (self._episodes + 2.0)
        return rate * (1.0 - rate)

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        self._asks += 1
        fresh = self._box.uniform(n, rng)
        if len(self._contexts) < self._numbers.enough:
            return fresh
        replayed = np.flatnonzero(rng.random(n) < self._numbers.replay)
        chosen = rng.choice(len(self._contexts), size=len(replayed), p=self._chances())
        fresh[replayed] = self._contexts[chosen]
        self._drawn[chosen] = self._asks
        return fresh

    def _chances(self) -> Array:
        rank = np.empty(len(self._contexts))
        rank[np.argsort(-self.scores, kind="stable")] = np.arange(1, len(rank) + 1)
        by_score = rank ** (-1.0 / self._numbers.temperature)
        waited = self._asks - self._drawn
        by_age = waited / waited.sum() if waited.sum() > 0 else np.full(len(rank), 1 / len(rank))
        share = self._numbers.staleness
        chances = (1 - share) * by_score / by_score.sum() + share * by_age
        return chances / chances.sum()

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        values = judged("success", rewards, successes, "PLR")
        if len(values) == 0:
            return
        places, which = np.unique(contexts, axis=0, return_inverse=True)
        episodes = np.bincount(which.ravel(), minlength=len(places)).astype(float)
        wins = np.bincount(which.ravel(), weights=values, minlength=len(places))
        known = {context.tobytes(): i for i, context in enumerate(self._contexts)}
        rows = np.array([known.get(place.tobytes(), -1) for place in places])
        old = rows >= 0
        self._episodes[rows[old]] += episodes[old]
        self._wins[rows[old]] += wins[old]
        self._contexts = np.concatenate([self._contexts, places[~old]])
        self._episodes = np.concatenate([self._episodes, episodes[~old]])
        self._wins = np.concatenate([self._wins, wins[~old]])
        self._drawn = np.concatenate([self._drawn, np.full((~old).sum(), float(self._asks))])
        if len(self._contexts) > self._numbers.capacity:  # the least worth leave
            kept = np.sort(np.argsort(-self.scores, kind="stable")[: self._numbers.capacity])
            self._contexts, self._episodes = self._contexts[kept], self._episodes[kept]
            self._wins, self._drawn = self._wins[kept], self._drawn[kept]

    def state(self) -> State:
        return {
            "contexts": self._contexts,
            "episodes": self._episodes,
            "wins": self._wins,
            "drawn": self._drawn,
            "asks": np.array(self._asks),
        }

    def restore(self, state: State) -> None:
        self._contexts, self._drawn = np.array(state["contexts"]), np.array(state["drawn"])
        self._episodes, self._wins = np.array(state["episodes"]), np.array(state["wins"])
        self._asks = int(state["asks"])
