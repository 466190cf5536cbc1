"""Which mover the mastery rule gets: a Gaussian's where both ends are Gaussian, else particles."""

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.maths.box import Box
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.mastery_rule import ContextMover, MasteryRule
from selfpaced.maths.particle_rule import PARTICLES, ParticleMover
from selfpaced.targets.target import Target, points_of, samples_in

AnyMover = ContextMover | ParticleMover


def mover_of(
    rule: MasteryRule, space: Box, target: Target, initial: Target, *, width_factor: float = 1.0
) -> AnyMover:
    """What moves contexts in `space` from the distribution `initial` to the `target`.

    A Gaussian becomes narrower by `width_factor` while it stays. Particles keep their width.
    """
    if space.ordered and isinstance(target, Gaussian) and isinstance(initial, Gaussian):
        return ContextMover(rule, space, target, initial, width_factor=width_factor)

    def draw(n: int, rng: np.random.Generator) -> Array:
        return samples_in(target, n, rng, space)

    aims, start = points_of(target, PARTICLES, space), points_of(initial, PARTICLES, space)
    return ParticleMover(rule, space, aims, start, draw)
