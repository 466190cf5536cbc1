"""The checks of tasks and teachers find what is broken, and name the fault."""

import doctest
import importlib
import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from selfpaced import Box, FunctionTask, Gaussian, UniformTeacher
from selfpaced.tasks.maze import Maze
from selfpaced.testing import check_task, check_teacher
from selfpaced.testing.global_random_state import no_global_randomness
from selfpaced.types import Outcomes

BOX, THETAS = Box([-1.0, -1.0], [1.0, 1.0]), Box([-2.0, -2.0], [2.0, 2.0])
TARGET = Gaussian([0.7, 0.7], 0.01 * np.eye(2))


def bowl(contexts, thetas):
    miss = np.sum((thetas - contexts) ** 2, axis=1)
    return -miss, miss < 0.01


# Tasks


def edits(contexts, thetas):
    thetas *= 2.0
    return thetas[:, 0]


def calls():
    """A reward that depends on how often it was asked for."""
    count = iter(range(1000))
    return lambda contexts, thetas: np.full(len(contexts), float(next(count)))


REWARDS = {
    "score every row by itself; among other rows": lambda c, t: t[:, 0] - t.mean(),
    "score every row by itself; among .* of row 2": lambda c, t: np.cumsum(t[:, 0]),
    "score every row by itself; the reward of row 0 .* alone": lambda c, t: t[:, 0] / len(t),
    "must not edit its argument thetas": edits,
    "the same rewards for the same generator": calls(),
    "it used np.random, which is global": lambda c, t: np.random.normal(size=len(c)),
    "it used Python's module random": lambda c, t: t[:, 0] + random.random(),
    "rewards .* must be finite; got nan at index": lambda c, t: np.where(t > 0, t, np.nan)[:, 0],
    r"rewards .* must have the shape \(12,\); got \(12, 2\)": lambda c, t: t,
    "successes .* from 0 to 1, or nan; got 2.0": lambda c, t: (t[:, 0], np.full(len(c), 2.0)),
    "evaluate of 12 rows must work; it raised KeyError": lambda c, t: {}["lost"],
}


@pytest.mark.parametrize("fault", REWARDS)
def test_broken_reward_functions_are_found(fault):
    with pytest.raises(AssertionError, match=fault):
        check_task(FunctionTask(REWARDS[fault], BOX, THETAS))


def test_a_row_may_draw_as_much_noise_as_it_needs():
    def until_small(contexts, thetas, rng):
        return np.array([sum(iter(lambda: rng.integers(5), 0)) for _ in contexts], dtype=float)

    check_task(FunctionTask(until_small, BOX, THETAS, noisy=True))


class Careless:
    """Scores whatever it gets, and looks at the shape of nothing."""

    context_space, theta_space = BOX, THETAS

    def evaluate(self, contexts, thetas, rng):
        rewards = thetas[..., 0] + 0.0 * np.ravel(contexts)[0] if len(contexts) else np.zeros(0)
        return Outcomes(rewards, np.full(len(contexts), np.nan))


class Plain:
    """Checks nothing by itself: NumPy raises, or repeats one row for all the others."""

    context_space, theta_space = BOX, THETAS

    def evaluate(self, contexts, thetas, rng):
        (x, y), (a, b) = contexts.T, thetas.T
        return Outcomes(-((x - a) ** 2) - (y - b) ** 2, np.full(np.broadcast(x, a).shape, np.nan))


class NeedsRows(Plain):
    def evaluate(self, contexts, thetas, rng):
        thetas[0]  # an IndexError if there is none
        return super().evaluate(contexts, thetas, rng)


class ShortestWins(Plain):
    """Leaves out surplus rows without a word."""

    def evaluate(self, contexts, thetas, rng):
        rewards = [-np.sum((c - t) ** 2) for c, t in zip(contexts, thetas, strict=False)]
        return Outcomes(np.array(rewards), np.full(len(rewards), np.nan))


class Stepwise(Plain):
    def simulate_policy(self, contexts, act, rng=None):
        paths = np.stack([contexts, contexts + act(contexts)], axis=1)
        return Outcomes(paths[:, -1, 0], np.full(len(paths), np.nan)), paths


class Pair(Plain):
    def evaluate(self, contexts, thetas, rng):
        return tuple(super().evaluate(contexts, thetas, rng))


