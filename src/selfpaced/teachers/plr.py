"""Contexts worth replaying: prioritised level replay on a box (PLR; Jiang et al., 2021)."""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_positive
from selfpaced.maths.box import Box
from selfpaced.spaces.space import checked_space
from selfpaced.targets.target import Target
from selfpaced.teachers.episodes import episode_values
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State


@dataclass(frozen=True, kw_only=True)
class PLR:
    """Replays contexts that are solved about half the time. It needs successes and no target.

    The score of a context is s (1 - s) with its success rate s (Rutherford et al., 2024), highest
    for one half. The rate counts one success and one failure more than were seen, so that a context
    that was tried once is worth another try.

    >>> import numpy as np
    >>> from selfpaced import PLR, Box, Gaussian
    >>> rng = np.random.default_rng(0)
    >>> teacher = PLR(replay_share=0.8).start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> for _ in range(20):
    ...     contexts = teacher.ask(60, rng)
    ...     teacher.tell(contexts, rewards=np.zeros(60), successes=rng.random(60) < contexts[:, 0])
    >>> teacher
    PLRTeacher(replays contexts around [0.5058], 275 contexts remembered with 1200 episodes)
    """

    remembered: int = 500
    """Contexts that are kept for replay; the one with the lowest score leaves first."""
    replay_share: float = 0.5
    """Share of the contexts, from 0 to 1, that is replayed; the others are drawn evenly."""
    replay_from: int = 50
    """Number of remembered contexts from which replay begins."""
    temperature: float = 0.3
    """beta: chances are proportional to (1 / rank)^(1 / beta); the highest score has rank 1.

    A smaller value prefers the highest scores more strongly.
    """
    staleness: float = 0.1
    """Share of the chances, from 0 to 1, that goes to contexts in proportion to how long ago
    they were drawn."""

    def __post_init__(self) -> None:
        check_at_least("remembered", self.remembered, 1)
        check_at_least("replay_from", self.replay_from, 1)
        check_positive("temperature", self.temperature)
        for name in ("replay_share", "staleness"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in [0, 1]; got {getattr(self, name)}")

    def start(self, context_space: Box, target: Target) -> "PLRTeacher":
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        return PLRTeacher(self, checked_space(context_space))


class PLRTeacher(StartedTeacher):
    """PLR between two batches: remembered contexts with their episodes, successes and last draw."""

    _judged_by = "success"

    def __init__(self, config: PLR, box: Box) -> None:
        self._config, self._box = config, box
        self._contexts = np.zeros((0, box.dimension))
        self._episodes, self._wins = np.zeros(0), np.zeros(0)  # of each remembered context
        self._drawn = np.zeros(0)  # number of the `ask` that drew each context last
        self._asks = 0

    def __repr__(self) -> str:
        where = "contexts over the whole space"
        if len(self._contexts) >= self._config.replay_from:
            mean = (self._chances() @ self._contexts).round(4).tolist()
            where = f"replays contexts around {mean}"
        return (
            f"PLRTeacher({where}, {len(self._contexts)} contexts remembered with "
            f"{self._episodes.sum():.0f} episodes)"
        )

    @property
    def scores(self) -> Array:
        """(k,): s (1 - s) of each remembered context."""
        rate = (self._wins + 1.0) / (self._episodes + 2.0)
        return rate * (1.0 - rate)

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d): some replayed, the others uniform over the context space."""
        self._asks += 1
        contexts = self._box.uniform(n, rng)
        if len(self._contexts) < self._config.replay_from:
            return contexts
        replayed = np.flatnonzero(rng.random(n) < self._config.replay_share)
        chosen = rng.choice(len(self._contexts), size=len(replayed), p=self._chances())
        contexts[replayed] = self._contexts[chosen]
        self._drawn[chosen] = self._asks
        return contexts

    def _chances(self) -> Array:
        """(k,): the probability of each remembered context to be replayed."""
        rank = np.empty(len(self._contexts))
        rank[np.argsort(-self.scores, kind="stable")] = np.arange(1, len(rank) + 1)
        by_score = rank ** (-1.0 / self._config.temperature)
        waited = self._asks - self._drawn
        by_age = waited / waited.sum() if waited.sum() > 0 else np.full(len(rank), 1 / len(rank))
        share = self._config.staleness
        chances = (1 - share) * by_score / by_score.sum() + share * by_age
        return chances / chances.sum()

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Count episodes and successes of each context; forget contexts with the lowest scores."""
        values = episode_values("success", rewards, successes, "PLR")
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
        if len(self._contexts) > self._config.remembered:
            kept = np.sort(np.argsort(-self.scores, kind="stable")[: self._config.remembered])
            self._contexts, self._episodes = self._contexts[kept], self._episodes[kept]
            self._wins, self._drawn = self._wins[kept], self._drawn[kept]

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {
            "contexts": self._contexts,
            "episodes": self._episodes,
            "wins": self._wins,
            "drawn": self._drawn,
            "asks": np.array(self._asks),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        names = ("contexts", "episodes", "wins", "drawn", "asks")
        self._check_state(state, names, rows=("contexts",))
        self._contexts, self._drawn = np.array(state["contexts"]), np.array(state["drawn"])
        self._episodes, self._wins = np.array(state["episodes"]), np.array(state["wins"])
        self._asks = int(state["asks"])
