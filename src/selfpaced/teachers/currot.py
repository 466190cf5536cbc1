"""Particles that move to the target by optimal transport (CURROT; Klink et al., 2022, simplified).

Each particle is a context. It is matched to a sample of the target and moves towards it as far as
the estimated value of episodes allows. Any target that can be sampled will do, in any space. All
distances are in the context space scaled to the unit cube, in which two categories are 1 apart.
"""

from dataclasses import dataclass

import numpy as np

from selfpaced.maths.arrays import Array, check_at_least, check_kind, check_positive
from selfpaced.maths.box import Box
from selfpaced.maths.transport import quick_matching
from selfpaced.targets.target import Target, checked_place, samples_in
from selfpaced.teachers.episodes import (
    JudgedBy,
    RecentEpisodes,
    check_judged_by,
    episode_values,
    resolved_threshold,
)
from selfpaced.teachers.feasible_teacher import feasible_only
from selfpaced.teachers.found_threshold import FoundThreshold
from selfpaced.teachers.retreat import Retreat
from selfpaced.teachers.started_teacher import StartedTeacher
from selfpaced.types import State, part_of, prefixed

LARGEST_SQUARE = 400.0  # |x|^2 and |y|^2 up to which exp(x y - |y|^2 / 2) is far above 1e-308
AT_ONCE = 3  # places beside a particle whose values are estimated together, the nearest first


@dataclass(frozen=True, kw_only=True)
class CurrOT:
    """Moves particles to the target through contexts whose estimated value is high enough.

    Contexts are drawn from the whole space until some reach `threshold`.

    >>> import numpy as np
    >>> from selfpaced import Box, CurrOT, Gaussian
    >>> rng = np.random.default_rng(0)
    >>> teacher = CurrOT().start(Box([0], [1]), Gaussian([0.9], [[1e-4]]))
    >>> for _ in range(5):
    ...     contexts = teacher.ask(50, rng)
    ...     teacher.tell(contexts, rewards=np.zeros(50), successes=(contexts[:, 0] < 0.5) * 1.0)
    >>> teacher
    CurrOTTeacher(100 particles around [0.4423], 250 episodes remembered)
    """

    judged_by: JudgedBy = "success"
    """What an episode's value is: "success" (0 or 1) or "reward" (its return)."""
    threshold: float | None = None
    """delta: estimated value from which a context counts as mastered.

    None: 0.5 if successes are judged. If returns are, half-way from those of the first policy to
    the best so far, whatever their scale (`FoundThreshold`); records show it as "threshold".
    """
    radius: float = 0.08
    """How far a particle may move in one update: by epsilon = radius * sqrt(d) in the unit cube."""
    particles: int = 100
    """Number of particles. More fit the shape of the target better, but updates take longer."""
    update_every: int = 50
    """Episodes between two updates of the particles."""
    remembered: int = 400
    """Number of last episodes from which values are estimated."""
    bandwidth: float = 0.06
    """Width of the kernel that estimates values: its standard deviation is bandwidth * sqrt(d)."""
    candidates: int = 8
    """Number of random contexts within `radius` to which a particle may move instead."""
    retreats: bool = False
    """Particles whose success is lost go back through those of before, to the first if need be.

    Off, as its authors have it: then a learner that forgets at the target stays there. See
    `teachers/retreat.py` for what counts as lost.
    """

    def __post_init__(self) -> None:
        for name in ("particles", "update_every", "remembered", "candidates"):
            check_at_least(name, getattr(self, name), 1)
        check_positive("radius", self.radius)
        check_positive("bandwidth", self.bandwidth)
        check_kind("retreats", self.retreats, bool)
        check_judged_by(self.judged_by)
        resolved = resolved_threshold(self.judged_by, self.threshold)
        object.__setattr__(self, "threshold", resolved)

    def start(self, context_space: Box, target: Target) -> "CurrOTTeacher":
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        space, aim = checked_place(context_space, target)
        return feasible_only(CurrOTTeacher(self, space, aim), space)


