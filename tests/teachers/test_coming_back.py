"""After a collapse at the target, teachers go back as far as needed, and to the target again."""

import numpy as np
import pytest

from selfpaced import CurrOT, MasteryRule, SelfPacedMastery, TaskSet, Uniform
from studies.collapse import FIRST_SKILL, NEAR, SPACE, TARGET, Student, lesson, teachers

NAMES = tuple(teachers(True))


@pytest.mark.parametrize("name", NAMES)
def test_half_succeed_again_within_a_thousand_episodes_and_the_target_is_reached_again(name):
    teacher = teachers(True, particles=30)[name].start(SPACE, TARGET)
    student = Student(0)
    assert lesson(teacher, student, 6_000)[1][-1] < NEAR
    student.skill = FIRST_SKILL
    assert lesson(teacher, student, 1_000)[0].max() >= 0.5
    rates, distances = lesson(teacher, student, 6_000)
    assert distances[-1] < NEAR
    assert rates[-10:].mean() > 0.9


@pytest.mark.parametrize("name", NAMES)
def test_without_the_field_a_teacher_stays_where_nothing_succeeds(name):
    teacher = teachers(False, particles=30)[name].start(SPACE, TARGET)
    student = Student(0)
    lesson(teacher, student, 6_000)
    student.skill = FIRST_SKILL
    assert lesson(teacher, student, 2_000)[0].max() < 0.1


def test_particles_of_a_uniform_target_come_back_too():
    config = SelfPacedMastery(rule=MasteryRule(retreats=True))
    teacher = config.start(SPACE, Uniform(low=[0.8, 0.8], high=[1.0, 1.0]))
    student = Student(0)
    assert lesson(teacher, student, 6_000)[1][-1] < NEAR
    student.skill = FIRST_SKILL
    assert lesson(teacher, student, 1_000)[0].max() >= 0.5
    assert lesson(teacher, student, 6_000)[1][-1] < NEAR


def test_on_a_finite_set_the_rule_searches_again():
    tasks = TaskSet([f"level {i}" for i in range(10)])
    config = SelfPacedMastery(rule=MasteryRule(retreats=True), update_every=20)
    teacher, rng = config.start(tasks, Uniform(tasks)), np.random.default_rng(0)

    def practise(able):
        for _ in range(100):
            contexts = teacher.ask(20, rng)
            successes = (contexts[:, 0] <= able) * 1.0
            teacher.tell(contexts, successes, successes)
        return successes.mean()

    practise(9)
    assert practise(1) >= 0.35


@pytest.mark.parametrize("name", NAMES)
def test_a_teacher_restored_on_its_way_back_goes_on_exactly(name):
    config = teachers(True, particles=30)[name]
    teacher, student = config.start(SPACE, TARGET), Student(0)
    lesson(teacher, student, 4_000)
    student.skill = FIRST_SKILL
    lesson(teacher, student, 200)
    again, other = config.start(SPACE, TARGET), Student(0)
    again.restore(teacher.state())
    other.skill = student.skill
    student.rng, other.rng = np.random.default_rng(7), np.random.default_rng(7)
    one, two = lesson(teacher, student, 1_500), lesson(again, other, 1_500)
    np.testing.assert_array_equal(one, two)


def test_a_state_without_a_way_back_is_refused():
    with_field, without = (CurrOT(retreats=on).start(SPACE, TARGET) for on in (True, False))
    with pytest.raises(ValueError, match=r"retreat\.levels"):
        with_field.restore(without.state())
