"""Colours: by name, and never one for two."""

from selfpaced.report.figures import COLOURS, OTHER, colours
from selfpaced.teachers import TEACHERS


def test_no_two_algorithms_of_a_figure_share_a_colour():
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert set(TEACHERS) <= set(COLOURS)
    for names in (list(TEACHERS), [f"mine-{k}" for k in range(len(OTHER))]):
        assert len(set(colours(names).values())) == len(names)


def test_an_algorithm_keeps_its_colour_beside_others():
    alone, beside = colours(["mine-1"]), colours(["sprl", "mine-1", "target"])
    assert alone["mine-1"] == beside["mine-1"]


def test_more_algorithms_than_colours_still_get_one():
    assert set(colours([f"mine-{k}" for k in range(30)]).values()) <= set(OTHER)
