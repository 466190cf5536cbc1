"""The mastery rule for any target that can be sampled: particles go to it by optimal transport.

The decisions are those of `maths/mastery_rule.py`. Particles x_i (`maths/particles.py`) stand for
the current contexts q, and N contexts y_i of the target for where they shall go. They are matched
so that sum_i |x_i - y_i|^2 is least, and a step moves all along their straight lines,

    x_i  <-  (1 - t) x_i + t y_i,    with the largest t in [0, 1] such that KL(q_t || q) <= step.

This displacement interpolation keeps modes apart. Moving the particles by d_i changes q by at most
KL(q_t || q) <= mean_i |d_i|^2 / (2 h^2), so with the deviation h = `least_deviation` a step is
never shorter than sqrt(2 step) h, and longer while the particles are spread out.

Once the particles are there, h narrows under the same bound, until contexts are drawn from the
target itself. A step back goes along the straight lines to where the particles were when they were
mastered last; with `retreats` it goes to where they were mastered before that.

One success rate for all particles would halt them all where a part of the target is out of reach,
such as goals inside a wall. So while the contexts would stay, each particle follows its own success
rate, that of the contexts tried around it (`move_each`). Where that is mastered, the particle goes
on, or narrows if it is at its aim; where it is lost, the particle goes to the nearest context that
succeeded. One bound on the KL holds for all of these moves together.
"""

from dataclasses import replace

import numpy as np

from selfpaced.maths.arrays import Array, BoolArray
from selfpaced.maths.bisection import largest_that_holds
from selfpaced.maths.box import Box
from selfpaced.maths.mastery_rule import MasteryRule, Move, Start, decided
from selfpaced.maths.nearest import nearest_rows
from selfpaced.maths.particles import Draw, Particles
from selfpaced.maths.trail import Trail
from selfpaced.maths.transport import matching, wasserstein

PARTICLES = 128
HALVINGS = 10  # halvings of [0, 1] by which bisection finds the length t of a step
NARROWED = 0.1  # share of `least_deviation` below which contexts are drawn from the target itself


