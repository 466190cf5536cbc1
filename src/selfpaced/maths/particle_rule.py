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
"""

from dataclasses import replace

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.bisection import largest_that_holds
from selfpaced.maths.box import Box
from selfpaced.maths.mastery_rule import MasteryRule, Move, decided
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
                self._trail.add(self.contexts.places, np.array(self.contexts.deviation), final)
            self._on()
        elif move == "back" and self._rule.retreats:
            self._retreat()
        elif move == "back" and self._mastered is not None:
            wide = replace(self.contexts, deviation=self._mastered.deviation, draw=None)
            self.contexts = self._step(wide, self._mastered.places)
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

    def begin_anew(self, *, here: bool) -> None:
        """Search again: from the current contexts if `here`, else from the initial ones."""
        wide = replace(self.contexts, deviation=self._rule.least_deviation, draw=None)
        self.contexts = wide if here else self._start
        self._mastered, self._matched, self._arrived = None, False, False
        self._trail = Trail()

    def _on(self) -> None:
        if self._arrived:
            narrower = self.contexts.deviation * self._narrower
            if narrower >= NARROWED * self._rule.least_deviation:
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
        self._trail.restore(state)

    def _particles(self, places: Array, deviation: Array, final: bool) -> Particles:
        draw = self._draw if final else None
        return Particles(self.contexts.space, np.array(places), float(deviation), draw)


def _narrowing(step: float, d: int) -> float:
    """The factor f by which deviations of d dimensions may shrink: KL(f h || h) = step."""

    def holds(t: float) -> bool:
        square = (1.0 - t) ** 2
        return 0.5 * d * (square - 1.0 - np.log(max(square, 1e-300))) <= step

    return 1.0 - largest_that_holds(holds, 30)
