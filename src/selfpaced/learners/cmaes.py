"""CMA-ES on the mean of the target, by pycma (extra `cma`)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from selfpaced.learners.episodic import EpisodicTraining, checked_samples
from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.features import constant_features
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import LinearGaussianPolicy, constant_policy
from selfpaced.randomness import generator_state, restored_generator
from selfpaced.types import Metrics, Problem, Samples, State, Streams

POINT = 1e-9  # deviation of the policy, in widths of the box: CMA-ES gives a point


@dataclass(frozen=True, kw_only=True)
class CMAES:
    """CMA-ES with pycma's defaults; every stop but the budget is ignored.

    An iteration is as many generations as it takes to spend `n_samples` rollouts, and the first
    one spends the `buffer_size - 1` batches more that other learners fill their buffers with, so
    that all share the axis of rollouts.
    """

    needs: ClassVar[tuple[str, ...]] = ("cma",)
    n_samples: int = 50
    buffer_size: int = 10
    population: int | None = None  # rollouts per generation; pycma's default for the dimension

    def __post_init__(self) -> None:
        check_at_least("n_samples", self.n_samples, 1)
        check_at_least("buffer_size", self.buffer_size, 1)
        if self.population is not None:
            check_at_least("population", self.population, 2)

    def learner(self, problem: Problem) -> "CMAESLearner":
        """The object to `ask` and `tell`, for closing the loop by hand."""
        return CMAESLearner(self, problem)

    def start(self, problem: Problem, streams: Streams) -> EpisodicTraining:
        return EpisodicTraining(self.learner(problem), problem, streams)


class CMAESLearner:
    """pycma's strategy between two generations, and all that it was told.

    pycma can only be saved by pickling it. What it was told, told again to a new one with the
    same generator, gives the same strategy.
    """

    def __init__(self, numbers: CMAES, problem: Problem) -> None:
        self._numbers, self._problem = numbers, problem
        self._strategy: Any = None  # made with the first batch, from its generator
        self._origin = np.zeros(0, dtype=np.uint64)  # state of that generator before it
        self._rng: np.random.Generator | None = None  # what pycma draws from, right now
        self._told: list[Array] = []  # rewards of every generation
        self._asked: list[Array] = []  # the generation that is out
        self._iteration = 0
        self.policy = _point(problem.initial_policy.mean(problem.target.mean), problem)

    @property
    def context_distribution(self) -> None:
        return None

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        if self._strategy is None:
            self._origin = generator_state(rng)
            self._strategy = self._new_strategy()
        self._rng = rng
        self._asked = self._strategy.ask()
        thetas = np.array(self._asked)
        return np.tile(self._problem.target.mean, (len(thetas), 1)), thetas

    def tell(self, samples: Samples) -> Metrics:
        samples = checked_samples(samples, self._problem.task)
        if len(samples) != len(self._asked):
            raise ValueError(
                f"samples must be the {len(self._asked)} rows that were asked for; "
                f"got {len(samples)}"
            )
        self._strategy.tell(self._asked, (-samples.rewards).tolist())  # pycma minimises
        self._told.append(samples.rewards.copy())
        numbers = self._numbers
        rollouts = len(self._told) * len(samples)
        if rollouts < (self._iteration + numbers.buffer_size) * numbers.n_samples:
            return {}  # the iteration is not over yet
        self._iteration += 1
        self.policy = _point(self._strategy.result.xfavorite, self._problem)
        deviations = np.asarray(self._strategy.result.stds, dtype=float)
        return {
            "sigma": float(self._strategy.sigma),
            "largest_deviation": float(deviations.max()),
            "generations": len(self._told),
        }

    def state(self) -> State:
        population = len(self._told[0]) if self._told else 0
        return {
            "origin": self._origin,
            "told": np.array(self._told).reshape(-1, population),
            "iteration": np.array(self._iteration),
        }

    def restore(self, state: State) -> None:
        self._told, self._iteration = [], int(state["iteration"])
        self._origin = np.array(state["origin"], dtype=np.uint64)
        self._strategy = None
        if not self._origin.size:
            return
        self._rng = restored_generator(self._origin)
        self._strategy = self._new_strategy()
        for rewards in np.array(state["told"], dtype=float):
            self._strategy.tell(self._strategy.ask(), (-rewards).tolist())
            self._told.append(rewards)
        if self._iteration:
            self.policy = _point(self._strategy.result.xfavorite, self._problem)

    def _new_strategy(self) -> Any:
        import cma  # takes seconds to load

        initial, box = self._problem.initial_policy, self._problem.task.theta_space
        options = {
            "bounds": [box.low.tolist(), box.high.tolist()],
            "randn": self._randn,
            "seed": np.nan,  # pycma's word for: leave NumPy's global generator alone
            "verbose": -9,
        }
        if self._numbers.population is not None:
            options["popsize"] = self._numbers.population
        # Appendix: one initial deviation, the largest of those that SPRL and C-REPS start with.
        sigma = float(np.sqrt(np.diag(initial.covariance)).max())
        mean = np.clip(initial.mean(self._problem.target.mean), box.low, box.high)
        return cma.CMAEvolutionStrategy(mean, sigma, options)

    def _randn(self, *shape: int) -> Array:
        assert self._rng is not None, "pycma draws in ask() only"
        return self._rng.standard_normal(shape)


def _point(theta: Array, problem: Problem) -> LinearGaussianPolicy:
    """The policy that always answers with `theta`."""
    deviations = POINT * problem.task.theta_space.width
    features = constant_features(problem.task.context_space.dimension)
    return constant_policy(features, Gaussian(theta, np.diag(deviations**2)))
