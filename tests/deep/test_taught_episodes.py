"""Episodes that a teacher hears of in groups: nothing is lost, and states are exact."""

import numpy as np

from selfpaced import Curriculum
from selfpaced.deep.taught_episodes import AT_ONCE, TaughtEpisodes
from selfpaced.tasks.contextual_pointmass import ContextualPointMass

TASK = ContextualPointMass()


class Listening:
    """A teacher that numbers its contexts and keeps what it is told."""

    def __init__(self):
        self.asked, self.calls, self.told = 0, 0, []

    def ask(self, n, rng):
        self.asked, self.calls = self.asked + n, self.calls + 1
        positions = -4.0 + 1e-3 * np.arange(self.asked - n, self.asked)
        return np.column_stack([positions, np.full(n, 0.5)])

    def tell(self, contexts, rewards, successes):
        self.told += zip(contexts[:, 0].tolist(), rewards.tolist(), strict=True)

    def state(self):
        return {"asked": np.array(self.asked)}

    def restore(self, state):
        self.asked = int(state["asked"])


def started(n=6):
    curriculum = Curriculum(Listening(), TASK.context_space)
    return TaughtEpisodes(TASK, n, curriculum, np.random.default_rng(0))


def steered(episodes, steps, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        episodes.step(rng.normal([0.0, -3.0], 3.0, size=(len(episodes.observe()), 2)))


def test_a_teacher_hears_of_every_episode_once_with_the_context_it_was_played_in():
    episodes = started()
    steered(episodes, 300)
    teacher, played = episodes.curriculum.teacher, episodes.finished_contexts
    assert len(played) > 3 * AT_ONCE
    assert len(teacher.told) == len(played) // AT_ONCE * AT_ONCE
    assert [position for position, _ in teacher.told] == [
        context[0] for context in played[: len(teacher.told)]
    ]
    assert len({position for position, _ in teacher.told}) == len(teacher.told)
    assert teacher.calls == 1 + len(teacher.told) // AT_ONCE  # once for AT_ONCE episodes
    assert episodes.teacher_seconds > 0.0


def test_contexts_are_played_in_the_order_in_which_they_were_chosen():
    episodes = started()
    steered(episodes, 300)
    playing = episodes.observe()[:, 4]
    begun = sorted([*playing, *(context[0] for context in episodes.finished_contexts)])
    np.testing.assert_allclose(begun, -4.0 + 1e-3 * np.arange(len(begun)), atol=1e-12)


def test_more_episodes_may_end_in_one_step_than_the_teacher_is_told_of_at_once():
    episodes = started(n=3 * AT_ONCE)
    for _ in range(TASK.steps):  # without a force all of them last to the time limit
        episodes.step(np.zeros((3 * AT_ONCE, 2)))
    assert len(episodes.finished) == 3 * AT_ONCE == len(episodes.curriculum.teacher.told)


def test_a_state_holds_the_episodes_that_the_teacher_has_not_heard_of():
    whole, resumed = started(), started()
    steered(whole, 150)
    resumed.restore({name: value.copy() for name, value in whole.state().items()})
    before = len(whole.curriculum.teacher.told)
    for episodes in (whole, resumed):
        steered(episodes, 150, seed=2)
    assert whole.curriculum.teacher.told[before:] == resumed.curriculum.teacher.told
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, resumed.state()[name], err_msg=name)