class CurrOTTeacher(StartedTeacher):
    """CURROT between two batches: the particles, in the unit cube, and the last episodes.

    There are no particles until some contexts are mastered.
    """

    _option = "CurrOT(judged_by='reward')"

    def __init__(self, config: CurrOT, box: Box, target: Target) -> None:
        self._config, self._box, self._target = config, box, target
        self._particles = np.zeros((0, box.embedded))
        self._episodes = RecentEpisodes(config.remembered, box.embedded)
        self._since_update = 0  # episodes since the last update
        self._found = FoundThreshold() if config.threshold is None else None
        self._retreat = Retreat(config.judged_by) if config.retreats else None
        self._root = float(np.sqrt(box.dimension))

    def __repr__(self) -> str:
        where = "contexts over the whole space"
        if len(self._particles):
            mean = self._box.unembed(self._particles).mean(axis=0)
            where = f"{len(self._particles)} particles around {mean.round(4).tolist()}"
        return f"CurrOTTeacher({where}, {len(self._episodes)} episodes remembered)"

    def ask(self, n: int, rng: np.random.Generator) -> Array:
        """n contexts (n, d): particles, or uniform ones before any context is mastered."""
        if self._since_update >= self._config.update_every:
            recent = self._episodes.values[-self._since_update :]
            if self._found is not None:
                self._found.add(recent)
            self._since_update = 0
            if not self._retreated(recent):
                self._update(rng)
        if len(self._particles) == 0:
            return self._box.uniform(n, rng)
        chosen = rng.integers(len(self._particles), size=n)
        return self._box.unembed(self._particles[chosen])

    def tell(self, contexts: Array, rewards: Array, successes: Array) -> None:
        """Take note of finished episodes; the particles move with the next `ask`."""
        judged_by = self._config.judged_by
        values = episode_values(judged_by, rewards, successes, "CurrOT", self._option)
        self._episodes.add(self._box.embed(contexts), values)
        self._since_update += len(values)

    @property
    def found_threshold(self) -> float | None:
        """The threshold that was found from the returns; None if one was given."""
        return None if self._found is None else self._found.value

    @property
    def _columns(self) -> int:
        return self._box.embedded

    def estimate(self, places: Array) -> Array:
        """(n,): estimated values of `places` (n, d) in the unit cube (Nadaraya-Watson)."""
        values, deviation = self._episodes.values, self._config.bandwidth * self._root
        # From the centre of the cube, in standard deviations of the kernel.
        x, y = (places - 0.5) / deviation, (self._episodes.contexts - 0.5) / deviation
        squares = (y * y).sum(axis=1)
        exponents = x @ y.T
        # The kernel exp(-|x - y|^2 / 2) is exp(x y) times a factor of y, and one of x, which drops
        # out. Where these may be too large or too small for floats, exponents are taken relative to
        # the largest one. So far from all episodes the nearest one decides, and not 0 / 0.
        if max(squares.max(), (x * x).sum(axis=1).max()) < LARGEST_SQUARE:
            weights = np.exp(-0.5 * squares)
        else:
            exponents -= 0.5 * squares
            exponents -= exponents.max(axis=1, keepdims=True)
            weights = np.ones_like(squares)
        kernel = np.exp(exponents, out=exponents)
        return kernel @ (weights * values) / (kernel @ weights)

    @property
    def _threshold(self) -> float:
        """delta, as it is given or found."""
        threshold = self._config.threshold if self._found is None else self._found.value
        assert threshold is not None
        return threshold

    def _retreated(self, recent: Array) -> bool:
        """Go back if success is lost; True if the particles were replaced by earlier ones.

        `recent`: values (n,) of the episodes since the last update.
        """
        if self._retreat is None or len(self._particles) == 0:
            return False
        found = self._retreat.back_to(float(recent.mean()), self._threshold, self._particles)
        if found is None:
            return False
        # Without particles contexts are drawn from the whole space, as in the beginning.
        self._particles = np.zeros((0, self._box.embedded)) if found == "beginning" else found[0]
        return True

    def _update(self, rng: np.random.Generator) -> None:
        """Move every particle nearer to its sample of the target, or back to what is mastered."""
        config, threshold = self._config, self._threshold
        if len(self._particles) == 0:
            values = self.estimate(self._episodes.contexts)
            if values.max() < threshold:
                return  # nothing is mastered yet: go on with uniform contexts
            starts = self._episodes.contexts[values >= threshold]
            self._particles = starts[rng.integers(len(starts), size=config.particles)]
        aims = self._box.embed(samples_in(self._target, config.particles, rng, self._box))
        aims = aims[quick_matching(self._particles, aims)]
        moved = self._step(self._particles, aims)
        shape = (config.candidates, *self._particles.shape)
        directions, chances = rng.standard_normal(shape), rng.random((*shape[:2], 1))
        # No random place is nearer to the aim than the straight step. Where that is mastered, which
        # is the rule, the random ones are not needed.
        held = np.flatnonzero(self.estimate(moved) < threshold)
        if held.size:
            particles = self._particles[held]
            others = self._around(particles, directions[:, held], chances[:, held])
            moved[held] = self._beside(particles, others, aims[held])
        self._particles = moved

    def _step(self, places: Array, aims: Array) -> Array:
        """`places` (n, e), each nearer to its aim (n, e), by the length of a step at most."""
        offset = aims - places
        length = np.sqrt((offset * offset).sum(axis=1, keepdims=True))
        reach = self._config.radius * self._root
        return places + offset * np.minimum(1.0, reach / np.maximum(length, 1e-300))

    def _around(self, particles: Array, directions: Array, chances: Array) -> Array:
        """(k, n, e): random places within a step of the `particles` (n, e), uniform in a ball.

        `directions` (k, n, e): standard normal; `chances` (k, n, 1): uniform in [0, 1).
        """
        reach = self._config.radius * self._root
        directions = directions / np.linalg.norm(directions, axis=2, keepdims=True)
        shares = chances ** (1.0 / self._box.embedded)
        return np.clip(particles + reach * shares * directions, 0.0, 1.0)

    def _beside(self, particles: Array, others: Array, aims: Array) -> Array:
        """(n, d): the mastered place that is nearest to each aim, or a step back to mastered ones.

        It is one of `others` (k, n, d), or that of the particle (n, d) itself.
        """
        places = np.concatenate([particles[None], others])
        order = ((places - aims) ** 2).sum(axis=2).argsort(axis=0, kind="stable")
        places = np.take_along_axis(places, order[:, :, None], axis=0)  # the nearest ones first
        moved, held = particles.copy(), np.arange(len(particles))
        for first in range(0, len(places), AT_ONCE):  # estimates take most of the time
            some = places[first : first + AT_ONCE, held]
            values = self.estimate(some.reshape(-1, self._box.embedded)).reshape(some.shape[:2])
            mastered = values >= self._threshold
            found = mastered.any(axis=0)
            moved[held[found]] = some[mastered.argmax(axis=0), np.arange(len(held))][found]
            held = held[~found]
            if held.size == 0:
                return moved
        # Nothing within reach is mastered.
        solved = self._episodes.contexts[self._episodes.values >= self._threshold]
        moved[held] = self._towards(particles[held], solved)
        return moved

    def _towards(self, places: Array, mastered: Array) -> Array:
        """`places` (n, d), one step nearer to the nearest of the `mastered` episodes, if any."""
        if len(mastered) == 0:
            return places
        nearest = mastered[((places[:, None] - mastered) ** 2).sum(axis=2).argmin(axis=1)]
        return self._step(places, nearest)

    def state(self) -> State:
        """Everything that later contexts depend on, as plain arrays."""
        return {
            "particles": self._particles,
            "since_update": np.array(self._since_update),
            **prefixed("episodes.", self._episodes.state()),
            **({} if self._found is None else self._found.state()),
            **({} if self._retreat is None else self._retreat.state()),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`."""
        retreat = () if self._retreat is None else ("retreat.levels",)
        names = ("particles", "since_update", "episodes.contexts", "episodes.values", *retreat)
        self._check_state(state, names, rows=("particles", "episodes.contexts"))
        self._particles = np.array(state["particles"])
        self._since_update = int(state["since_update"])
        if self._retreat is not None:
            self._retreat.restore(state)
        self._episodes.restore(part_of(state, "episodes."))
        if self._found is not None:
            self._found.restore(state)
