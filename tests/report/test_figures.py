"""Colours: by name, and never one for two. Published levels are marks beside the curves."""

from types import SimpleNamespace

from selfpaced.experiments import EXPERIMENTS
from selfpaced.report.data import Group
from selfpaced.report.figures import COLOURS, OTHER, colours, comparison, learning_curves
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


def texts_of(iterations, name):
    records = [{"iteration": i, "target_success": 0.5, "target_reward": 4.0} for i in (1, 2)]
    run = SimpleNamespace(result={"iterations": iterations}, records=records, seed=0)
    members = [Group(name, "mastery", (run,))]
    figure = learning_curves(members, "title", published=EXPERIMENTS[name].published)
    return [[text.get_text() for text in axes.texts] for axes in figure.axes]


def test_published_levels_are_marks_in_the_panel_of_their_metric():
    success, reward = texts_of(200, "pointmass-currot")
    assert success == []
    assert reward == ["published: CURROT: 6.1", "published: CURROT, ICML version: 6.4"]


def test_a_published_level_far_beyond_the_curves_is_not_drawn():
    assert texts_of(20, "maze-currot") == [["published: CURROT: 0.75"], []]


def test_one_algorithm_alone_has_no_panel_of_differences():
    results = [{"target_success": 0.5 + 0.1 * k, "target_reward": 4.0 + k} for k in range(3)]
    runs = tuple(SimpleNamespace(result=result, seed=k) for k, result in enumerate(results))
    members = [Group("gate-precision", name, runs) for name in ("sprl", "creps")]
    for shown, count in ((members, 3), (members[:1], 2)):
        panels = comparison(shown, "title").axes
        assert sum(axes.get_visible() for axes in panels) == count
