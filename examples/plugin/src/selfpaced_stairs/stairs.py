"""A teacher that walks from the centre of the context space to the target in equal steps."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Stairs:
    """Takes the next step towards the target when most episodes on the present one succeed."""

    steps: int = 10
    """Number of steps from the centre of the context space to the target's mean."""
    success_rate: float = 0.7
    """Share of successes, among `episodes` episodes, that allows the next step."""
    episodes: int = 50
    """Episodes that are judged together."""

    def start(self, context_space, target):
        """A new teacher for contexts in `context_space` that shall be mastered on `target`."""
        return StairsTeacher(self, context_space, target)


class StairsTeacher:
    """Draws contexts near the present step, and from the target once it is there."""

    def __init__(self, config, space, target):
        self._config, self._space, self._target = config, space, target
        self._step = self._told = self._succeeded = 0

    def ask(self, n, rng):
        """n contexts (n, d) in the context space."""
        share = self._step / self._config.steps
        rows = self._target.sample(n, rng)
        spread = 0.1 * (1 - share) * self._space.width * rng.standard_normal(rows.shape)
        moved = (1 - share) * self._space.centre + share * rows + spread
        return np.clip(moved, self._space.low, self._space.high)

    def tell(self, contexts, rewards, successes):
        """Count successes; after enough episodes take a step, or stay and count again."""
        self._told += len(successes)
        self._succeeded += int(np.sum(successes == 1))
        if self._told < self._config.episodes:
            return
        if self._succeeded >= self._config.success_rate * self._told:
            self._step = min(self._step + 1, self._config.steps)
        self._told = self._succeeded = 0

    def state(self):
        """Everything that later contexts depend on, as arrays."""
        return {"counts": np.array([self._step, self._told, self._succeeded])}

    def restore(self, state):
        """Go on exactly from `state`."""
        self._step, self._told, self._succeeded = (int(n) for n in state["counts"])


STAIRS = Stairs()
