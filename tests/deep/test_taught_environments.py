"""PPO in NumPy on Gymnasium environments: discrete actions, episodes that go on, refusals."""

import gymnasium
import numpy as np
import pytest

from selfpaced import Box, ContextualEnv, Gaussian, GymTask, Infeasible, Problem, UniformTeacher
from selfpaced.deep.stepwise_ppo import StepwisePPO
from selfpaced.maths.categorical_network import CategoricalNetworkPolicy
from selfpaced.maths.randomness import streams_of
from selfpaced.testing import check_algorithm
from selfpaced.testing.exact_state import through_file

GRAVITY = Box([5.0], [15.0])


class Coin(gymnasium.Env):
    """Ten steps. Coins are drawn from the seed; the context is how much the right guess pays."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    refused = 0.0  # contexts below this are refused
    forgetful = False  # True: seeds are ignored

    def reset(self, *, seed=None, options=None):
        super().reset(seed=None if self.forgetful else seed)
        self.pays, self.coin = options["context"][0], 0
        if self.pays < self.refused:
            raise Infeasible(f"{self.pays} is too little")
        return self._seen(), {}

    def _seen(self):
        self.coin = int(self.np_random.integers(2))
        return np.array([self.coin], dtype=np.float32)

    def step(self, action):
        reward = float(self.pays * (action == self.coin))
        return self._seen(), reward, False, False, {"is_success": reward > 0}


class PickyCoin(Coin):
    refused = 0.5


class ForgetfulCoin(Coin):
    forgetful = True

    def _seen(self):
        super()._seen()  # coins alone would be equal by chance in one of 16 tests
        return self.np_random.random(1, dtype=np.float32)


def cartpole():
    return ContextualEnv(gymnasium.make("CartPole-v1"), GRAVITY, apply="gravity", success=100.0)


def problem(name, make, space, steps):
    """A problem with an environment that is registered for it."""
    if name not in gymnasium.registry:
        gymnasium.register(name, make, max_episode_steps=steps, disable_env_checker=True)
    return Problem(GymTask(name), Gaussian(space.centre, np.diag((0.1 * space.width) ** 2)))


def coins(kind=Coin):
    unit = Box([0.1], [1.0])
    make = lambda: ContextualEnv(kind(), unit)  # noqa: E731
    return problem(f"{kind.__name__}-v0", make, unit, 10)


SMALL = StepwisePPO(
    environments=4,
    steps=25,
    minibatches=4,
    epochs=2,
    hidden=(8,),
    teacher=UniformTeacher(),
    normalise=True,
)


def test_the_contract_of_algorithms_holds():
    check_algorithm(SMALL, coins(), iterations=4)


def test_a_training_goes_on_in_the_middle_of_episodes():
    whole, resumed = (SMALL.start(coins(), streams_of(3)) for _ in range(2))
    for _ in range(2):
        whole.advance()
    state = whole.state()
    assert [len(state[f"episodes.actions.{i}"]) for i in range(4)] == [0] * 4  # 50 steps: 5 whole
    whole.advance()
    state = whole.state()
    assert [len(state[f"episodes.actions.{i}"]) for i in range(4)] == [5] * 4
    resumed.restore(through_file("state", state))
    for _ in range(3):
        assert repr(whole.advance()) == repr(resumed.advance())
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, resumed.state()[name], err_msg=name)


def test_an_environment_that_does_not_repeat_itself_is_named_when_a_training_goes_on():
    forgetful = coins(ForgetfulCoin)
    training = SMALL.start(forgetful, streams_of(3))
    training.advance()
    with pytest.raises(ValueError, match=r"environment must repeat an episode .* ForgetfulCoin-v0"):
        SMALL.start(forgetful, streams_of(3)).restore(training.state())


def test_refused_contexts_are_replaced_and_the_teacher_is_not_told_of_them():
    training = SMALL.start(coins(PickyCoin), streams_of(0))
    for _ in range(3):
        training.advance()
        assert (training._episodes.contexts >= 0.5).all()
    assert len(training._episodes.curriculum.refusals) > 0


def test_coins_and_poles_are_learned_with_discrete_actions():
    for taught, updates, least in (
        (coins(), 30, 0.95),
        (problem("HeavyPole-v0", cartpole, GRAVITY, 500), 25, 0.8),
    ):
        config = StepwisePPO(
            environments=8,
            steps=128,
            minibatches=4,
            epochs=8,
            learning_rate=3e-3,
            gamma=0.98,
            gae_lambda=0.95,
            hidden=(32,),
            teacher=UniformTeacher(),
            normalise=True,
        )
        training = config.start(taught, streams_of(0))
        for _ in range(updates):
            training.advance()
        assert isinstance(training.policy, CategoricalNetworkPolicy)
        contexts = taught.task.context_space.uniform(20, np.random.default_rng(0))
        found = training.measure(contexts, np.random.default_rng(1))
        assert found.successes.mean() >= least


def test_a_policy_has_the_moments_of_all_observations_so_far():
    training = SMALL.start(coins(), streams_of(0))
    for _ in range(40):
        training.advance()
    policy = training.policy
    assert policy.observation_mean[0] == pytest.approx(0.5, abs=0.05)  # of 4,000 coins
    assert policy.observation_variance[0] == pytest.approx(0.25, abs=0.01)


def test_an_environment_without_a_time_limit_is_refused():
    if "Endless-v0" not in gymnasium.registry:
        gymnasium.register("Endless-v0", lambda: ContextualEnv(Coin(), Box([0.1], [1.0])))
    endless = Problem(GymTask("Endless-v0"), Gaussian([0.5], [[0.01]]))
    with pytest.raises(ValueError, match="registered with max_episode_steps; Endless-v0 is not"):
        SMALL.start(endless, streams_of(0))
