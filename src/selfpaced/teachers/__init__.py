"""Teachers choose contexts; they know nothing of the learner. There is one teacher per file.

A new teacher is a file here and a line in `TEACHERS`; `tests/contracts/test_teachers.py` then
covers it.
"""

from selfpaced.teachers.adr import ADR
from selfpaced.teachers.alpgmm import ALPGMM
from selfpaced.teachers.currot import CurrOT
from selfpaced.teachers.doraemon import DORAEMON
from selfpaced.teachers.fixed import FixedTeacher
from selfpaced.teachers.goalgan import GoalGAN
from selfpaced.teachers.plr import PLR
from selfpaced.teachers.saggriac import SaggRiac
from selfpaced.teachers.selfpaced_alpha import SelfPacedAlpha
from selfpaced.teachers.selfpaced_mastery import SelfPacedMastery
from selfpaced.teachers.selfpaced_threshold import SelfPacedThreshold
from selfpaced.teachers.target import TargetTeacher
from selfpaced.teachers.uniform import UniformTeacher
from selfpaced.types import TeacherConfig

TEACHERS: dict[str, TeacherConfig] = {
    "target": TargetTeacher(),
    "uniform": UniformTeacher(),
    "threshold": SelfPacedThreshold(),
    "alpha": SelfPacedAlpha(),
    "mastery": SelfPacedMastery(),
    "currot": CurrOT(),
    "alpgmm": ALPGMM(),
    "plr": PLR(),
    "adr": ADR(),
    "doraemon": DORAEMON(),
    # The one exception to the defaults. `GoalGAN()` takes 250 training steps with every fifth
    # batch, as the paper does for C-REPS, which asks for a whole batch at once. Environments ask
    # for few contexts at a time, and GoalGAN draws these in batches of 10. There, 3 steps with
    # every batch teach as well and are only 1/17 of the steps.
    "goalgan": GoalGAN(steps=3, train_every=1),
    "saggriac": SaggRiac(),
}
"""Every teacher, for deep RL, by the name that runs and figures use.

Each has its default configuration, except GoalGAN.
"""

__all__ = [
    "ADR",
    "ALPGMM",
    "DORAEMON",
    "PLR",
    "TEACHERS",
    "CurrOT",
    "FixedTeacher",
    "GoalGAN",
    "SaggRiac",
    "SelfPacedAlpha",
    "SelfPacedMastery",
    "SelfPacedThreshold",
    "TargetTeacher",
    "UniformTeacher",
]
