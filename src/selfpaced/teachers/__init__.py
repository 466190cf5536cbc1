"""Teachers: each chooses contexts, and knows nothing of who learns. One curriculum a file.

A new one is a file here and a line below; `tests/contracts/test_teachers.py` then covers it.
"""

from selfpaced.teachers.adr import ADR
from selfpaced.teachers.alpgmm import ALPGMM
from selfpaced.teachers.currot import CurrOT
from selfpaced.teachers.goalgan import GoalGAN
from selfpaced.teachers.plr import PLR
from selfpaced.teachers.saggriac import SaggRiac
from selfpaced.teachers.selfpaced import SelfPaced
from selfpaced.teachers.target import Target
from selfpaced.teachers.uniform import Uniform
from selfpaced.types import TeacherNumbers

TEACHERS: dict[str, TeacherNumbers] = {
    "target": Target(),
    "uniform": Uniform(),
    "selfpaced": SelfPaced(),
    "selfpaced-sprl": SelfPaced(form="sprl"),
    "selfpaced-ready": SelfPaced(form="ready"),
    "currot": CurrOT(),
    "alpgmm": ALPGMM(),
    "plr": PLR(),
    "adr": ADR(),
    # Environments ask for few contexts at a time: a few steps with every batch learn as well as the
    # paper's 250 with every fifth, which for batches of ten are 17 times as many.
    "goalgan": GoalGAN(steps=3, train_every=1),
    "saggriac": SaggRiac(),
}

__all__ = [
    "ADR",
    "ALPGMM",
    "PLR",
    "TEACHERS",
    "CurrOT",
    "GoalGAN",
    "SaggRiac",
    "SelfPaced",
    "Target",
    "Uniform",
]
