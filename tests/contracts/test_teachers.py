"""Every registered teacher keeps the contract of teachers, on boxes of any dimension and width."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import Box, Gaussian
from selfpaced.experiments.optional_packages import check_installed
from selfpaced.teachers import TEACHERS
from selfpaced.testing import check_teacher

FEWER_STEPS = {"goalgan": {"steps": 5, "first_steps": 10, "train_every": 2}}  # the same contract
GATE = Box([-5.0, 0.1], [5.0, 0.5]), Gaussian([-4.0, 0.2], np.diag([0.1, 0.001]))


def uneven(dimension):
    """A box whose sides are 1, 1001, 2001, ... wide, and a target in its middle."""
    box = Box([1e-3] * dimension, [1.0 + 1e-3 + i * 1e3 for i in range(dimension)])
    return box, Gaussian(box.centre, np.diag((0.1 * box.width) ** 2))


@pytest.mark.parametrize("place", [GATE, uneven(1), uneven(4)], ids=["gate", "1d", "4d"])
@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_registered_teachers_keep_the_contract(name, place):
    config = replace(TEACHERS[name], **FEWER_STEPS.get(name, {}))
    try:
        check_installed(config)
    except ValueError as error:
        pytest.skip(str(error))
    check_teacher(config, *place)
