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
from selfpaced.tasks.ball_in_a_cup import FAST, ROBOT
from selfpaced.teachers import GoalGAN
from selfpaced.testing import check_algorithm, check_kl_bounds, check_learner
from selfpaced.testing.exact_state import through_file

SMALL = {"n_samples": 6, "buffer_size": 2}  # where a rollout takes a while
SMALL_PPO = {"environments": 2, "steps": 200, "epochs": 2, "minibatches": 4, "hidden": (16, 16)}
SMALL_STEPWISE = {"environments": 8, "steps": 40, "epochs": 1, "minibatches": 4, "hidden": (8,)}
SMALL_SAC = {"steps": 40, "random_steps": 60, "batch_size": 8, "hidden": (8,), "buffer_size": 200}
# The same task with the cheaper of its models.
QUICK = {"ball-in-a-cup": ball_problem(FAST), "ball-in-a-cup-robust": ball_problem(FAST, ROBOT)}
FEWER_STEPS = {"steps": 5, "first_steps": 10, "train_every": 2}  # of GoalGAN; the same contract


def small(experiment, name):
    """The configuration, in the size of a test."""
    config = EXPERIMENTS[experiment].algorithm(name)
    if isinstance(config, StepwisePPO):
        return replace(config, **SMALL_STEPWISE)
    if isinstance(config, StepwiseSAC):
        return replace(config, **SMALL_SAC)
    if "gate" not in experiment:
        config = replace(config, **SMALL, **(SMALL_PPO if isinstance(config, PPO) else {}))
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


def parts(pair):
    """Configuration and problem; what needs an extra that is not installed is skipped."""
    config = small(*pair)
    problem = QUICK.get(pair[0]) or EXPERIMENTS[pair[0]].built_problem()
    try:
        check_installed(config)
        check_installed(problem.task)
    except ValueError as error:
        pytest.skip(str(error))
    return config, problem


@over(PAIRS)
def test_registered_algorithms_keep_the_contract(pair):
    check_algorithm(*parts(pair), iterations=6)


@over(BOUNDED)
def test_every_update_respects_its_kl_bound(pair):
    config, problem = parts(pair)
    training = config.start(problem, streams_of(0))
    check_kl_bounds(config, [training.advance() for _ in range(5)])


@over(LEARNERS)
def test_learners_that_were_never_asked_can_be_saved_and_restored(pair):
    config, problem = parts(pair)
    whole, resumed = config.learner(problem), config.learner(problem)
    resumed.restore(through_file("a new learner's state", whole.state()))
    asked = [learner.ask(np.random.default_rng(1)) for learner in (whole, resumed)]
    for one, other in zip(*asked, strict=True):
        np.testing.assert_array_equal(one, other)


@over(LEARNERS)
def test_registered_learners_keep_the_contract(pair):
    config, problem = parts(pair)
    check_learner(config.learner(problem), problem.task)
