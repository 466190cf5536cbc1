"""SPRL and C-REPS with targets that are not Gaussian, and contexts that are refused."""

import numpy as np
import pytest

import selfpaced as sp
from selfpaced.maths.randomness import streams_of
from selfpaced.spaces import Infeasible
from selfpaced.spaces.refusals import NEAR, SHOWN

LINE, ARMS = sp.Box([-1.0], [1.0]), sp.Box([-2.0], [2.0])
TWO_MODES = sp.Mixture([sp.Gaussian([-0.8], [[1e-3]]), sp.Gaussian([0.8], [[1e-3]])])


def reach(contexts, thetas):
    miss = np.abs(thetas[:, 0] - contexts[:, 0])
    return -miss, miss < 0.1


@pytest.mark.parametrize(
    "target",
    [TWO_MODES, sp.Uniform(LINE), sp.Empirical([[-0.9], [0.1], [0.7]])],
    ids=["two modes", "uniform", "recorded"],
)
def test_the_rule_masters_targets_that_no_gaussian_describes(target):
    run = sp.train(
        sp.Problem(sp.FunctionTask(reach, LINE, ARMS), target), sp.SPRL(), seed=0, iterations=80
    )
    assert run.success > 0.9
    distances = run.column("wasserstein_to_target")
    assert distances[-1] < 0.02 < distances[0]
    assert "kl_to_target" not in run.records[0]


def test_contexts_of_two_modes_leave_the_middle_empty():
    run = sp.train(
        sp.Problem(sp.FunctionTask(reach, LINE, ARMS), TWO_MODES), sp.SPRL(), seed=1, iterations=80
    )
    places = np.array(run.records[-1]["context_sample"])
    assert (np.abs(places) > 0.5).all()
    assert 0.3 < (places > 0).mean() < 0.7


def test_alpha_needs_only_the_density_of_its_target():
    pacing = sp.Alpha(schedule=sp.FractionOfReward(zeta=0.3, k_alpha=5))
    problem = sp.Problem(
        sp.FunctionTask(reach, LINE, ARMS),
        sp.Mixture([sp.Gaussian([0.7], [[0.01]])]),
        reward_shift=2.0,
    )
    run = sp.train(problem, sp.SPRL(pacing=pacing), seed=0, iterations=60)
    assert np.abs(np.array(run.records[-1]["context_mean"]) - 0.7).max() < 0.1
    assert run.column("sampled_kl_to_target")[-1] < run.column("sampled_kl_to_target")[5]


def test_a_mixture_of_one_gaussian_gives_alpha_the_same_contexts_as_the_gaussian():
    pacing = sp.Alpha(schedule=sp.FractionOfReward(zeta=0.3, k_alpha=2))
    one = sp.Gaussian([0.7], [[0.01]])
    means = [
        sp.train(
            sp.Problem(sp.FunctionTask(reach, LINE, ARMS), target, reward_shift=2.0),
            sp.SPRL(pacing=pacing),
            seed=0,
            iterations=10,
        ).records[-1]["context_mean"]
        for target in (one, sp.Mixture([one]))
    ]
    np.testing.assert_allclose(*means, rtol=1e-6)


GRID = sp.Product(terrain=sp.Categories("flat", "stairs"), size=sp.Integers(1, 6))
GRID_TARGET = sp.Independent([sp.Categorical([0.2, 0.8]), sp.Uniform(sp.Integers(4, 6))])


def climb(contexts, thetas):
    """The right theta grows with the size, and has the other sign on stairs."""
    sign = np.array([-1.0 if c["terrain"] == "stairs" else 1.0 for c in contexts])
    right = sign * np.array([c["size"] for c in contexts]) / 6
    miss = np.abs(thetas[:, 0] - right)
    return -miss, miss < 0.15


def test_the_default_policy_is_linear_over_each_category():
    problem = sp.Problem(sp.FunctionTask(climb, GRID, ARMS), GRID_TARGET)
    assert sp.train(problem, sp.SPRL(), seed=0, iterations=60).success > 0.9
    assert sp.train(problem, sp.CREPS(), seed=0, iterations=60).success > 0.9


def in_the_right_half(contexts):
    return contexts[:, 0] > 0.0


def test_a_target_half_of_which_is_infeasible_is_learned_and_scored_on_the_rest():
    played = []

    def reach_there(contexts, thetas):
        played.append(contexts)
        return reach(contexts, thetas)

    space = sp.Constrained(LINE, in_the_right_half)
    problem = sp.Problem(sp.FunctionTask(reach_there, space, ARMS), sp.Uniform(low=[-1], high=[1]))
    assert sp.train(problem, sp.SPRL(), seed=0, iterations=60).success > 0.9
    assert in_the_right_half(np.concatenate(played)).all()


def refusing_reach(contexts, thetas):
    return *reach(contexts, thetas), contexts[:, 0] < 0.0


@pytest.mark.parametrize("algorithm", [sp.SPRL(), sp.CREPS()], ids=["sprl", "creps"])
def test_after_a_refusal_nothing_near_it_is_tried_again(algorithm):
    tried = []

    def watched(contexts, thetas):
        tried.append(contexts[:, 0].copy())
        return refusing_reach(contexts, thetas)

    problem = sp.Problem(sp.FunctionTask(watched, LINE, ARMS), sp.Uniform(LINE))
    training = algorithm.start(problem, streams_of(0))
    for _ in range(40):
        training.advance()
    refused = np.zeros(0)
    for contexts in tried:
        apart = np.abs(contexts[:, None] - refused)
        assert (apart > NEAR * 2.0 * (1 - 1e-9)).all()
        refused = np.concatenate([refused, contexts[contexts < 0.0]])
    assert 0 < len(np.unique(refused)) < 600
    contexts = sp.Uniform(LINE).sample(500, np.random.default_rng(0))
    outcomes = training.measure(contexts, np.random.default_rng(1))
    assert len(outcomes.rewards) == (contexts[:, 0] >= 0.0).sum()
    assert outcomes.successes.mean() > 0.9


def test_a_restored_training_remembers_what_was_refused():
    problem = sp.Problem(sp.FunctionTask(refusing_reach, LINE, ARMS), sp.Uniform(LINE))
    whole, resumed = (sp.SPRL().start(problem, streams_of(3)) for _ in range(2))
    for _ in range(3):
        whole.advance()
    resumed.restore(whole.state())
    record = whole.advance()
    assert record == resumed.advance()
    assert all(context[0] < 0.0 for context in record["context_refused"])
    assert 0 < len(record["context_refused"]) <= SHOWN
    assert all(context[0] >= -NEAR * 2.0 for context in record["context_sample"])


def one_row(context, theta):
    if context[0] < 0.0:
        raise Infeasible("inside the wall")
    return -abs(theta[0] - context[0])


def test_a_simulator_may_raise_that_a_context_is_infeasible():
    with sp.RowTask(one_row, LINE, ARMS, workers=1) as task:
        contexts = np.array([[-0.5], [0.5]])
        outcomes = task.evaluate(contexts, np.zeros((2, 1)), np.random.default_rng(0))
    assert task.refused.tolist() == [True, False]
    assert outcomes.rewards[1] == -0.5
