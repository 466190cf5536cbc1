"""Where the contexts of a teacher are, for the record of an iteration."""

from typing import Any

from selfpaced.deep.curriculum import Curriculum
from selfpaced.learners.episodic import described
from selfpaced.maths.arrays import Array
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.particles import Particles
from selfpaced.targets.target import Target


def context_record(curriculum: Curriculum, target: Target, drawn: Array) -> dict[str, Any]:
    """Mean and covariance of the teacher's contexts; if Gaussian, also the KL to the target.

    They are those of the contexts `drawn` (n, d) if the teacher has no distribution of its own.
    """
    teacher = curriculum.teacher
    contexts: Gaussian | Particles | None = getattr(teacher, "context_distribution", None)
    found = described(contexts, drawn, curriculum.refusals)
    if not isinstance(contexts, Gaussian) or not isinstance(target, Gaussian):
        return found
    return {**found, "kl_to_target": contexts.kl(target)}
