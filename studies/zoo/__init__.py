"""Twenty-one small tasks of different structure, on which the mastery rule is chosen and shown.

Seven are for development, seven for proof: the rule was changed until it did well on the former and
was then run once on the latter. Seven more are fresh: their author had neither read nor run the
rule. See `zoo_task.py` for what a task has.
"""

from studies.zoo.development import DEVELOPMENT
from studies.zoo.fresh import FRESH
from studies.zoo.proof import PROOF
from studies.zoo.zoo_task import ZooTask

ZOO: dict[str, ZooTask] = {task.name: task for task in (*DEVELOPMENT, *PROOF, *FRESH)}
"""All tasks by name."""
