"""Every teacher on every kind of space and target: it keeps the contract, or says what to use."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import (
    Box,
    Categorical,
    Categories,
    Constrained,
    Empirical,
    Gaussian,
    Independent,
    Integers,
    Mixture,
    Product,
    StudentT,
    TaskSet,
    Uniform,
)
from selfpaced.experiments.optional_packages import check_installed
from selfpaced.teachers import TEACHERS
from selfpaced.testing import check_teacher

FEWER = {"goalgan": {"steps": 3, "first_steps": 5}, "currot": {"particles": 20}}
BOX = Box([-5.0, 0.1], [5.0, 0.5])
LEFT, RIGHT = (Gaussian([x, 0.2], np.diag([0.1, 0.001])) for x in (-4.0, 4.0))


def beside_the_wall(contexts):
    return np.abs(contexts[:, 0]) > 1.0


WALKS = Product(terrain=Categories("flat", "stairs", "ice"), slope=Box([-0.5], [0.5]))
PLACES = {
    "two modes": (BOX, Mixture([LEFT, RIGHT])),
    "uniform": (BOX, Uniform(low=[-4, 0.1], high=[4, 0.2])),
    "flat": (BOX, Uniform(low=[-4, 0.1], high=[4, 0.1])),
    "heavy tails": (BOX, StudentT([2.0, 0.3], np.diag([0.5, 0.01]), degrees=3)),
    "recorded": (BOX, Empirical(LEFT.sample(40, np.random.default_rng(0), BOX))),
    "integers": (Integers([1, 0], [8, 30]), Gaussian([6.0, 25.0], np.diag([1.0, 9.0]))),
    "categories": (Categories("flat", "stairs", "ice"), Categorical([0.0, 0.2, 0.8])),
    "tasks": (TaskSet(range(30)), Categorical(np.full(30, 1 / 30))),
    "product": (WALKS, Independent([Categorical([0.1, 0.2, 0.7]), Gaussian([0.3], [[0.01]])])),
    "constrained": (Constrained(BOX, beside_the_wall), Mixture([LEFT, RIGHT])),
}
NO_DENSITY = {"flat", "recorded"}
BLIND = {"adr", "alpgmm", "doraemon", "goalgan", "plr", "saggriac", "uniform"}
ON_A_BOX = {"two modes", "uniform", "flat", "heavy tails", "recorded"}
CATEGORIES = {"categories", "tasks", "product"}
REFUSED = {  # teacher: places that it refuses, and the words by which it does
    "threshold": (NO_DENSITY | {"product"}, "SelfPacedMastery"),
    "alpha": (NO_DENSITY | {"product"}, "SelfPacedMastery"),
    "alpgmm": ({"tasks"}, "PLR"),
    "adr": (CATEGORIES, "PLR"),
    "doraemon": (CATEGORIES, "PLR"),
    "goalgan": (CATEGORIES, "PLR"),
    "saggriac": (CATEGORIES, "PLR"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_every_teacher_works_on_any_space_and_target_or_names_another(name, place):
    config = replace(TEACHERS[name], **FEWER.get(name, {}))
    try:
        check_installed(config)
    except ValueError as error:
        pytest.skip(str(error))
    if name in BLIND and (place in ON_A_BOX or (name == "goalgan" and place == "constrained")):
        pytest.skip("it does not look at the target, and other tests cover it on boxes")
    space, target = PLACES[place]
    refused, instead = REFUSED.get(name, (set(), ""))
    if place in refused:
        with pytest.raises(ValueError, match=instead) as caught:
            config.start(space, target)
        assert "\n" not in str(caught.value)
        return
    check_teacher(config, space, target)
