"""Distributions of the contexts that count: something that can be sampled, often with a density.

`Gaussian` is in `selfpaced.maths`. An object of your own with `sample(n, rng)` will do.
"""

from selfpaced.targets.categorical import Categorical
from selfpaced.targets.empirical import Empirical
from selfpaced.targets.mixture import Independent, Mixture
from selfpaced.targets.student_t import StudentT
from selfpaced.targets.target import Target, checked_target
from selfpaced.targets.uniform import Uniform

__all__ = [
    "Categorical",
    "Empirical",
    "Independent",
    "Mixture",
    "StudentT",
    "Target",
    "Uniform",
    "checked_target",
]
