import numpy as np

from selfpaced.maths.trail import MOST, Trail


def trail_of(n):
    trail = Trail()
    for i in range(n):
        trail.add(np.array([float(i)]), np.eye(2) * i)
    return trail


def test_steps_back_double_and_end_at_the_beginning():
    trail, seen = trail_of(20), []
    while (entry := trail.back()) is not None:
        seen.append(int(entry[0][0]))
    assert seen == [19, 17, 13, 5, 0]
    assert trail.back() is None


def test_what_is_mastered_again_begins_anew():
    trail = trail_of(20)
    trail.back(), trail.back()
    trail.add(np.array([99.0]), np.eye(2))
    assert trail.back()[0][0] == 99
    assert trail.back()[0][0] == 15


def test_a_long_trail_keeps_its_ends_and_its_order():
    trail = trail_of(10 * MOST)
    assert len(trail) <= MOST
    numbers = []
    for _ in range(len(trail)):
        trail._stride = 1
        numbers.append(trail.back()[0][0])
    assert numbers[0] == 10 * MOST - 1
    assert numbers[-1] == 0
    assert numbers == sorted(numbers, reverse=True)


def test_a_restored_trail_goes_back_in_the_same_steps():
    trail = trail_of(30)
    trail.back(), trail.back()
    again = Trail()
    again.restore(trail.state())
    while (entry := trail.back()) is not None:
        for one, other in zip(entry, again.back(), strict=True):
            np.testing.assert_array_equal(one, other)
    assert again.back() is None


def test_an_exhausted_trail_is_restored_as_one():
    trail = trail_of(1)
    trail.back()
    again = Trail()
    again.restore(trail.state())
    assert len(again) == 0
    assert again.back() is None
    assert Trail().state() == {}
