"""Teachers that draw contexts from a density, which they update after a number of episodes."""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.context_step import TriedContexts
from selfpaced.teachers.episodes import JudgedBy, episode_values
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State

UNDER_WAY = 10_000  # contexts remembered from `ask` to `tell`; the oldest are forgotten first


class Density(Protocol):
    """A distribution of contexts that can be sampled and has a density."""

    def sample(self, n: int, rng: np.random.Generator, box: Box | None = None) -> Array:
        """(n, d): contexts in `box`."""
        ...

    def log_prob(self, contexts: Array, /) -> Array:
        """(n,): log-densities of `contexts` (n, d)."""
        ...


class DensityTeacher(StartedTeacher, ABC):
    """Draws contexts from a density and updates it after every `update_every` episodes.

    Environments also run contexts that were drawn before the last update. Each episode therefore
    counts by the ratio of the context's density now and when it was drawn, and an update waits
    until the ratios are worth `update_every` episodes. Contexts that this teacher did not issue
    count as drawn from its current distribution.
    """

    _own_state: ClassVar[tuple[str, ...]] = ()  # entries of a state besides those below
    _distribution_names: tuple[str, ...] = ()  # entries that every `_distribution_state` has
    _distribution_rows: tuple[
        str, ...
    ] = ()  # those of the distribution with a column per dimension

    def __init__(self, box: Box, contexts: Density, update_every: int, judged_by: JudgedBy) -> None:
        self._box = box
        self._update_every = update_every
        self._judged_by: JudgedBy = judged_by
        self.contexts = contexts
        self._forget()
        self._issued: dict[bytes, float] = {}  # log q of each context when it was drawn
        self._failed_steps = 0

    @property
    def failed_steps(self) -> int:
        """Updates whose solver found nothing better, so that the distribution was kept."""
        return self._failed_steps

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d) from the current distribution."""
        contexts = self.contexts.sample(n, rng, self._box)
        densities = self.contexts.log_prob(contexts)
        self._issued.update(zip(_keys(contexts), densities.tolist(), strict=True))
        while len(self._issued) > UNDER_WAY:
            del self._issued[next(iter(self._issued))]
        return contexts

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes, and update once there are enough of them."""
        who = type(self).__name__
        values = episode_values(self._judged_by, rewards, successes, who, self._option)
        now = self.contexts.log_prob(contexts)
        known = zip(_keys(contexts), now.tolist(), strict=True)
        drawn = [self._issued.pop(key, density) for key, density in known]
        new = np.empty((len(values), self._box.dimension + 2))
        new[:, :-2], new[:, -2] = contexts, values
        new[:, -1] = np.exp(np.minimum(now - drawn, 3.0))
        self._episodes = np.concatenate([self._episodes, new])
        ratios = self._episodes[:, -1]
        total = ratios.sum()
        count = min(total, total**2 / max(ratios @ ratios, 1e-300))
        if count >= self._update_every - 1e-6:
            self._update(self._tried())
            self._forget()

    @abstractmethod
    def _update(self, tried: TriedContexts) -> None:
        """Replace `self.contexts`, given the episodes since the last update."""

    @abstractmethod
    def _distribution_state(self) -> State:
        """The distribution of contexts, and how it came about, as arrays."""

    @abstractmethod
    def _restore_distribution(self, state: State) -> None:
        """Take the distribution of contexts from a checked `state`."""

    def _forget(self) -> None:
        # Episodes since the last update: contexts, values, and density ratios.
        self._episodes = np.zeros((0, self._box.dimension + 2))

    def _tried(self) -> TriedContexts:
        contexts, values, ratios = np.split(self._episodes, [self._box.dimension, -1], axis=1)
        return TriedContexts(contexts, values[:, 0], ratios[:, 0] / ratios.sum())

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {
            **self._distribution_state(),
            "failed_steps": np.array(self._failed_steps),
            "episodes": self._episodes,
            "issued": np.frombuffer(b"".join(self._issued)).reshape(-1, self._box.dimension),
            "issued_densities": np.array(list(self._issued.values())),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        names = ("failed_steps", "episodes", "issued", "issued_densities")
        needed = (*self._distribution_names, *names, *self._own_state)
        self._check_state(state, needed, rows=(*self._distribution_rows, "issued"))
        self._restore_distribution(state)
        self._failed_steps = int(state["failed_steps"])
        self._episodes = np.array(state["episodes"])
        densities = state["issued_densities"].tolist()
        self._issued = dict(zip(_keys(state["issued"]), densities, strict=True))


def _keys(contexts: Array) -> list[bytes]:
    """The bytes of each of the `contexts` (n, d), by which they are found again."""
    found = np.asarray(contexts, dtype=float).tobytes()
    size = 8 * contexts.shape[1]  # of a row
    return [found[first : first + size] for first in range(0, len(found), size)]
