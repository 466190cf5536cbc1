"""What is said of a run's health, and values that several judgements share."""

from typing import NamedTuple

import numpy as np

from selfpaced.maths.arrays import Array
from selfpaced.types import Record

ARRIVED = 1.0  # KL to the target, in nats, below which contexts count as at the target
HIGH_SUCCESS = 0.5  # success rate on the current contexts that counts as high
STILL = 0.1  # largest relative fall of the KL, over the last third, that counts as no progress
RISING = 0.05  # rise of a success rate, from one third of a run to the next, that is progress


class Finding(NamedTuple):
    """One thing that is wrong with a run, of one of the following kinds.

    - stalled: the contexts stay far from the target although most rollouts on them succeed.
    - collapsed: the policy, or the contexts' distribution, is too narrow to find anything better.
    - starved: the updates rest on too few effective samples.
    - unreachable: every move towards the target costs success or, with the mastery rule, the
      contexts that were reached are not mastered.
    - stuck: with the mastery rule, the contexts only creep towards the target, because the current
      ones are hardly ever mastered.

    If it is none of these, what the success rates say, whatever the algorithm:

    - forgotten: a large part of what had been learned is lost.
    - unfinished: success on the target still rises.
    - too hard: hardly any rollout on the chosen contexts succeeds.
    - elsewhere: the chosen contexts are solved, but the target is not.
    - plateau: success on the target no longer rises.
    - unsolved: the target is not solved, and there are too few records to say why.
    - by rewards: nobody knows whether the target is solved, because the task reports no successes
      and the mastery rule has no reward threshold.

    And of a run that is solved, or of all runs of an experiment:

    - unneeded: contexts away from the target were no easier than the target itself (`as_easy`), or
      training on the target alone is as good as a curriculum, or better (`report/need.py`).
    """

    kind: str
    """Its name in the list above, such as "stuck"."""
    shown_by: str
    """The values that show it, in words; no full stop at the end."""
    to_try: str
    """What may help, in words; no full stop at the end."""


def column(records: list[Record], name: str) -> Array:
    """(n,): the metric `name` of every record; nan where it is missing."""
    return np.array([record.get(name, np.nan) for record in records], dtype=float)
