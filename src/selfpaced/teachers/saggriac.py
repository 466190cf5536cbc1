"""SAGG-RIAC: practise where competence changes fastest (Baranes and Oudeyer, 2010).

The context box is split into regions, each with the competences of the contexts tried in it.
A region's interest is how much its recent competence differs from what it was before.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, IntArray, check_at_least
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.teachers.episodes import judged
from selfpaced.teachers.small_asks import SmallAsks
from selfpaced.types import State

CANDIDATES = 50  # random splits of which the best is taken
UNIFORM, NEAR_WORST = 0.2, 0.1  # shares of the second and third way to sample; the rest: the first
AT_ONCE = 10  # contexts drawn together for smaller asks, so that each way gets its share
NEAR = 0.1  # standard deviation around the least competent context, in widths of the box


@dataclass(frozen=True, kw_only=True)
class SaggRiac:
    """SAGG-RIAC. Competence is the reward.

    The paper's table prints n_GOALS and n_HIST the other way round; these are what was used.
    """

    split_at: int = 200  # contexts a region holds before it is split (the table's n_HIST)
    window: int = 100  # most recent of them that make its interest (the table's n_GOALS)

    def __post_init__(self) -> None:
        check_at_least("split_at", self.split_at, 2)
        check_at_least("window", self.window, 2)

    def start(self, context_space: Box, target: Gaussian) -> "SaggRiacTeacher":
        return SaggRiacTeacher(self, context_space)


class SaggRiacTeacher:
    """Regions as boxes, and every sample with the region it lies in, oldest first."""

    def __init__(self, numbers: SaggRiac, box: Box) -> None:
        self._numbers, self._box = numbers, box
        self._lows, self._highs = box.low[None].copy(), box.high[None].copy()  # (regions, d)
        self._limits = np.array([numbers.split_at])  # samples at which a region is split
        self._contexts = np.zeros((0, box.dimension))
        self._competences = np.zeros(0)
        self._regions = np.zeros(0, dtype=np.int64)  # of each sample
        self._asks = SmallAsks(self._batch, AT_ONCE, box.dimension)

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        return self._asks.ask(n, rng)

    def _batch(self, n: int, rng: np.random.Generator) -> Array:
        while (full := self._full_regions()).size:
            self._split(int(full[0]), rng)
        uniform, near = int(UNIFORM * n), int(NEAR_WORST * n)
        chances = self._chances()
        if chances is None:  # nothing is more interesting than anything else
            return self._box.uniform(n, rng)
        chosen = rng.choice(len(chances), size=n - uniform, p=chances)
        inside, worst = chosen[near:], self._least_competent(chosen[:near])
        spread = self._highs[inside] - self._lows[inside]
        first = self._lows[inside] + rng.random(spread.shape) * spread
        second = self._box.uniform(uniform, rng)
        third = worst + NEAR * self._box.width * rng.standard_normal(worst.shape)
        return np.concatenate([first, second, np.clip(third, self._box.low, self._box.high)])

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        if len(contexts) == 0:
            return
        competences = judged("reward", rewards, successes, "SAGG-RIAC")
        below = contexts[:, None] < self._highs  # (n, regions, d)
        below |= (contexts[:, None] == self._highs) & (self._highs == self._box.high)
        inside = ((contexts[:, None] >= self._lows) & below).all(axis=2)
        self._contexts = np.concatenate([self._contexts, contexts])
        self._competences = np.concatenate([self._competences, competences])
        self._regions = np.concatenate([self._regions, inside.argmax(axis=1)])

    @property
    def interests(self) -> Array:
        """(regions,): how much each region's competence has changed lately."""
        return np.array(
            [
                interest(self._competences[self._regions == region], self._numbers.window)
                for region in range(len(self._lows))
            ]
        )

    def _chances(self) -> Array | None:
        """The probability of each region; None if all are alike."""
        excess = self.interests
        excess = excess - excess.min()
        total = excess.sum()
        return excess / total if total > 0 and np.isfinite(total) else None

    def _least_competent(self, regions: IntArray) -> Array:
        """Of each region the context with the least competence; its centre if it has none."""
        places = (self._lows[regions] + self._highs[regions]) / 2
        for i, region in enumerate(regions):
            members = np.flatnonzero(self._regions == region)
            if members.size:
                places[i] = self._contexts[members[self._competences[members].argmin()]]
        return places

    def _full_regions(self) -> IntArray:
        counts = np.bincount(self._regions, minlength=len(self._lows))
        return np.flatnonzero(counts > self._limits)

    def _split(self, region: int, rng: np.random.Generator) -> None:
        """Cut `region` in two where the parts differ most in interest and both hold samples."""
        members = np.flatnonzero(self._regions == region)
        contexts, competences = self._contexts[members], self._competences[members]
        low, high = self._lows[region], self._highs[region]
        axes = rng.integers(self._box.dimension, size=CANDIDATES)
        cuts = low[axes] + rng.random(CANDIDATES) * (high - low)[axes]
        left = contexts[:, axes] < cuts  # (members, candidates)
        sizes = left.sum(axis=0)
        balance = sizes * (len(members) - sizes)
        contrast = [
            abs(
                interest(competences[left[:, k]], self._numbers.window)
                - interest(competences[~left[:, k]], self._numbers.window)
            )
            for k in range(CANDIDATES)
        ]
        best = max(range(CANDIDATES), key=lambda k: (balance[k] * contrast[k], balance[k]))
        if balance[best] == 0:  # all contexts in one place: look again when there are twice as many
            self._limits[region] = 2 * len(members)
            return
        new = len(self._lows)
        self._lows = np.concatenate([self._lows, low[None]])
        self._highs = np.concatenate([self._highs, high[None]])
        self._highs[region, axes[best]] = self._lows[new, axes[best]] = cuts[best]
        self._limits = np.append(self._limits, self._numbers.split_at)
        self._limits[region] = self._numbers.split_at
        self._regions[members[~left[:, best]]] = new

    def state(self) -> State:
        return {
            "lows": self._lows,
            "highs": self._highs,
            "limits": self._limits,
            "contexts": self._contexts,
            "competences": self._competences,
            "regions": self._regions,
            "left": self._asks.left,
        }

    def restore(self, state: State) -> None:
        self._lows, self._highs = np.array(state["lows"]), np.array(state["highs"])
        self._limits = np.array(state["limits"])
        self._contexts = np.array(state["contexts"])
        self._competences = np.array(state["competences"])
        self._regions = np.array(state["regions"])
        self._asks.left = np.array(state["left"])


def interest(competences: Array, window: int) -> float:
    """|sum of the newer half - sum of the older half| / window, over the last `window`."""
    recent = competences[-window:]
    half = len(recent) // 2
    if half == 0:
        return 0.0
    older, newer = recent[len(recent) - 2 * half : len(recent) - half], recent[-half:]
    return abs(float(newer.sum() - older.sum())) / (2 * half)
