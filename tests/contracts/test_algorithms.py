"""Every registered algorithm keeps the contract, on every experiment it is registered for."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced.deep.ppo import PPO
from selfpaced.deep.stepwise_ppo import StepwisePPO
from selfpaced.deep.stepwise_sac import StepwiseSAC
from selfpaced.experiments import EXPERIMENTS
from selfpaced.experiments.ball_in_a_cup import ball_problem
from selfpaced.experiments.optional_packages import check_installed
from selfpaced.experiments.others import OTHERS
from selfpaced.maths.randomness import streams_of
from selfpaced.tasks.ball_in_a_cup import ROBOT
from selfpaced.tasks.function_task import FunctionTask
from selfpaced.tasks.string_models import FAST
from selfpaced.teachers import GoalGAN
from selfpaced.testing import check_algorithm, check_kl_bounds, check_learner
from selfpaced.testing.exact_state import through_file

SMALL = {"n_samples": 6, "buffer_size": 2}  # where a rollout takes a while
SMALL_PPO = {"environments": 2, "steps": 150, "epochs": 2, "minibatches": 4, "hidden": (16, 16)}
SMALL_STEPWISE = {"environments": 8, "steps": 40, "epochs": 1, "minibatches": 4, "hidden": (8,)}
SMALL_SAC = {"steps": 40, "random_steps": 60, "batch_size": 8, "hidden": (8,), "buffer_size": 200}
# The same task with the cheaper of its models.
QUICK = {"ball-in-a-cup": ball_problem(FAST), "ball-in-a-cup-robust": ball_problem(FAST, ROBOT)}
# Where a rollout is simulated for milliseconds, one algorithm is trained on the simulation; None:
# on that of an experiment with the same task.
SIMULATED = {
    "reacher": "sprl",
    "ball-in-a-cup": None,
    "ball-in-a-cup-robust": "sprl",
}
FEWER_STEPS = {"steps": 5, "first_steps": 10, "train_every": 2}  # of GoalGAN; the same contract


def small(experiment, name):
    """The configuration, in the size of a test."""
    config = EXPERIMENTS[experiment].algorithm(name)
    if isinstance(config, StepwisePPO):
        return replace(config, **SMALL_STEPWISE)
    if isinstance(config, StepwiseSAC):
        return replace(config, **SMALL_SAC)
    if isinstance(config, PPO):  # with one teacher so many episodes that the teacher is updated
        n_samples = 6 if name == "threshold" else 2
        config = replace(config, **SMALL_PPO, n_samples=n_samples, buffer_size=2)
    elif "gate" not in experiment:
        config = replace(config, **SMALL)
    if isinstance(getattr(config, "teacher", None), GoalGAN):
        config = replace(config, teacher=replace(config.teacher, **FEWER_STEPS))
    return config


# tests/experiments/test_others.py has the environments of others, whose episodes are longer.
PAIRS = [(e.name, name) for e in EXPERIMENTS.values() if e not in OTHERS for name in e.algorithms]
# What has no bound, as CMA-ES and PPO, and what has no learner, as PPO, is not tested for it.
BOUNDED = [pair for pair in PAIRS if hasattr(small(*pair), "epsilon")]
LEARNERS = [pair for pair in PAIRS if hasattr(small(*pair), "learner")]


def over(pairs):
    return pytest.mark.parametrize("pair", pairs, ids="-".join)


def parts(pair, simulated=True):
    """Configuration and problem; what needs an extra that is not installed is skipped.

    Unless `simulated`, or if another algorithm is tried on the same simulation, a function scores
    the rollouts: what learners promise does not depend on the task.
    """
    config = small(*pair)
    problem = QUICK.get(pair[0]) or EXPERIMENTS[pair[0]].built_problem()
    try:
        check_installed(config)
        check_installed(problem.task)
    except ValueError as error:
        pytest.skip(str(error))
    slow = pair[0] in SIMULATED and hasattr(config, "learner")
    if slow and not (simulated and SIMULATED[pair[0]] == pair[1]):
        problem = replace(problem, task=scored_by_a_function(problem.task))
    return config, problem


def scored_by_a_function(task):
    """A task in the spaces of `task` in which small parameters are good."""

    def score(contexts, thetas):
        rewards = np.exp(-np.mean(np.tanh(thetas) ** 2, axis=1))
        return rewards, rewards > 0.7

    return FunctionTask(score, task.context_space, task.theta_space)


@over(PAIRS)
def test_registered_algorithms_keep_the_contract(pair):
    config, problem = parts(pair)
    # Buffers of episodic learners are filled twice; updates of others have no such memory.
    check_algorithm(config, problem, iterations=6 if hasattr(config, "learner") else 4)


@over(BOUNDED)
def test_every_update_records_the_kl_by_which_the_contract_checks_its_bound(pair):
    config, problem = parts(pair, simulated=False)
    check_kl_bounds(config, [config.start(problem, streams_of(0)).advance()])


@over(LEARNERS)
def test_learners_that_were_never_asked_can_be_saved_and_restored(pair):
    config, problem = parts(pair, simulated=False)
    whole, resumed = config.learner(problem), config.learner(problem)
    resumed.restore(through_file("a new learner's state", whole.state()))
    asked = [learner.ask(np.random.default_rng(1)) for learner in (whole, resumed)]
    for one, other in zip(*asked, strict=True):
        np.testing.assert_array_equal(one, other)


@over(LEARNERS)
def test_registered_learners_keep_the_contract(pair):
    config, problem = parts(pair, simulated=False)
    check_learner(config.learner(problem), problem.task)