class OneName(FunctionTask):
    context_names = ("x",)


class Unwilling(FunctionTask):
    def draw(self, context, trajectories, axes):
        axes.plot(trajectories[0])  # there may be none


class OnePath(FunctionTask):
    def trajectories(self, contexts, thetas, rng):
        return np.zeros((1, 5, 2))


class SharedMaze(Maze):
    def simulate_policy(self, contexts, act, rng=None):
        return super().simulate_policy(contexts.mean(axis=0) + 0.0 * contexts, act)


class NoSpace(FunctionTask):
    theta_space = property(lambda self: (-1.0, 1.0), lambda self, value: None)


TASKS = {
    r"evaluate of contexts of shape \(12, 3\) must raise an error; .* \(.*checked_batch": Careless,
    "evaluate of 12 contexts and 13 thetas must raise an error; it was accepted": ShortestWins,
    r"must return selfpaced.Outcomes\(rewards, successes\); got the type tuple": Pair,
    "the task must be an object; got the class Plain itself": lambda: Plain,
    "the task Box must have the method evaluate; it lacks evaluate": lambda: BOX,
    r"context_names must be 2 strings; got \('x',\)": lambda: OneName(bowl, BOX, THETAS),
    "draw of 0 trajectories must work; it raised IndexError": lambda: Unwilling(bowl, BOX, THETAS),
    r"trajectories must be an array \(12, t, d\)": lambda: OnePath(bowl, BOX, THETAS),
    "simulate_policy must simulate every row by itself": SharedMaze,
    "theta_space must be a Box; got": lambda: NoSpace(bowl, BOX, THETAS),
}


@pytest.mark.parametrize("fault", TASKS)
def test_broken_tasks_are_found(fault):
    with pytest.raises(AssertionError, match=fault):
        check_task(TASKS[fault]())


@pytest.mark.parametrize("task", [Plain(), NeedsRows()])
def test_a_plain_task_may_raise_what_numpy_raises(task):
    check_task(task)
    check_task(task, n=2)


@pytest.mark.parametrize(
    ("task", "fault"),
    [
        (Plain(), "of contexts of shape .* that names contexts; it says 'too many values"),
        (NeedsRows(), "an empty batch, or refuse it with a ValueError; it raised IndexError"),
        (Careless(), "of contexts of shape .* must raise a ValueError that names contexts; it was"),
    ],
)
def test_strict_checks_ask_for_errors_that_name_the_argument(task, fault):
    with pytest.raises(AssertionError, match=fault):
        check_task(task, strict=True)


def test_a_task_with_steps_must_say_how_long_its_actions_are():
    with pytest.raises(ValueError, match="action_dimension must be given, because"):
        check_task(Stepwise())
    check_task(Stepwise(), action_dimension=2)


# Teachers


class Sampler:
    """A sound teacher, of which the others break one rule each."""

    def __init__(self, box):
        self.box, self.told = box, 0

    def ask(self, n, rng):
        return self.box.uniform(n, rng)

    def tell(self, contexts, rewards, successes):
        self.told += len(contexts)

    def state(self):
        return {"told": np.array(self.told)}

    def restore(self, state):
        self.told = int(state["told"])


class Leaves(Sampler):
    def ask(self, n, rng):
        return super().ask(n, rng) + 0.01 * self.told


class Forgets(Sampler):
    """Contexts depend on what was told, and the state does not."""

    def ask(self, n, rng):
        return super().ask(n, rng) / (1 + self.told)

    def state(self):
        return {}

    def restore(self, state):
        pass


class DrawsFromNumPy(Sampler):
    def ask(self, n, rng):
        return np.random.uniform(self.box.low, self.box.high, (n, 2))


class DrawsFromTorch(Sampler):
    def ask(self, n, rng):
        import torch

        return torch.rand(n, 2).numpy().astype(float)


class SeedsItself(Sampler):
    def ask(self, n, rng):
        return super().ask(n, np.random.default_rng())


class Pickles(Sampler):
    def state(self):
        return {"told": np.array([None, self.told])}


class Fragile(Sampler):
    def tell(self, contexts, rewards, successes):
        contexts[0].tolist()


