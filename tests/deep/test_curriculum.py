"""The core: any loop gets contexts and reports episodes, and nothing is lost or mixed up."""

import io

import numpy as np
import pytest

from selfpaced import Box, Curriculum, Gaussian
from selfpaced.deep.contexts_in_flight import ContextsInFlight
from selfpaced.teachers import TEACHERS, CurrOT, GoalGAN, SelfPacedThreshold, UniformTeacher

SPACE = Box([-1.0, 0.0], [1.0, 10.0])
TARGET = Gaussian([0.8, 9.0], np.diag([0.01, 0.1]))


class Numbered:
    """Draws contexts with a number in them, and remembers all that it is told."""

    def __init__(self):
        self.asked, self.told = 0, []

    def ask(self, n, rng):
        numbers = np.arange(self.asked, self.asked + n)
        self.asked += n
        return np.stack([np.zeros(n), numbers / 1e6], axis=1)

    def tell(self, contexts, rewards, successes):
        self.told += zip(contexts[:, 1].tolist(), rewards.tolist(), successes.tolist(), strict=True)

    def state(self):
        return {"asked": np.array(self.asked)}

    def restore(self, state):
        self.asked = int(state["asked"])


def practise(curriculum, rounds=12, n=20, seed=1):
    """Episodes that end in any order; return all contexts."""
    rng, drawn = np.random.default_rng(seed), []
    drawn.append(curriculum.next_contexts(np.arange(n)))
    for _ in range(rounds):
        ended = rng.permutation(n)[: n // 2]
        solved = rng.random(len(ended)) < 0.6
        curriculum.finished(ended, returns=3.0 * solved, successes=solved)
        drawn.append(curriculum.next_contexts(ended))
    return np.concatenate(drawn)


def test_an_episode_is_told_with_the_context_of_its_environment_in_any_order():
    teacher, rng = Numbered(), np.random.default_rng(0)
    curriculum = Curriculum(teacher, SPACE)
    expected = [[float(c)] for c in curriculum.next_contexts(np.arange(50))[:, 1]]
    told = []
    for _ in range(40):
        ids = rng.integers(50, size=rng.integers(0, 30))  # with repeats
        for i, context in zip(ids, curriculum.next_contexts(ids)[:, 1], strict=True):
            expected[i].append(float(context))
        over = rng.permutation(ids)
        curriculum.finished(over, returns=np.arange(len(over)))
        told += [(expected[i].pop(0), float(k)) for k, i in enumerate(over)]
    assert [(context, value) for context, value, _ in teacher.told] == told
    assert curriculum.episodes == len(told)
    ids, contexts = curriculum.in_flight()
    assert contexts[:, 1].tolist() == [context for queue in expected for context in queue]
    assert ids.tolist() == [i for i, queue in enumerate(expected) for _ in queue]


def test_a_hundred_thousand_environments_take_no_loop():
    curriculum, everyone = Curriculum(UniformTeacher(), SPACE, TARGET), np.arange(100_000)
    contexts = curriculum.next_contexts(everyone)
    assert contexts.shape == (100_000, 2)
    curriculum.finished(everyone[::-1], np.zeros(100_000), np.ones(100_000))
    assert curriculum.episodes == 100_000
    assert len(curriculum.in_flight()[0]) == 0


def test_what_was_really_played_counts_and_cut_episodes_are_forgotten():
    teacher = Numbered()
    curriculum = Curriculum(teacher, SPACE)
    first, second, third = curriculum.next_contexts([4, 4, 4])
    curriculum.finished([4], [1.0], [1], contexts=[second])  # the first one was cut short
    assert teacher.told[0][0] == second[1]
    np.testing.assert_array_equal(curriculum.in_flight()[1], [third])
    curriculum.finished([4], [1.0], [1], contexts=[first])  # not in flight any more: from elsewhere
    np.testing.assert_array_equal(curriculum.in_flight()[1], [third])
    curriculum.abandoned([4])
    assert len(curriculum.in_flight()[0]) == 0
    assert len(teacher.told) == 2


def test_arrays_of_torch_come_and_go():
    torch = pytest.importorskip("torch", reason="needs the extra torch")
    teacher = Numbered()
    curriculum = Curriculum(teacher, SPACE)
    ids = torch.tensor([2, 0, 1])
    contexts = curriculum.next_contexts(ids)
    assert contexts.dtype == torch.float32
    assert contexts.shape == (3, 2)
    returns = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    curriculum.finished(ids, returns, returns > 1.5)
    assert teacher.told == [(0.0, 1.0, 0.0), (1e-6, 2.0, 1.0), (2e-6, 3.0, 1.0)]


def test_arrays_of_other_frameworks_come_back_as_theirs():
    class Namespace:
        @staticmethod
        def asarray(values, device=None):
            return ("theirs", device, values)

    class Foreign:
        device = "there"

        def __array__(self, dtype=None, copy=None):
            return np.array([1, 0])

        def __array_namespace__(self):
            return Namespace

    framework, device, contexts = Curriculum(Numbered(), SPACE).next_contexts(Foreign())
    assert (framework, device) == ("theirs", "there")
    assert contexts.shape == (2, 2)


@pytest.mark.parametrize("name", sorted(TEACHERS))
def test_a_saved_curriculum_goes_on_exactly_with_episodes_under_way(name):
    torch = pytest.importorskip("torch", reason="needs the extra torch")
    config = GoalGAN(steps=5, first_steps=10) if name == "goalgan" else TEACHERS[name]
    records = [], []
    whole, loaded = (
        Curriculum(config, SPACE, TARGET, seed=3, record_every=30, record=kept.append)
        for kept in records
    )
    practise(whole, rounds=25)
    file = io.BytesIO()
    torch.save({"model": torch.zeros(2), "curriculum": whole.state_dict()}, file)
    file.seek(0)
    loaded.load_state_dict(torch.load(file, weights_only=True)["curriculum"])
    kept = len(records[0])
    np.testing.assert_array_equal(practise(whole, seed=2), practise(loaded, seed=2))
    assert records[0][kept:] == records[1]
    a, b = whole.state(), loaded.state()
    assert sorted(a) == sorted(b)
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Curriculum(UniformTeacher(), SPACE, TARGET), "belongs to another teacher: it was saved"),
        (Curriculum(SelfPacedThreshold(threshold=0.7), SPACE, TARGET), r"threshold=0\.5"),
        (
            Curriculum(SelfPacedThreshold(), Box([-1.0, 0.0], [1.0, 20.0]), TARGET),
            "belongs to another context space",
        ),
        (
            Curriculum(SelfPacedThreshold(), SPACE, Gaussian([0.5, 9.0], TARGET.covariance)),
            "belongs to another target",
        ),
    ],
)
def test_a_state_of_another_curriculum_is_refused_and_nothing_changes(other, words):
    saved = Curriculum(SelfPacedThreshold(), SPACE, TARGET)
    practise(saved)
    practise(other, rounds=3)
    before = other.state_dict()
    with pytest.raises(ValueError, match=words):
        other.load_state_dict(saved.state_dict())
    assert other.state_dict() == before


