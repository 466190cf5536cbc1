"""The checks of learners and algorithms find what is broken, and name the fault."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from selfpaced import CREPS, SPRL, Box, FunctionTask, Gaussian, Problem, UniformTeacher
from selfpaced.learners.creps import CREPSLearner
from selfpaced.learners.episodic import EpisodicTraining
from selfpaced.testing import check_algorithm, check_kl_bounds, check_learner


def bowl(contexts, thetas):
    miss = np.sum((thetas - contexts) ** 2, axis=1)
    return -miss, miss < 0.01


BOXES = Box([-1.0, -1.0], [1.0, 1.0]), Box([-2.0, -2.0], [2.0, 2.0])
PROBLEM = Problem(FunctionTask(bowl, *BOXES), Gaussian([0.7, 0.7], 0.01 * np.eye(2)))


class Trusting(CREPSLearner):
    """Learns from whatever it is told."""

    def tell(self, samples):
        return super().tell(replace(samples, rewards=np.nan_to_num(samples.rewards)))


class Amnesiac(CREPSLearner):
    def restore(self, state):
        multipliers = self._multipliers
        super().restore(state)
        self._multipliers = multipliers


class HalfTold(CREPSLearner):
    """Takes note of a batch before it has looked at it."""

    told = 0

    def tell(self, samples):
        self.told += 1
        return super().tell(samples)

    def state(self):
        return {**super().state(), "told": np.array(self.told)}


class Silent(CREPSLearner):
    def tell(self, samples):
        super().tell(samples)
        return {}


class Wild(CREPSLearner):
    def ask(self, rng):
        contexts, thetas = super().ask(rng)
        return contexts, 10.0 * thetas


class SingleRollout(CREPSLearner):
    def ask(self, rng):
        contexts, thetas = super().ask(rng)
        return contexts[0], thetas[0]


class ContextsOnly(CREPSLearner):
    def ask(self, rng):
        return super().ask(rng)[0]


class NumPyMetrics(CREPSLearner):
    def tell(self, samples):
        return {**super().tell(samples), "rewards": samples.rewards}


class NoDistribution(CREPSLearner):
    @property
    def context_distribution(self):
        raise AttributeError("none")


LEARNERS = {
    "Trusting.tell of a reward that is nan must raise a ValueError that names rewards; "
    r"it was accepted \(.*checked_samples": Trusting,
    r"contexts of SingleRollout.ask must have the shape \(n, 2\), one row per": SingleRollout,
    r"ContextsOnly.ask must return the pair \(contexts, thetas\); got array": ContextsOnly,
    "plain data for JSON, .*; 'rewards' is of the type ndarray": NumPyMetrics,
    "the property NoDistribution.context_distribution must work; it raised": NoDistribution,
    "Amnesiac must have the state that it was restored to; 'multipliers' differs": Amnesiac,
    "HalfTold.tell must not change the learner if it refuses": HalfTold,
    "Silent.tell must return metrics once it has learned": Silent,
    "thetas of Wild.ask must lie in Box": Wild,
}


@pytest.mark.parametrize("fault", LEARNERS)
def test_broken_learners_are_found(fault):
    learner = LEARNERS[fault](CREPS(n_samples=10, buffer_size=2), PROBLEM)
    with pytest.raises(AssertionError, match=fault):
        check_learner(learner, PROBLEM.task)


def test_learners_are_checked_on_a_task_not_on_a_problem():
    with pytest.raises(AssertionError, match="the task Problem must have the method evaluate"):
        check_learner(CREPS().learner(PROBLEM), PROBLEM)


class Training(EpisodicTraining):
    """A sound training, of which the others break one rule each."""

    count = 0


class Arrays(Training):
    def advance(self):
        return {**super().advance(), "mean": np.zeros(2)}


class Disturbed(Training):
    def measure(self, contexts, rng, task=None):
        if self.spent.rollouts:
            self._learn.random()
        return super().measure(contexts, rng, task)


class Unsaved(Training):
    def advance(self):
        self.count += 1
        return {**super().advance(), "count": self.count}


class Free(Training):
    @property
    def spent(self):
        return super().spent._replace(rollouts=0)


class Seedless(Training):
    def __init__(self, learner, problem, streams):
        same = [np.random.default_rng(0) for _ in range(2)]
        super().__init__(learner, problem, streams._replace(learn=same[0], world=same[1]))


class FromClock(Training):
    def advance(self):
        return {**super().advance(), "noise": float(np.random.default_rng().random())}


class Far(Training):
    def advance(self):
        return {**super().advance(), "kl_policy": 0.5}


TRAININGS = {
    "the record of Arrays.advance must be plain data for JSON": Arrays,
    "Disturbed.measure must not change the training; 'learn' differs": Disturbed,
    "Unsaved that was restored must equal one without interruption; record 1 is": Unsaved,
    "Free.spent must grow": Free,
    "Seedless must depend on the seed": Seedless,
    "the same seed must give the same run, measured or not; record 1": FromClock,
    "update 1 of Faulty must not exceed its KL bound; .* 0.5 nats": Far,
}


@dataclass(frozen=True, kw_only=True)
class Faulty(CREPS):
    fault: str

    def start(self, problem, streams):
        return TRAININGS[self.fault](self.learner(problem), problem, streams)


@pytest.mark.parametrize("fault", TRAININGS)
def test_broken_algorithms_are_found(fault):
    with pytest.raises(AssertionError, match=fault):
        check_algorithm(Faulty(n_samples=10, buffer_size=2, fault=fault), PROBLEM)


def test_algorithms_that_other_processes_cannot_get_are_found():
    class Local(CREPS):
        pass

    with pytest.raises(AssertionError, match="pickling Local"):
        check_algorithm(Local(), PROBLEM)


def test_kl_bounds_are_those_of_the_configuration():
    both = {"kl_policy": 0.3, "kl_contexts": 0.3}
    with pytest.raises(AssertionError, match=r"policy and contexts moved by 0\.6 nats"):
        check_kl_bounds(CREPS(epsilon=0.4), [both])
    check_kl_bounds(CREPS(epsilon=0.4), [{**both, "variance_raised": 1.0}])
    here = {"kl_policy": 0.3, "context_mean": [0.0], "context_covariance": [[1.0]]}
    check_kl_bounds(SPRL(epsilon=0.4), [here, {**here, "context_mean": [0.4]}])
    with pytest.raises(AssertionError, match=r"update 2 of SPRL .* contexts moved by 0\.5 nats"):
        check_kl_bounds(SPRL(epsilon=0.4), [here, {**here, "context_mean": [1.0]}])
    with pytest.raises(AssertionError, match="must record its kl_policy"):
        check_kl_bounds(SPRL(), [{"reward": 1.0}])
    with pytest.raises(ValueError, match="config must have a bound epsilon; UniformTeacher"):
        check_kl_bounds(UniformTeacher(), [here])
