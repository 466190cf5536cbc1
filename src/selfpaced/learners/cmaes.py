"""CMA-ES on the mean of the target, by the package pycma (extra `cma`).

It ignores contexts: the paper's baseline that optimises one parameter vector for the target alone.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from selfpaced.learners.episodic import EpisodicTraining, checked_samples
from selfpaced.maths.arrays import Array, check_at_least
from selfpaced.maths.features import constant_features
from selfpaced.maths.gaussian import Gaussian
from selfpaced.maths.policy import LinearGaussianPolicy, constant_policy
from selfpaced.maths.randomness import Streams, generator_state, restored_generator
from selfpaced.targets.target import central_context
from selfpaced.types import Metrics, Problem, Samples, State

# CMA-ES gives one parameter vector. As a Gaussian policy it gets this standard deviation, as a
# share of the width of the parameter box.
POINT = 1e-9
CONVERGED = 1e-100  # smallest step size, 1 at first
DRIFTED = 1e15  # entries of the covariance, or a step size, 1 at first, that say nothing any more


@dataclass(frozen=True, kw_only=True)
class CMAES:
    """CMA-ES at the target's mean, with pycma's defaults; it runs until the budget is spent.

    An iteration takes as many generations as spend `n_samples` rollouts. The first iteration also
    spends the rollouts with which other learners fill their buffers, so that the curves of all
    share one axis of rollouts.

    >>> import numpy as np
    >>> from selfpaced import CMAES, Box, FunctionTask, Gaussian, Problem, train
    >>> def reach(contexts, thetas):
    ...     return -np.abs(thetas - contexts).sum(axis=1)
    >>> task = FunctionTask(reach, Box([-1, -1], [1, 1]), Box([-2, -2], [2, 2]))
    >>> problem = Problem(task, Gaussian([0.8, 0.8], 1e-6 * np.eye(2)))
    >>> train(problem, CMAES(), seed=0, iterations=10).reward > -0.01
    True
    """

    needs: ClassVar[tuple[str, ...]] = ("cma",)
    """Packages that must be installed for it, besides those of the core."""
    n_samples: int = 50
    """Rollouts per iteration, rounded up to whole generations over all iterations."""
    buffer_size: int = 10
    """Batches of `n_samples` rollouts in the first iteration: as many as other learners buffer."""
    population: int | None = None
    """Rollouts per generation, at least 2; None: pycma's default for the number of parameters."""

    def __post_init__(self) -> None:
        check_at_least("n_samples", self.n_samples, 1)
        check_at_least("buffer_size", self.buffer_size, 1)
        if self.population is not None:
            check_at_least("population", self.population, 2)

    def learner(self, problem: Problem) -> "CMAESLearner":
        """The object to `ask` and `tell`, for closing the loop by hand."""
        return CMAESLearner(self, problem)

    def start(self, problem: Problem, streams: Streams) -> EpisodicTraining:
        """A new training on `problem` that draws from `streams`."""
        return EpisodicTraining(self.learner(problem), problem, streams)


