"""Contexts where competence changes fastest (SAGG-RIAC; Baranes and Oudeyer, 2010).

The context space is split into regions, each with the competences of the contexts tried in it.
The interest of a region is how much its recent competence differs from what it was before.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, IntArray, check_at_least
from selfpaced.maths.box import Box
from selfpaced.targets.target import Target
from selfpaced.teachers.episodes import episode_values
from selfpaced.teachers.feasible_teacher import feasible_only, ordered_space
from selfpaced.teachers.request_batching import RequestBatcher
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State

CANDIDATES = 50  # random splits of a region, of which the best is taken
# A batch has three parts: contexts from interesting regions, contexts from anywhere (UNIFORM) and
# contexts near the least competent one of an interesting region (NEAR_WORST).
UNIFORM, NEAR_WORST = 0.2, 0.1  # shares of a batch; the first part is the rest
AT_ONCE = 10  # smaller requests are served from a batch of this size, so that no share rounds to 0
NEAR = 0.1  # standard deviation around the least competent context, as a share of the box's width


@dataclass(frozen=True, kw_only=True)
class SaggRiac:
    """Draws contexts from regions whose competence, the return, changes. It needs no target.

    The paper's Table 2 prints n_GOALS and n_HIST the other way round; here they are as in the
    authors' program.

    >>> import numpy as np
    >>> from selfpaced import Box, Gaussian, SaggRiac
    >>> rng = np.random.default_rng(0)
    >>> teacher = SaggRiac(split_at=60, window=40).start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> for k in range(5):
    ...     contexts = teacher.ask(50, rng)
    ...     returns = k * (contexts[:, 0] < 0.3)  # nothing changes above 0.3
    ...     teacher.tell(contexts, returns, successes=np.zeros(50))
    >>> teacher
    SaggRiacTeacher(5 regions, most interest from [0.0964] to [0.2685], 250 episodes)
    """

    split_at: int = 200
    """Number of contexts in a region above which it is split in two (n_HIST in that table)."""
    window: int = 100
    """Number of a region's last contexts that determine its interest (n_GOALS in that table)."""

    def __post_init__(self) -> None:
        check_at_least("split_at", self.split_at, 2)
        check_at_least("window", self.window, 2)

    def start(self, context_space: Box, target: Target) -> "SaggRiacTeacher":
        """A new teacher for contexts in `context_space`; it does not look at `target`."""
        space = ordered_space(context_space, "SaggRiac")
        return feasible_only(SaggRiacTeacher(self, space), space)