class ParticleMover:
    """Moves particles to the target, as the mastery rule says."""

    def __init__(
        self, rule: MasteryRule, space: Box, aims: Array, start: Array, draw: Draw
    ) -> None:
        """`aims` (N, d) and `start` (N, d) are contexts; `draw` draws contexts of the target."""
        self._rule, self._draw = rule, draw
        self._aims = space.embed(aims)
        self._matched = False  # True once aims are in the order of the particles
        self.contexts = Particles(space, space.embed(start), rule.least_deviation)
        self._start = self.contexts
        self._mastered: Particles | None = None  # the last contexts that were mastered
        self._trail = Trail()  # all contexts that were mastered, if the rule retreats
        self._arrived = False  # True once the particles are where the target is
        self._narrower = _narrowing(rule.step, space.dimension)

    def __repr__(self) -> str:
        return f"ParticleMover({self.contexts!r}, arrived {self._arrived})"

    @property
    def distance(self) -> float:
        """W2 from the particles to the target, in the unit cube."""
        if self._matched:
            apart = self.contexts.places - self._aims
            return float(np.sqrt((apart**2).sum(axis=1).mean()))
        return wasserstein(self.contexts.places, self._aims)

    def far(self, until_kl: float) -> bool:
        """True while the KL from the contexts to the target, both of one deviation, is as large."""
        if self.contexts.draw is not None:
            return False
        aims = replace(self.contexts, places=self._aims)
        return self.contexts.kl(aims) >= until_kl

    def decide(self, mastered: float) -> Move:
        """The move that a share `mastered` of successes on the current contexts asks for."""
        return decided(self._rule, mastered, anything_mastered=self._mastered is not None)

    def move(self, move: Move) -> None:
        """Carry out "on", "stay" or "back"."""
        if move == "on":
            self._mastered = self.contexts
            if self._rule.retreats:
                final = np.array(float(self.contexts.draw is not None))
                self._trail.add(self.contexts.places, _each(self.contexts), final)
            self._on()
        elif move == "back" and self._rule.retreats:
            self._retreat()
        elif move == "back" and self._mastered is not None:
            wide = replace(self.contexts, deviation=self._mastered.deviation, draw=None)
            self.contexts = self._step(wide, self._mastered.places)
            self._arrived = np.array_equal(self.contexts.places, self._aims)

    def move_each(self, move: Move, tried: Array, successes: Array) -> None:
        """Carry out `move`; where that is to "stay", each particle follows its own success rate.

        `tried` (n, d): contexts with their `successes` (n,), 0 or 1, on which `move` was decided.
        """
        before = self._mastered
        if before is None or self.contexts.draw is not None or move != "stay":
            self.move(move)
            return
        points, around = self.contexts.space.embed(tried), self.success_around(tried, successes)
        mastered, lost = around >= self._rule.mastered_from, around < self._rule.lost_below
        self._mastered = _chosen(mastered, self.contexts, before)
        self._move_parts(mastered, lost, points[successes >= 0.5])

    def success_around(self, tried: Array, successes: Array) -> Array:
        """(N,): success rate around each particle, from contexts `tried` (n, d).

        They count by their density in the Gaussian around the particle, with `least_deviation`.
        Far from all of them, the nearest one decides.
        """
        points, places = self.contexts.space.embed(tried), self.contexts.places
        kernel = places @ points.T - 0.5 * (points**2).sum(axis=1)  # but for |x_i|^2
        kernel -= kernel.max(axis=1, keepdims=True)
        kernel = np.exp(kernel / self._rule.least_deviation**2)
        return kernel @ successes / kernel.sum(axis=1)

    def _move_parts(self, on: BoolArray, lost: BoolArray, solved: Array) -> None:
        """Move the particles `on` (N,) to their aims, and those `lost` (N,) to `solved` (k, e).

        None moves farther than a distance that is the same for all, the largest that the KL bound
        allows. So particles that are near their aims arrive, even if others have far to go.
        """
        old, least = self.contexts, self._rule.least_deviation
        aims, deviations = old.places.copy(), _each(old)
        narrows = on & (old.places == self._aims).all(axis=1)  # they are at their aims
        deviations[narrows] *= self._narrower
        aims[on] = self._aims[on]
        if len(solved):
            aims[lost] = solved[nearest_rows(old.places[lost], solved)]
            deviations[lost] *= 2.0 - self._narrower  # which changes the density less
        deviations = np.clip(deviations, NARROWED * least, least)
        apart = aims - old.places
        length = np.linalg.norm(apart, axis=1, keepdims=True)

        def moved(share: float) -> Particles:
            shares = np.minimum(1.0, share * length.max() / np.maximum(length, 1e-300))
            places = np.where(shares == 1.0, aims, old.places + shares * apart)
            return replace(old, places=places, deviation=deviations)

        def holds(share: float) -> bool:
            return moved(share).kl(old) <= self._rule.step

        self.contexts = moved(1.0 if holds(1.0) else largest_that_holds(holds, HALVINGS))
        self._arrived = np.array_equal(self.contexts.places, self._aims)

    def _retreat(self) -> None:
        """Go to contexts that were mastered before; from the first of them, begin anew."""
        entry = self._trail.back()
        if entry is None:
            # The search may have changed which particle is near which aim.
            self.contexts, self._mastered, self._matched = self._start, None, False
        else:
            places, deviation, final = entry
            self.contexts = self._mastered = self._particles(places, deviation, bool(final))
        self._arrived = np.array_equal(self.contexts.places, self._aims)

    def begin_anew(self, where: Start) -> None:
        """Search again, from contexts with the least deviation."""
        here = self.contexts.places
        starts = {"initial": self._start.places, "target": self._aims, "here": here}
        places, least = starts[where], self._rule.least_deviation
        self.contexts = replace(self.contexts, places=places, deviation=least, draw=None)
        self._mastered, self._matched, self._arrived = None, False, False
        self._trail = Trail()

    def _on(self) -> None:
        if self._arrived:
            narrowest = NARROWED * self._rule.least_deviation
            narrower = self.contexts.deviation * self._narrower
            if np.max(narrower) >= narrowest:
                if isinstance(narrower, np.ndarray):
                    narrower = np.maximum(narrower, narrowest)
                self.contexts = replace(self.contexts, deviation=narrower)
            else:
                self.contexts = replace(self.contexts, draw=self._draw)
            return
        if not self._matched:
            self._aims = self._aims[matching(self.contexts.places, self._aims)]
            self._matched = True
        self.contexts = self._step(self.contexts, self._aims)
        self._arrived = np.array_equal(self.contexts.places, self._aims)

    def _step(self, old: Particles, aims: Array) -> Particles:
        """`old`, moved along straight lines to `aims` (N, e) as far as the KL bound allows."""
        if replace(old, places=aims).kl(old) <= self._rule.step:
            return replace(old, places=aims)
        apart = aims - old.places

        def moved(t: float) -> Particles:
            return replace(old, places=old.places + t * apart)

        return moved(largest_that_holds(lambda t: moved(t).kl(old) <= self._rule.step, HALVINGS))

    def follow_search(self, tried: Array, weights: Array) -> None:
        """Step towards contexts that a search prefers: `tried` (n, d), by their `weights` (n,)."""
        shares = (np.arange(len(self._aims)) + 0.5) / len(self._aims)
        chosen = np.searchsorted(np.cumsum(weights) / weights.sum(), shares)
        found = self.contexts.space.embed(tried[np.minimum(chosen, len(tried) - 1)])
        found = found[matching(self.contexts.places, found)]
        self.contexts = self._step(self.contexts, found)

    def state(self) -> dict[str, Array]:
        """The state as plain arrays."""
        state = {
            "places": self.contexts.places,
            "deviation": np.array(self.contexts.deviation),
            "aims": self._aims,
            "stage": np.array(
                [self._matched, self._arrived, self.contexts.draw is not None], dtype=float
            ),
        }
        if self._mastered is not None:
            state["mastered_places"] = self._mastered.places
            state["mastered_deviation"] = np.array(self._mastered.deviation)
            state["mastered_final"] = np.array(float(self._mastered.draw is not None))
        return state | self._trail.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from a `state`."""
        self._aims = np.array(state["aims"])
        self._matched, self._arrived, final = (bool(flag) for flag in state["stage"])
        self.contexts = self._particles(state["places"], state["deviation"], final)
        self._mastered = None
        if "mastered_places" in state:
            final = bool(state["mastered_final"])
            self._mastered = self._particles(
                state["mastered_places"], state["mastered_deviation"], final
            )
        if "trail.1" in state:  # earlier versions have one deviation per entry
            column = np.array(state["trail.1"], dtype=float).reshape(len(state["trail.1"]), -1)
            state = {**state, "trail.1": column + np.zeros(len(self._aims))}
        self._trail.restore(state)

    def _particles(self, places: Array, deviation: Array, final: bool) -> Particles:
        draw = self._draw if final else None
        return Particles(self.contexts.space, np.array(places), np.array(deviation), draw)


def _each(particles: Particles) -> Array:
    """(N,): the deviation around each particle."""
    return particles.deviation + np.zeros(len(particles.places))


def _chosen(first: BoolArray, one: Particles, other: Particles) -> Particles:
    """The particles of `one` where `first` (N,) is True, and those of `other` elsewhere."""
    places = np.where(first[:, None], one.places, other.places)
    return replace(one, places=places, deviation=np.where(first, _each(one), _each(other)))


def _narrowing(step: float, d: int) -> float:
    """The factor f by which deviations of d dimensions may shrink: KL(f h || h) = step."""

    def holds(t: float) -> bool:
        square = (1.0 - t) ** 2
        return 0.5 * d * (square - 1.0 - np.log(max(square, 1e-300))) <= step

    return 1.0 - largest_that_holds(holds, 30)