class CMAESLearner:
    """CMA-ES between two generations: pycma's strategy, and all rewards that it was told.

    pycma itself offers only pickling to save a strategy. A new strategy that draws from the same
    generator and is told the same rewards again ends in the same state, so those are what is saved.
    """

    def __init__(self, config: CMAES, problem: Problem) -> None:
        self._config, self._problem = config, problem
        self._strategy: Any = None  # pycma's, made in the first `ask`
        self._origin = np.zeros(0, dtype=np.uint64)  # state of the generator before that `ask`
        self._rng: np.random.Generator | None = None  # the generator that pycma draws from now
        self._told: list[Array] = []  # the rewards of every generation
        self._asked: list[Array] = []  # the generation that is being evaluated
        self._restarts = 0  # how often the strategy has drifted away and begun anew
        self._iteration = 0
        self._context = central_context(problem.target, problem.task.context_space)
        self._initial_policy = _point(problem.initial_policy.mean(self._context), problem)
        self.policy = self._initial_policy

    def __repr__(self) -> str:
        rollouts = sum(len(rewards) for rewards in self._told)
        return (
            f"CMAESLearner(at context {self._context.round(4).tolist()}, "
            f"{len(self._told)} generations, {rollouts} rollouts)"
        )

    @property
    def context_distribution(self) -> None:
        """None: the only context is the mean of the target."""
        return None

    def ask(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """The next generation: the target's mean, n times, and parameters (n, d_theta) to try."""
        if self._strategy is None:
            self._origin = generator_state(rng)
            self._strategy = self._new_strategy()
        self._rng = rng
        self._asked = self._generation()
        thetas = np.array(self._asked)
        return np.tile(self._context, (len(thetas), 1)), thetas

    def tell(self, samples: Samples) -> Metrics:
        """Take note of a generation; an empty dictionary means that the iteration is not over."""
        samples = checked_samples(samples, self._problem.task)
        if len(samples) != len(self._asked):
            raise ValueError(
                f"samples must be the {len(self._asked)} rows that were asked for; "
                f"got {len(samples)}"
            )
        self._strategy.tell(self._asked, (-samples.rewards).tolist())  # pycma minimises
        self._told.append(samples.rewards.copy())
        config = self._config
        rollouts = len(self._told) * len(samples)
        if rollouts < (self._iteration + config.buffer_size) * config.n_samples:
            return {}
        self._iteration += 1
        self.policy = _point(self._strategy.result.xfavorite, self._problem)
        deviations = np.asarray(self._strategy.result.stds, dtype=float)
        return {
            "sigma": float(self._strategy.sigma),
            "largest_deviation": float(deviations.max()),
            "generations": len(self._told),
            "restarts": self._restarts,
        }

    def state(self) -> State:
        """Everything that later updates depend on, as plain arrays."""
        population = len(self._told[0]) if self._told else 0
        return {
            "origin": self._origin,
            "told": np.array(self._told).reshape(len(self._told), population),
            "iteration": np.array(self._iteration),
        }

    def restore(self, state: State) -> None:
        """Continue exactly from a `state`: let a new strategy go through all generations again."""
        self._told, self._iteration, self._restarts = [], int(state["iteration"]), 0
        self.policy = self._initial_policy
        self._origin = np.array(state["origin"], dtype=np.uint64)
        self._strategy = None
        if not self._origin.size:
            return
        self._rng = restored_generator(self._origin)
        self._strategy = self._new_strategy()
        for rewards in np.array(state["told"], dtype=float):
            self._strategy.tell(self._generation(), (-rewards).tolist())
            self._told.append(rewards)
        if self._iteration:
            self.policy = _point(self._strategy.result.xfavorite, self._problem)

    def _generation(self) -> list[Array]:
        """The next parameters to try. pycma's numbers are kept from overflow and underflow.

        pycma itself would stop before; here only the budget counts. Where all rewards are equal it
        may drift away: then it begins anew. Where it has converged, its step size stays above 0.
        """
        strategy = self._strategy
        grown = np.append(np.abs(strategy.C), strategy.sigma / strategy.sigma0)
        if not grown.max() < DRIFTED:  # nan has drifted, too
            self._strategy = self._new_strategy()
            self._restarts += 1
        elif strategy.sigma < CONVERGED * strategy.sigma0:
            strategy.sigma = CONVERGED * strategy.sigma0
        return self._strategy.ask()

    def _new_strategy(self) -> Any:
        import cma  # takes seconds to load

        initial, box = self._problem.initial_policy, self._problem.task.theta_space
        options = {
            "bounds": [box.low.tolist(), box.high.tolist()],
            "randn": self._randn,
            "seed": np.nan,  # tells pycma to leave NumPy's global generator alone
            "verbose": -9,
        }
        if self._config.population is not None:
            options["popsize"] = self._config.population
        # One initial standard deviation for all parameters: the largest of the initial policy's
        # (paper, appendix).
        sigma = float(np.sqrt(np.diag(initial.covariance)).max())
        mean = np.clip(initial.mean(self._context), box.low, box.high)
        return cma.CMAEvolutionStrategy(mean, sigma, options)

    def _randn(self, *shape: int) -> Array:
        """Standard normal numbers for pycma, from the generator of the current `ask`."""
        assert self._rng is not None, "pycma draws in ask() only"
        return self._rng.standard_normal(shape)


def _point(theta: Array, problem: Problem) -> LinearGaussianPolicy:
    """The policy that draws `theta` in every context."""
    deviations = POINT * problem.task.theta_space.width
    features = constant_features(problem.task.context_space.dimension)
    return constant_policy(features, Gaussian(theta, np.diag(deviations**2)))
