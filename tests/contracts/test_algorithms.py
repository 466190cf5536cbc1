"""What every registered algorithm promises, on every experiment it is registered for."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced.deep.ppo import PPO
from selfpaced.experiments import EXPERIMENTS
from selfpaced.extras import check_installed
from selfpaced.randomness import streams_of
from selfpaced.teachers import GoalGAN

PAIRS = [(e.name, a) for e in EXPERIMENTS.values() for a in e.algorithms]


@pytest.fixture(params=PAIRS, ids=lambda pair: "-".join(pair))
def pair(request):
    return request.param


SMALL = {"n_samples": 6, "buffer_size": 2}  # where a rollout takes a while
SMALL_PPO = {"environments": 2, "steps": 200, "epochs": 2, "minibatches": 4, "hidden": (16, 16)}


def start(pair, seed=0):
    found = EXPERIMENTS[pair[0]]
    numbers, problem = found.algorithm(pair[1]), found.problem()
    check_or_skip(problem.task, numbers)
    if "gate" not in pair[0]:
        numbers = replace(numbers, **SMALL, **(SMALL_PPO if isinstance(numbers, PPO) else {}))
    teacher = getattr(numbers, "teacher", None)
    if isinstance(teacher, GoalGAN):  # fewer steps of its network change no contract
        numbers = replace(numbers, teacher=replace(teacher, steps=5, first_steps=10, train_every=2))
    return numbers.start(problem, streams_of(seed))


def check_or_skip(*parts):
    """Skip what needs an extra that is not installed."""
    try:
        for part in parts:
            check_installed(part)
    except ValueError as error:
        pytest.skip(str(error))


def advance(training, n):
    return [training.advance() for _ in range(n)]


def test_same_seed_same_run(pair):
    assert advance(start(pair), 3) == advance(start(pair), 3)


def test_another_seed_gives_another_run(pair):
    one, other = start(pair), start(pair, seed=1)
    assert len(advance(one, 1)) == len(advance(other, 1)) == 1
    # Not the records: where nothing was rewarded yet, they are the same.
    states = one.state(), other.state()
    assert any(not np.array_equal(states[0][name], states[1].get(name)) for name in states[0])


def test_restored_equals_uninterrupted_bit_for_bit(pair):
    whole = start(pair)
    first = advance(whole, 3)
    state = {name: np.array(value) for name, value in whole.state().items()}
    rest = advance(whole, 3)
    resumed = start(pair, seed=99)  # its own seed must not matter
    resumed.restore(state)
    assert len(first) == 3
    assert advance(resumed, 3) == rest
    assert resumed.spent == whole.spent
    for name, value in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value)


def test_states_are_plain_arrays(pair):
    training = start(pair)
    advance(training, 1)
    for name, value in training.state().items():
        assert np.asarray(value).dtype.kind in "fiub", name


def test_every_update_respects_its_kl_bound(pair):
    training = start(pair)
    epsilon = getattr(EXPERIMENTS[pair[0]].algorithm(pair[1]), "epsilon", np.inf)
    for record in advance(training, 5):
        kl = record.get("kl_policy", 0.0) + record.get("kl_contexts", 0.0)
        assert kl <= 1.01 * epsilon


def test_measuring_changes_nothing_that_is_learned(pair):
    silent, measured = start(pair), start(pair)
    target = EXPERIMENTS[pair[0]].problem().target
    rng = np.random.default_rng(5)
    for _ in range(2):
        box = EXPERIMENTS[pair[0]].problem().task.context_space
        measured.measure(target.sample(10, rng, box), rng)
        assert measured.advance() == silent.advance()