class SaggRiacTeacher(StartedTeacher):
    """SAGG-RIAC between two batches: regions, and every episode with the region it lies in."""

    def __init__(self, config: SaggRiac, box: Box) -> None:
        self._config, self._box = config, box
        self._lows, self._highs = box.low[None].copy(), box.high[None].copy()  # (regions, d)
        self._limits = np.array([config.split_at])  # a region with more episodes is split
        self._contexts = np.zeros((0, box.dimension))  # of every episode, oldest first
        self._competences = np.zeros(0)  # of every episode
        self._regions = np.zeros(0, dtype=np.int64)  # of every episode
        self._requests = RequestBatcher(self._batch, AT_ONCE, box.dimension)

    def __repr__(self) -> str:
        interests = self.interests
        where = "contexts over the whole space"
        if np.ptp(interests) > 0:
            region = interests.argmax()
            low, high = self._lows[region].round(4).tolist(), self._highs[region].round(4).tolist()
            where = f"most interest from {low} to {high}"
        regions = "1 region" if len(interests) == 1 else f"{len(interests)} regions"
        return f"SaggRiacTeacher({regions}, {where}, {len(self._contexts)} episodes)"

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d), most of them from regions in proportion to their interest."""
        return self._box.snapped(self._requests.ask(n, rng))

    def _batch(self, n: int, rng: np.random.Generator) -> Array:
        """(n, d): contexts by interest, uniform ones, and some near the least competent ones."""
        while (full := self._full_regions()).size:
            self._split(int(full[0]), rng)
        uniform, near = int(UNIFORM * n), int(NEAR_WORST * n)
        chances = self._chances()
        if chances is None:  # no region is more interesting than another
            return self._box.uniform(n, rng)
        chosen = rng.choice(len(chances), size=n - uniform, p=chances)
        inside, worst = chosen[near:], self._least_competent(chosen[:near])
        spread = self._highs[inside] - self._lows[inside]
        first = self._lows[inside] + rng.random(spread.shape) * spread
        second = self._box.uniform(uniform, rng)
        third = worst + NEAR * self._box.width * rng.standard_normal(worst.shape)
        return np.concatenate([first, second, np.clip(third, self._box.low, self._box.high)])

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes and sort them into regions, which `ask` may split."""
        if len(contexts) == 0:
            return
        competences = episode_values("reward", rewards, successes, "SAGG-RIAC")
        # A region contains its lower bounds, but its upper ones only where the context space ends.
        below = contexts[:, None] < self._highs  # (n, regions, d)
        below |= (contexts[:, None] == self._highs) & (self._highs == self._box.high)
        inside = ((contexts[:, None] >= self._lows) & below).all(axis=2)
        self._contexts = np.concatenate([self._contexts, contexts])
        self._competences = np.concatenate([self._competences, competences])
        self._regions = np.concatenate([self._regions, inside.argmax(axis=1)])

    @property
    def interests(self) -> Array:
        """(regions,): the interest of each region, see `interest`."""
        return np.array(
            [
                interest(self._competences[self._regions == region], self._config.window)
                for region in range(len(self._lows))
            ]
        )

    def _chances(self) -> Array | None:
        """(regions,): the probability of each region; None if all are equally interesting."""
        excess = self.interests
        excess = excess - excess.min()
        total = excess.sum()
        return excess / total if total > 0 and np.isfinite(total) else None

    def _least_competent(self, regions: IntArray) -> Array:
        """(n, d): the least competent context of each of `regions` (n,); centres of empty ones."""
        places = (self._lows[regions] + self._highs[regions]) / 2
        for i, region in enumerate(regions):
            members = np.flatnonzero(self._regions == region)
            if members.size:
                places[i] = self._contexts[members[self._competences[members].argmin()]]
        return places

    def _full_regions(self) -> IntArray:
        """Indices of the regions that hold too many episodes."""
        counts = np.bincount(self._regions, minlength=len(self._lows))
        return np.flatnonzero(counts > self._limits)

    def _split(self, region: int, rng: np.random.Generator) -> None:
        """Cut `region` in two where the parts differ most in interest and both hold episodes."""
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
                interest(competences[left[:, k]], self._config.window)
                - interest(competences[~left[:, k]], self._config.window)
            )
            for k in range(CANDIDATES)
        ]
        best = max(range(CANDIDATES), key=lambda k: (balance[k] * contrast[k], balance[k]))
        if balance[best] == 0:  # all contexts are in one place: try again with twice as many
            self._limits[region] = 2 * len(members)
            return
        new = len(self._lows)
        self._lows = np.concatenate([self._lows, low[None]])
        self._highs = np.concatenate([self._highs, high[None]])
        self._highs[region, axes[best]] = self._lows[new, axes[best]] = cuts[best]
        self._limits = np.append(self._limits, self._config.split_at)
        self._limits[region] = self._config.split_at
        self._regions[members[~left[:, best]]] = new

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {
            "lows": self._lows,
            "highs": self._highs,
            "limits": self._limits,
            "contexts": self._contexts,
            "competences": self._competences,
            "regions": self._regions,
            "left": self._requests.left,
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        names = ("lows", "highs", "limits", "contexts", "competences", "regions", "left")
        self._check_state(state, names, rows=("lows", "contexts"))
        self._lows, self._highs = np.array(state["lows"]), np.array(state["highs"])
        self._limits = np.array(state["limits"])
        self._contexts = np.array(state["contexts"])
        self._competences = np.array(state["competences"])
        self._regions = np.array(state["regions"])
        self._requests.left = np.array(state["left"])


def interest(competences: Array, window: int) -> float:
    """Change of competence over the last `window` of `competences` (n,), oldest first.

    |sum of the newer half - sum of the older half| / number of competences in both halves.
    """
    recent = competences[-window:]
    half = len(recent) // 2
    if half == 0:
        return 0.0
    older, newer = recent[len(recent) - 2 * half : len(recent) - half], recent[-half:]
    return abs(float(newer.sum() - older.sum())) / (2 * half)