class Asserts(Sampler):
    def tell(self, contexts, rewards, successes):
        assert len(contexts)


class Writes(Sampler):
    def tell(self, contexts, rewards, successes):
        rewards -= 1.0


class Chatty(Sampler):
    def __repr__(self):
        return f"Chatty({'very ' * 100})"


TEACHERS = {
    r"contexts of Leaves.ask\(0*\d+\) must lie in Box": Leaves,
    "Forgets restored after 7 batches .* must ask for the same contexts": Forgets,
    "DrawsFromNumPy.* must draw from the generator .* used np.random": DrawsFromNumPy,
    "SeedsItself must ask for the same contexts, given the same generator": SeedsItself,
    r"Pickles.state\(\) must hold plain NumPy arrays .* which need no pickle; 'told'": Pickles,
    "Fragile.tell of 0 episodes must work; it raised IndexError": Fragile,
    r"Asserts.tell of 0 episodes must work; it raised AssertionError\(": Asserts,
    "Writes.tell of 30 episodes must not edit its argument rewards": Writes,
    "repr of Chatty must be one line of less than 300 characters": Chatty,
}


@dataclass(frozen=True)
class Config:
    fault: str = ""

    def start(self, context_space, target):
        return TEACHERS.get(self.fault, Sampler)(context_space)


@pytest.mark.parametrize("fault", TEACHERS)
def test_broken_teachers_are_found(fault):
    with pytest.raises(AssertionError, match=fault):
        check_teacher(Config(fault), BOX, TARGET)


def test_a_teacher_that_draws_from_torchs_global_generator_is_found(monkeypatch):
    pytest.importorskip("torch", reason="needs the extra torch")
    monkeypatch.setitem(TEACHERS, "torch", DrawsFromTorch)
    with pytest.raises(AssertionError, match="used torch's generator, which is global"):
        check_teacher(Config("torch"), BOX, TARGET)


@dataclass
class CanBeSet:
    seed: int = 0

    def start(self, context_space, target):
        return Sampler(context_space)


@dataclass(frozen=True, eq=False)
class Incomparable:
    def start(self, context_space, target):
        return Sampler(context_space)


@dataclass(frozen=True)
class WithArray(Config):
    scale: float = 1.0
    weights: object = field(default_factory=lambda: np.ones(3))


@dataclass(frozen=True)
class Outer(Config):
    inner: WithArray = field(default_factory=WithArray)


@dataclass(frozen=True)
class HalfShown(Config):
    scale: float = field(default=1.0, repr=False)


@dataclass(frozen=True, repr=False)
class Mute(Config):
    def __repr__(self):
        return "<mute>"


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        (UniformTeacher, "must be an object; got the class"),
        (Sampler(BOX), "the configuration Sampler must have the method start; it lacks start"),
        (CanBeSet(), "CanBeSet must be frozen; its attribute 'seed' can be set"),
        (Incomparable(), "must be equal to a configuration of the same values"),
        (WithArray(), r"because of weights \(ndarray\): .* comparable, .* break ==; use tuples"),
        (Outer(), r"because of inner \(WithArray\): configurations must be comparable"),
        (HalfShown(scale=2.0), "repr of HalfShown must make an equal configuration; got HalfShown"),
        (Mute(), "repr of Mute must be the call of its constructor; <"),
    ],
)
def test_broken_configurations_are_found(config, fault):
    with pytest.raises(AssertionError, match=fault):
        check_teacher(config, BOX, TARGET)


# The checks themselves


def test_checks_leave_the_global_generators_as_they_were():
    np.random.seed(3)
    random.seed(3)
    expected = np.random.RandomState(3).random(), random.Random(3).random()
    with pytest.raises(AssertionError, match=r"np\.random"), no_global_randomness("a lottery"):
        np.random.random()
    check_teacher(UniformTeacher(), BOX, TARGET)
    assert (np.random.random(), random.random()) == expected


@pytest.mark.parametrize("module", ["tasks", "teachers", "learners", "algorithms"])
def test_the_examples_of_the_checks_run(module):
    found = importlib.import_module(f"selfpaced.testing.{module}")
    result = doctest.testmod(found, optionflags=doctest.ELLIPSIS)
    assert result.attempted >= 3
    assert result.failed == 0
