"""Teachers: each chooses contexts, and knows nothing of who learns. One curriculum a file.

A new one is a file here and a line below; `tests/contracts/test_teachers.py` then covers it.
"""

from selfpaced.teachers.goalgan import GoalGAN
from selfpaced.teachers.saggriac import SaggRiac
from selfpaced.teachers.target import Target
from selfpaced.types import TeacherNumbers

TEACHERS: dict[str, TeacherNumbers] = {
    "target": Target(),
    "goalgan": GoalGAN(),
    "saggriac": SaggRiac(),
}

__all__ = ["TEACHERS", "GoalGAN", "SaggRiac", "Target"]
