"""Spaces: which contexts exist, and the natural values that rows of floats stand for."""

import numpy as np
import pytest

from selfpaced import Box, Categories, Constrained, Integers, Product, TaskSet
from selfpaced.spaces import checked_space, space_from
from selfpaced.spaces.refusals import NEAR, RefusedContexts
from selfpaced.store.files import plain

WALKS = Product(
    terrain=Categories("flat", "stairs", "ice"), steps=Integers(1, 9), slope=Box([-0.5], [0.5])
)
SPACES = [
    Box([0.0, -1.0], [2.0, 1.0]),
    Integers(1, 8),
    Integers([0, 3], [4, 9]),
    Categories("flat", "stairs"),
    TaskSet([{"a": 1}, {"a": 2}, {"b": 3}], related=[(0, 1)]),
    WALKS,
    Product(Integers(0, 3), Categories("x", "y")),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_draws_exist_and_survive_every_way_there_and_back(space):
    rng = np.random.default_rng(0)
    drawn = space.uniform(200, rng)
    assert space.contains(drawn).all()
    np.testing.assert_allclose(space.unembed(space.embed(drawn)), drawn, atol=1e-12)
    np.testing.assert_array_equal(space.snapped(drawn), drawn)
    for row in drawn[:10]:
        np.testing.assert_allclose(space.encode(space.decode(row)), row)
    around = space.truncated(drawn, np.eye(space.dimension), rng)
    assert space.contains(around).all()
    assert space.contains(space.centre[None]).all()


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_spaces_are_stored_as_plain_data_and_compare_by_value(space):
    again = space_from(plain(space))
    assert again == space
    assert hash(again) == hash(space)
    assert again != Box([0.0], [17.0])


def test_all_whole_numbers_are_equally_likely():
    drawn = Integers(1, 4).uniform(20_000, np.random.default_rng(0))[:, 0]
    shares = np.bincount(drawn.astype(int))[1:] / len(drawn)
    np.testing.assert_allclose(shares, 0.25, atol=0.02)


def test_two_categories_are_one_width_apart():
    rows = np.array([[0.0, 5.0, 0.0], [1.0, 5.0, 0.0], [1.0, 5.0, 0.5]])
    places = WALKS.embed(rows)
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(1.0)
    assert np.linalg.norm(places[1] - places[2]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integers(0.5, 3), "low must be whole numbers; got"),
        (lambda: Integers(3, 3), "low must be below high"),
        (lambda: Categories("flat"), "names must be at least two, all different"),
        (lambda: Categories("flat", "flat"), "names must be at least two, all different"),
        (lambda: Categories("flat", 3), "names must be texts"),
        (lambda: Categories("flat", "stairs").encode("stair"), "did you mean 'stairs'"),
        (lambda: WALKS.encode({"terrain": "mud", "steps": 1, "slope": 0}), "unknown category"),
        (lambda: WALKS.encode({"terrain": "ice", "steps": 1}), "context must have 'slope'"),
        (lambda: Integers(1, 8).decode([2.5]), r"must lie in Integers\(1, 8\)"),
        (lambda: TaskSet([1]), "tasks must be at least two; got 1"),
        (lambda: TaskSet([1, 2], related=[(0, 2)]), "related must be pairs"),
        (lambda: Product(), "all named or all not named"),
        (lambda: Constrained(Box([0], [1]), lambda c: c[:, 0] > 2), "must hold for some contexts"),
        (lambda: Constrained(Box([0], [1]), lambda c: 1), "truth values, one per context"),
        (lambda: checked_space([0, 1]), "context_space must be a Box"),
    ],
)
def test_bad_spaces_and_values_are_refused_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_spaces_of_gymnasium_are_taken():
    spaces = pytest.importorskip("gymnasium").spaces
    assert checked_space(spaces.Box(0.0, 2.0, (2,))) == Box([0, 0], [2, 2])
    assert checked_space(spaces.Discrete(3, start=1)) == Integers(1, 3)
    assert checked_space(spaces.MultiDiscrete([3, 4])) == Integers([0, 0], [2, 3])
    both = checked_space(spaces.Dict(size=spaces.Discrete(4), slope=spaces.Box(0.0, 1.0, (1,))))
    assert both.decode([2, 0.5]) == {"size": 2, "slope": 0.5}
    pair = checked_space(spaces.Tuple([spaces.Discrete(4), spaces.Discrete(2)]))
    assert pair.decode([2, 1]) == (2, 1)
    with pytest.raises(ValueError, match="must be Box, Discrete"):
        checked_space(spaces.Text(5))


def test_constrained_draws_are_feasible_however_they_are_drawn():
    space = Constrained(Box([-1, -1], [1, 1]), lambda c: c[:, 0] ** 2 + c[:, 1] ** 2 > 0.8)
    rng = np.random.default_rng(0)
    assert space.feasible(space.uniform(500, rng)).all()
    assert space.feasible(space.truncated(np.zeros((500, 2)), 0.3 * np.eye(2), rng)).all()


def test_nothing_within_the_reach_of_a_refused_context_is_allowed():
    refused = RefusedContexts(WALKS)
    refused.add(WALKS.encode({"terrain": "ice", "steps": 5, "slope": 0.1})[None])
    drawn = WALKS.uniform(5000, np.random.default_rng(0))
    allowed = drawn[refused.allows(drawn)]
    near = (allowed[:, 0] == 2) & (np.abs(allowed[:, 1] - 5) <= NEAR * 8)
    near &= np.abs(allowed[:, 2] - 0.1) <= NEAR
    assert not near.any()
    assert 0 < len(drawn) - len(allowed) < 100
    assert refused.allows(WALKS.encode({"terrain": "flat", "steps": 5, "slope": 0.1})[None]).all()
