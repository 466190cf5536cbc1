"""Contracts as functions: call them in your own tests, on your own tasks, teachers and learners.

Each check raises an AssertionError with a sentence that says which rule is broken, and by what
values; it returns nothing if all is well. None of them needs pytest.
"""

from selfpaced.testing.algorithms import check_algorithm, check_kl_bounds
from selfpaced.testing.learners import check_learner
from selfpaced.testing.plugins import check_plugins
from selfpaced.testing.tasks import check_task
from selfpaced.testing.teachers import check_teacher

__all__ = [
    "check_algorithm",
    "check_kl_bounds",
    "check_learner",
    "check_plugins",
    "check_task",
    "check_teacher",
]
