"""Twenty-eight small tasks of different structure, on which the mastery rule is chosen and shown.

Seven were written for development and seven for proof, on which earlier versions of the rule were
run once; both have since served to choose the rule. Seven are fresh and seven unseen: their
authors had neither read nor run it. See `zoo_task.py` for what a task has.
"""

from studies.zoo.development import DEVELOPMENT
from studies.zoo.fresh import FRESH
from studies.zoo.proof import PROOF
from studies.zoo.unseen import UNSEEN
from studies.zoo.zoo_task import ZooTask

ZOO: dict[str, ZooTask] = {task.name: task for task in (*DEVELOPMENT, *PROOF, *FRESH, *UNSEEN)}
"""All tasks by name."""