@pytest.mark.parametrize("entry", ["teacher.particles", "rng", "in_flight.contexts"])
def test_a_damaged_state_changes_nothing(entry):
    saved, other = (Curriculum(CurrOT(), SPACE, TARGET, seed=k) for k in (0, 1))
    practise(saved)
    practise(other, rounds=3)
    state, before = saved.state_dict(), other.state_dict()
    state[entry] = {**state[entry], "base64": state[entry]["base64"][4:]}
    with pytest.raises(ValueError, match=f"'{entry}' is damaged"):
        other.load_state_dict(state)
    del state[entry]
    with pytest.raises((ValueError, KeyError)):
        other.load_state_dict(state)
    assert other.state_dict() == before


@pytest.mark.parametrize("name", sorted(TEACHERS))
@pytest.mark.parametrize("other", sorted(TEACHERS))
def test_teachers_refuse_states_of_other_teachers(name, other):
    """As UniformTeacher, for one, did not."""
    if name == other or "goalgan" in (name, other):
        return
    theirs = TEACHERS[other].start(SPACE, TARGET)
    rng = np.random.default_rng(0)
    for _ in range(3):
        contexts = theirs.ask(60, rng)
        theirs.tell(contexts, np.zeros(60), (contexts[:, 0] < 0) * 1.0)
    state = theirs.state()
    if not state:
        return
    with pytest.raises(ValueError, match=r"another teacher|must be"):
        TEACHERS[name].start(SPACE, TARGET).restore(state)


def test_mistakes_are_named():
    curriculum = Curriculum(Numbered(), SPACE)
    with pytest.raises(ValueError, match="environment 3 has 0 and 1 episodes ended: next_contexts"):
        curriculum.finished([3], [1.0])
    with pytest.raises(ValueError, match=r"of a mask, the indices: np.flatnonzero\(mask\)"):
        curriculum.next_contexts(np.array([True, False]))
    with pytest.raises(ValueError, match=r"numbers of environments from 0 to 9999999; got -1"):
        curriculum.next_contexts([0, -1])
    curriculum.next_contexts([0, 1])
    with pytest.raises(ValueError, match=r"returns must be \(2,\), one for each"):
        curriculum.finished([0, 1], [1.0])
    with pytest.raises(ValueError, match="environment 1 returned nan at the context"):
        curriculum.finished([0, 1], [1.0, np.nan])
    assert len(curriculum.in_flight()[0]) == 2  # nothing was taken note of
    with pytest.raises(ValueError, match=r"SelfPacedThreshold\(\).start\(context_space, target\)"):
        Curriculum(SelfPacedThreshold())
    with pytest.raises(ValueError, match="teacher must be a configuration"):
        Curriculum("threshold", SPACE, TARGET)
    with pytest.raises(ValueError, match="context_space must be a Box"):
        Curriculum(SelfPacedThreshold(), [0, 1], TARGET)


def test_rings_keep_their_order_while_they_grow():
    flight, rng, queues = ContextsInFlight(1), np.random.default_rng(5), [[] for _ in range(7)]
    for k in range(300):
        i = int(rng.integers(7))
        if queues[i] and rng.random() < 0.45:
            assert flight.oldest(np.array([i]))[0, 0] == queues[i].pop(0)
            flight.drop_oldest(np.array([i]))
        else:
            queues[i].append(float(k))
            flight.add(np.array([i]), np.array([[float(k)]]))
    assert flight.rows()[1][:, 0].tolist() == [c for queue in queues for c in queue]
